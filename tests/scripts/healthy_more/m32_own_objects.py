"""Objects of the script's own that go on changing: tools' lists, input items, a final answer, a mock."""
import asyncio
from unittest.mock import MagicMock

from agents import Agent, Runner, function_tool

from scripted import Scripted, attempt, call, pay, say

todos = []
board = {"open": 0}


class Counter:
    def __init__(self):
        self.n = 0

    def __str__(self):
        return f"Counter({self.n})"


counter = Counter()


@function_tool
def add_todo(text: str) -> list:
    todos.append(text)
    return todos


@function_tool
def count() -> dict:
    board["open"] += 1
    counter.n += 1
    return board


@function_tool
def tick() -> Counter:
    counter.n += 1
    return counter


@function_tool
def mocked() -> str:
    double = MagicMock(spec=int)
    double.__str__.return_value = "a mock"
    return double


async def main():
    turns = [
        [call("add_todo", {"text": "a"}, "c1")],
        [call("count", {}, "c2"), call("tick", {}, "c3")],
        [call("add_todo", {"text": "b"}, "c4"), call("mocked", {}, "c5")],
        [say("done")],
    ]
    first = await Runner.run(Agent(name="a", model=Scripted(*turns), tools=[add_todo, count, tick, mocked]), "go")
    todos.append("by hand")
    second = await Runner.run(
        Agent(name="b", model=Scripted([call("add_todo", {"text": "c"}, "c6")], [say("more")]), tools=[add_todo]), "go"
    )
    print(first.final_output, second.final_output, len(first.new_items))

    history = [{"role": "user", "content": "pay"}]
    turns = [[call("add_todo", {"text": "d"}, "d1"), call("pay", {"amount": 5}, "d2")], [say("paid")]]
    agent = Agent(name="c", model=Scripted(*turns), tools=[add_todo, count, pay])
    result = await Runner.run(agent, history)
    state = result.to_state()
    todos.append("between")
    history[0]["content"] = "changed by its owner"
    history.append({"role": "user", "content": "thanks"})
    state.approve(state.get_interruptions()[0])
    todos.append("before resuming")
    paid = await attempt(agent, state)
    todos.clear()
    print(paid is not None and paid.final_output, len(todos))

    # The tool's own dict is the final output as well.
    agent = Agent(
        name="d", model=Scripted([call("count", {}, "e1")]), tools=[count], tool_use_behavior="stop_on_first_tool"
    )
    last = await Runner.run(agent, "go")
    board["open"] = 9
    board["closed"] = 1
    print(last.final_output is not None)


asyncio.run(main())
