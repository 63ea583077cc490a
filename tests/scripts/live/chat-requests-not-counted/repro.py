"""openai/openai-agents-python#4290: a server that tells no usage is asked twice, and no request is counted."""

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
from openai import AsyncOpenAI


@function_tool
def weather(city: str) -> str:
    return f"rain in {city}"


async def main():
    model = OpenAIChatCompletionsModel("gpt-4o", AsyncOpenAI())
    result = await Runner.run(Agent(name="clerk", model=model, tools=[weather]), "Weather in Oslo?")
    print(result.final_output, result.context_wrapper.usage.requests)


asyncio.run(main())
