"""openai/openai-agents-python#518: with `include_usage` each plain request to Chat Completions is refused (400)."""

import asyncio

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner
from openai import AsyncOpenAI


async def main():
    agent = Agent(
        name="clerk",
        model=OpenAIChatCompletionsModel("gpt-4o", AsyncOpenAI()),
        model_settings=ModelSettings(include_usage=True),
    )
    result = await Runner.run(agent, "Say hello.")
    print(result.final_output)


asyncio.run(main())
