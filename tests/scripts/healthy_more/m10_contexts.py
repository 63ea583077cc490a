"""Contexts: a plain object, one that tools change, and a wrapper that is passed on by the script."""
import asyncio
from dataclasses import dataclass, field

from agents import Agent, RunContextWrapper, Runner, function_tool

from scripted import Scripted, call, pay, say


@dataclass
class Book:
    lines: list = field(default_factory=list)


@function_tool
def note(context: RunContextWrapper[Book], text: str) -> str:
    context.context.lines.append(text)
    return f"{len(context.context.lines)} lines"


@function_tool
async def ask_again(context: RunContextWrapper[Book], text: str) -> str:
    agent = Agent(name="deep", model=Scripted([call("note", {"text": text}, "d1")], [say("noted")]), tools=[note])
    return (await Runner.run(agent, text, context=context.context)).final_output


async def main():
    book = Book()
    turns = [[call("note", {"text": "a"}, "n1"), call("ask_again", {"text": "b"}, "q1")], [say("done")]]
    agent = Agent(name="a", model=Scripted(*turns), tools=[note, ask_again])
    print((await Runner.run(agent, "go", context=book)).final_output, book.lines)

    agent = Agent(name="p", model=Scripted([call("pay", {"amount": 1}, "p1"), call("note", {"text": "c"}, "n2")], [say("ok")]), tools=[pay, note])
    result = await Runner.run(agent, "go", context=book)
    state = result.to_state()
    state.approve(state.get_interruptions()[0])
    result = await Runner.run(agent, state)
    book.lines.append("by hand")
    print(result.final_output, book.lines)


asyncio.run(main())
