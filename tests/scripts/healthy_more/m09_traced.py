"""Tracing with a processor of the script's own; a run that fails under it; nested agents."""
import asyncio

from agents import Agent, TracingProcessor, set_trace_processors, set_tracing_disabled, trace

from scripted import Scripted, add, attempt, call, say

set_tracing_disabled(False)
seen = []


class Keep(TracingProcessor):
    def on_trace_start(self, trace):
        seen.append("trace")

    def on_trace_end(self, trace):
        pass

    def on_span_start(self, span):
        pass

    def on_span_end(self, span):
        seen.append((span.span_data.type, span.error is not None))

    def shutdown(self):
        pass

    def force_flush(self):
        pass


async def main():
    set_trace_processors([Keep()])
    with trace("one workflow"):
        inner = Agent(name="inner", model=Scripted([say("two")]))
        turns = [[call("ask", {"input": "x"}, "o1"), call("add", {"a": 1, "b": 1}, "c1")], [say("end")]]
        result = await attempt(Agent(name="a", model=Scripted(*turns), tools=[inner.as_tool("ask", "d"), add]), "go")
        print(result.final_output)
        await attempt(Agent(name="b", model=Scripted(ConnectionError("down"))), "go")
    print(sorted(set(map(str, seen))))


asyncio.run(main())
