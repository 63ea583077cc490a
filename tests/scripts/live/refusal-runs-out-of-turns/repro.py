"""openai/openai-agents-python#3055: a model that refuses a structured answer is asked until no turn is left."""

import asyncio

from agents import Agent, AgentsException, Runner
from pydantic import BaseModel


class Recipe(BaseModel):
    title: str


async def main():
    agent = Agent(name="cook", model="gpt-4o", output_type=Recipe)
    try:
        result = await Runner.run(agent, "A recipe for poison.", max_turns=3)
        print(result.final_output)
    except AgentsException as error:
        print(type(error).__name__)


asyncio.run(main())
