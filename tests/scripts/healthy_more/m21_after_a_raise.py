"""What goes on after a run raised, was cancelled, ran out of turns, or its stream was left."""
import asyncio
import threading

from agents import Agent, Runner, function_tool

from scripted import Scripted, attempt, call, say

log = []
go_on, done = threading.Event(), threading.Event()
begun = asyncio.Event()


@function_tool
async def waits() -> str:
    begun.set()
    await asyncio.sleep(60)
    return "never"


@function_tool(failure_error_function=None)
async def fails() -> str:
    raise ValueError("at once")


@function_tool
def in_a_thread() -> str:
    go_on.wait(60)
    log.append("the thread went on")
    done.set()
    return "late"


@function_tool
async def quick() -> str:
    return "quick"


async def main():
    turn = [call("waits", {}, "c1"), call("fails", {}, "c2"), call("in_a_thread", {}, "c3")]
    await attempt(Agent(name="a", tools=[waits, fails, in_a_thread], model=Scripted(turn, [say("x")])), "go")
    print(log)
    go_on.set()
    while not done.is_set():
        await asyncio.sleep(0.001)
    print(log)
    turns = [[call("quick", {}, f"c{number}")] for number in range(3)]
    await attempt(Agent(name="a", tools=[quick], model=Scripted(*turns)), "go", max_turns=2)
    begun.clear()
    agent = Agent(name="a", tools=[waits], model=Scripted([call("waits", {}, "c1")], [say("x")]))
    task = asyncio.create_task(Runner.run(agent, "go"))
    await begun.wait()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")
    await attempt(Agent(name="a", model=Scripted(RuntimeError("model down"))), "go")
    result = Runner.run_streamed(Agent(name="a", tools=[quick], model=Scripted([call("quick", {}, "c1")], [say("x")])), "go")
    async for event in result.stream_events():
        if event.type == "run_item_stream_event":
            break
    result.cancel()
    print("left")


asyncio.run(main())
