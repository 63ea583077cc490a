"""RunStates: siblings, decisions, JSON and strings, contexts, nested agents; prints the JSON itself."""

import dataclasses
import json

import agents
from agents import Agent, Runner, function_tool
from pydantic import BaseModel
from scripted import Scripted, call, say

RunState = getattr(agents, "RunState", None)
paid = []


def make_pay():
    @function_tool(needs_approval=True)
    def pay(amount: int) -> str:
        paid.append(amount)
        return f"paid {amount}"

    return pay


@dataclasses.dataclass
class Account:
    x: int = 1
    tags: list = dataclasses.field(default_factory=list)


class Record(BaseModel):
    x: int = 1


class Plain:
    def __init__(self):
        self.x = 1


def clerk(*turns, name="clerk"):
    return Agent(name=name, model=Scripted(*turns), tools=[make_pay()])


def told(state):
    return json.dumps(state.to_json(), sort_keys=True)


async def siblings():
    agent = clerk([call("pay", "c1", amount=5)], [say("done")])
    paused = await Runner.run(agent, "go")
    decided, untouched = paused.to_state(), paused.to_state()
    decided.approve(decided.get_interruptions()[0])
    resumed = await Runner.run(agent, untouched)
    return len(resumed.interruptions), resumed.final_output


async def decisions():
    agent = clerk([call("pay", "c1", amount=5), call("pay", "c2", amount=6)], [say("done")])
    paused = await Runner.run(agent, "go", context={"k": [1]})
    state = paused.to_state()
    print(told(state))
    first, second = state.get_interruptions()
    state.approve(first)
    state.reject(second)
    print(told(state))
    resumed = await Runner.run(agent, state)
    print(told(resumed.to_state()))
    print(told(state))
    return resumed.final_output


async def text():
    agent = clerk([call("pay", "c1", amount=5), call("pay", "c2", amount=6)], [say("done")])
    paused = await Runner.run(agent, "go", context={"k": [1]})
    written = paused.to_state().to_string()
    state = await RunState.from_string(agent, written)
    print(state.to_string() == written)
    for item in state.get_interruptions():
        state.approve(item, always_approve=True)
    resumed = await Runner.run(agent, state)
    return resumed.final_output, [getattr(item, "output", None) for item in resumed.new_items]


async def with_context(context):
    agent = clerk([call("pay", "c1", amount=7)], [say("done")])
    paused = await Runner.run(agent, "go", context=context)
    state = paused.to_state()
    state.approve(state.get_interruptions()[0])
    resumed = await Runner.run(agent, state)
    return resumed.final_output, type(resumed.context_wrapper.context).__name__


async def contexts():
    return [await with_context(each) for each in ({"a": 1}, Account(), Record(), Plain(), None)]


async def nested():
    inner = clerk([call("pay", "n1", amount=9)], [say("inner done")], name="inner")
    outer = Agent(
        name="outer",
        model=Scripted([call("ask", "o1", input="x")], [say("outer done")]),
        tools=[inner.as_tool("ask", "asks")],
    )
    paused = await Runner.run(outer, "go")
    state = paused.to_state()
    print(told(state))
    for item in state.get_interruptions():
        state.approve(item)
    resumed = await Runner.run(outer, state)
    return len(resumed.interruptions), resumed.final_output


async def streamed():
    agent = clerk([call("pay", "c1", amount=5)], [say("done")])
    result = Runner.run_streamed(agent, "go")
    async for _ in result.stream_events():
        pass
    state = result.to_state()
    state.approve(state.get_interruptions()[0])
    resumed = Runner.run_streamed(agent, state)
    kinds = [event.type async for event in resumed.stream_events()]
    return resumed.final_output, kinds


async def main():
    if RunState is None:
        print("this release has no RunState")
        return
    for case in (siblings, decisions, text, contexts, nested, streamed):
        paid.clear()
        try:
            print(case.__name__, await case(), sorted(paid))
        except Exception as error:
            print(case.__name__, "raised", type(error).__name__, str(error)[:150], sorted(paid))
