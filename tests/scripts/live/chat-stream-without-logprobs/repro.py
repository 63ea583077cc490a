"""openai/openai-agents-python#1227: a streamed answer of Chat Completions ends in a ValidationError."""

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner
from openai import AsyncOpenAI


async def main():
    agent = Agent(name="clerk", model=OpenAIChatCompletionsModel("gpt-4o", AsyncOpenAI()))
    result = Runner.run_streamed(agent, "Say hello.")
    async for _ in result.stream_events():
        pass
    print(result.final_output)


asyncio.run(main())
