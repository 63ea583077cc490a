"""Runs that are cut off: cancelled, out of time, in a group that another one ends."""
import asyncio
import time

from agents import Agent, Runner, function_tool

from scripted import Scripted, call, say


@function_tool
async def slow() -> str:
    await asyncio.sleep(0.02)
    return "slept"


@function_tool
def blocking() -> str:
    time.sleep(0.05)
    return "blocked"


def agent():
    model = Scripted([call("slow", call_id="call_1"), call("blocking", call_id="call_2")], [say("done")])
    return Agent(name="a", model=model, tools=[slow, blocking])


async def main():
    task = asyncio.create_task(Runner.run(agent(), "go"))
    await asyncio.sleep(0.01)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")
    for limit in (0.001, 0.03):
        try:
            await asyncio.wait_for(Runner.run(agent(), "go"), limit)
        except asyncio.TimeoutError:
            print("timed out")
    done, pending = await asyncio.wait(
        [asyncio.create_task(Runner.run(agent(), "race")) for _ in range(3)], timeout=0.01
    )
    for each in pending:
        each.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    print((await Runner.run(agent(), "go")).final_output)


asyncio.run(main())
