"""Calls that the SDK refuses before a run begins, which the script expects."""
import asyncio

from agents import Agent, Runner

from scripted import Scripted, say


async def main():
    agent = Agent(name="a", model=Scripted([say("done")]))
    try:
        Runner.run_sync(agent, "inside of a loop")
    except RuntimeError as error:
        print(type(error).__name__)
    print((await Runner.run(agent, "go")).final_output)


asyncio.run(main())
