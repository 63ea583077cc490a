"""A script that streams by itself: handoffs, sessions, approvals, tools that fail, two consumers' worth of events."""
import asyncio

from agents import Agent, Runner, SQLiteSession, function_tool

from scripted import Scripted, add, call, pay, say


@function_tool
def fails() -> str:
    raise ValueError("no")


async def drain(result):
    names = []
    try:
        async for event in result.stream_events():
            if event.type == "run_item_stream_event":
                names.append(event.name)
    except Exception as error:
        print("raised", type(error).__name__)
    return names


async def main():
    two = Agent(name="two", model=Scripted([call("add", {"a": 1, "b": 1}, "c2")], [say("from two", "m2")]), tools=[add])
    turns = [[say("let me see", "m0"), call("add", {"a": 1, "b": 2}, "c1"), call("fails", {}, "f1")], [call("transfer_to_two", {}, "h1")]]
    one = Agent(name="one", model=Scripted(*turns), tools=[add, fails], handoffs=[two])
    session = SQLiteSession("s")
    result = Runner.run_streamed(one, "go", session=session)
    print(await drain(result), result.final_output, len(await session.get_items()))

    agent = Agent(name="p", model=Scripted([call("pay", {"amount": 1}, "p1")], [say("ok")]), tools=[pay])
    result = Runner.run_streamed(agent, "go")
    print(await drain(result), len(result.interruptions))
    state = result.to_state()
    state.approve(state.get_interruptions()[0])
    result = Runner.run_streamed(agent, state)
    print(await drain(result), result.final_output)

    result = Runner.run_streamed(Agent(name="x", model=Scripted(RuntimeError("model"))), "go", session=session)
    print(await drain(result))


asyncio.run(main())
