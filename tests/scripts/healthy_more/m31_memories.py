"""Callbacks with a memory: needs_approval and is_enabled that count, and a model that looks at the count."""
import asyncio
import json

from agents import Agent, Runner, RunState, function_tool

from scripted import Scripted, attempt, call, say

asked = {"approval": 0, "enabled": 0}


async def every_second(context, arguments, call_id):
    asked["approval"] += 1
    return asked["approval"] % 2 == 0


@function_tool(needs_approval=every_second)
def charge(amount: int) -> str:
    return f"charged {amount}"


def at_first(context, agent):
    asked["enabled"] += 1
    return asked["enabled"] < 50


@function_tool(is_enabled=at_first)
def peek() -> str:
    return "peeked"


async def main():
    for number in range(3):
        model = Scripted([call("charge", {"amount": number}, f"c{number}")], [say("done")], [say("done")])
        agent = Agent(name="a", model=model, tools=[charge])
        result = await Runner.run(agent, "go")
        if result.interruptions:
            state = await RunState.from_json(agent, json.loads(json.dumps(result.to_state().to_json())))
            state.approve(state.get_interruptions()[0])
            result = await attempt(agent, state)
        print(number, result is not None and result.final_output)

    # Two at once: the one is asked for, the other runs.
    turns = [[call("charge", {"amount": 1}, "t1"), call("charge", {"amount": 2}, "t2")], [say("both")]]
    agent = Agent(name="b", model=Scripted(*turns), tools=[charge])
    result = await attempt(agent, "go")
    print(result is not None and len(result.interruptions))

    agent = Agent(name="c", model=Scripted([call("peek", {}, "p1")], [say("seen")]), tools=[peek])
    print((await Runner.run(agent, "go")).final_output)


asyncio.run(main())
