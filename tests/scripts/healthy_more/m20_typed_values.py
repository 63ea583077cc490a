"""Outputs of many types, typed final outputs, and spans that the script's own processor sees."""
import asyncio
import dataclasses
import datetime
import decimal
import enum

from agents import (
    Agent,
    ToolOutputImage,
    TracingProcessor,
    custom_span,
    function_tool,
    set_trace_processors,
    set_tracing_disabled,
    trace,
)
from pydantic import BaseModel

from scripted import Scripted, attempt, call, say

set_tracing_disabled(False)


class Counting(TracingProcessor):
    def __init__(self):
        self.seen = []

    def on_trace_start(self, trace):
        self.seen.append("trace+")

    def on_trace_end(self, trace):
        self.seen.append("trace-")

    def on_span_start(self, span):
        self.seen.append("+" + span.span_data.type)

    def on_span_end(self, span):
        self.seen.append("-" + span.span_data.type + ("!" if span.error else ""))

    def shutdown(self):
        pass

    def force_flush(self):
        pass


class Color(enum.Enum):
    RED = "r"


@dataclasses.dataclass
class Point:
    x: int = 0
    tags: list = dataclasses.field(default_factory=list)


class Answer(BaseModel):
    n: int
    tags: list[str]
    maybe: str | None = None


VALUES = [None, [], 0, "", False, {}, {"a": [1, None, 2.5]}, decimal.Decimal("1.10"), datetime.date(2026, 1, 2), Color.RED,
          b"\x00\xff", Point(), Answer(n=0, tags=[]), (1, 2), {1: "int key"}, float("nan")]


@function_tool
async def give(i: int):
    return VALUES[i]


@function_tool
async def image():
    return ToolOutputImage(image_url="data:image/png;base64,AAAA")


@function_tool(failure_error_function=None)
async def fail():
    raise decimal.InvalidOperation("d")


async def main():
    counting = Counting()
    set_trace_processors([counting])
    calls = [call("give", {"i": place}, f"g{place}") for place in range(len(VALUES))]
    result = await attempt(Agent(name="a", tools=[give, image], model=Scripted([*calls, call("image", {}, "im")], [say("done")])), "go")
    print([type(item.output).__name__ for item in result.new_items if item.type == "tool_call_output_item"])
    print(result.context_wrapper.usage.requests, result.context_wrapper.usage.total_tokens)
    for output_type, text in ((Answer, '{"n": 0, "tags": []}'), (list[int], '{"response": []}'), (Answer, '{"n": "x"}')):
        result = await attempt(Agent(name="o", output_type=output_type, model=Scripted([say(text)])), "go")
        print(result and repr(result.final_output))
    await attempt(Agent(name="f", tools=[fail], model=Scripted([call("fail", {}, "b1")])), "go")
    with trace("mine"), custom_span("own", {"k": 1}):
        await attempt(Agent(name="a", model=Scripted([say("x")])), "go")
    print(counting.seen.count("-agent"), [each for each in counting.seen if each.endswith("!")])


asyncio.run(main())
