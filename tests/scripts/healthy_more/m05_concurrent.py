"""Many runs at once, over shared and separate sessions; tools that overlap."""
import asyncio

from agents import Agent, Runner, SQLiteSession, function_tool

from scripted import Scripted, add, call, say

order = []
waiting = asyncio.Event()


@function_tool
async def forever() -> str:
    waiting.set()
    await asyncio.Event().wait()
    return "never"


@function_tool
async def wait(n: int) -> str:
    await asyncio.sleep(0.01 * (3 - n))
    order.append(n)
    return f"waited {n}"


def agent(n):
    turns = [[call("wait", {"n": n}, f"w{n}"), call("add", {"a": n, "b": n}, f"a{n}")], [say(f"done {n}", f"m{n}")]]
    return Agent(name=f"agent{n}", model=Scripted(*turns), tools=[wait, add])


async def main():
    results = await asyncio.gather(*(Runner.run(agent(n), f"q{n}", session=SQLiteSession(f"s{n}")) for n in range(3)))
    print([result.final_output for result in results])
    turns = [[call("wait", {"n": n}, f"x{n}") for n in range(3)], [say("all")]]
    result = await Runner.run(Agent(name="one", model=Scripted(*turns), tools=[wait]), "go")
    print(result.final_output, sorted(order))
    slow = Agent(name="slow", model=Scripted([call("forever", {}, "z")]), tools=[forever])
    task = asyncio.create_task(Runner.run(slow, "go"))
    await waiting.wait()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")


asyncio.run(main())
