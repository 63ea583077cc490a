"""openai/openai-agents-python#2503: a nested handoff sends reasoning without what followed it, and gets a 400."""

import asyncio

from agents import Agent, RunConfig, Runner


async def main():
    expert = Agent(name="expert", model="gpt-5-mini")
    desk = Agent(name="desk", model="gpt-5-mini", handoffs=[expert])
    result = await Runner.run(desk, "Where is my parcel?", run_config=RunConfig(nest_handoff_history=True))
    print(result.final_output)


asyncio.run(main())
