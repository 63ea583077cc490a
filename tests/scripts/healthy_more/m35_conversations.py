"""Conversations that a server keeps, by their id and by the previous response: tools, decisions, handoffs."""
import asyncio
import itertools
import json

from agents import Agent, ModelResponse, Runner, RunState, Usage, function_tool
from openai.types.responses import Response, ResponseCompletedEvent, ResponseOutputItemDoneEvent

from scripted import Scripted, add, attempt, call, pay, say

numbers = itertools.count(1)


class Numbered(Scripted):
    """Numbers its answers, as a server that keeps them does."""

    async def get_response(self, *args, **kwargs):
        usage = Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15)
        output = self._turn(args, kwargs)
        return ModelResponse(output=output, usage=usage, response_id=f"resp_{next(numbers)}")

    async def stream_response(self, *args, **kwargs):
        output = self._turn(args, kwargs)
        for place, item in enumerate(output):
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=place, sequence_number=place
            )
        done = Response(
            id=f"resp_{next(numbers)}", object="response", created_at=0, model="scripted", output=output,
            tool_choice="auto", tools=[], parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=len(output), response=done)


@function_tool
def fails() -> str:
    raise RuntimeError("no such thing")


def told(model):
    return [[i.get("call_id") or i.get("role") for i in given] if isinstance(given, list) else given
            for given in model.inputs]


async def decided(model, approve, through_json, **conversation):
    agent = Agent(name="till", model=model, tools=[pay, add])
    paused = await Runner.run(agent, "pay", **conversation)
    state = paused.to_state()
    if through_json:
        state = await RunState.from_json(agent, json.loads(json.dumps(state.to_json())))
    for item in state.get_interruptions():
        state.approve(item) if approve else state.reject(item)
    again = {} if "auto_previous_response_id" in conversation else conversation
    result = await Runner.run(agent, state, **again)
    print(result.final_output, told(model))


async def main():
    model = Numbered([call("add", {"a": 1, "b": 1}, "c1"), call("fails", {}, "c2")], [call("add", {"a": 2, "b": 1}, "c3")],
                     [say("three")])
    await attempt(Agent(name="a", model=model, tools=[add, fails]), "add", conversation_id="conv_1")
    print(told(model))

    # The same call ids again in a second question to the same conversation.
    model = Numbered([call("add", {"a": 1, "b": 1}, "c1")], [say("two")], [say("bye")])
    agent = Agent(name="a", model=model, tools=[add])
    first = await Runner.run(agent, "add", conversation_id="conv_1")
    await Runner.run(agent, "thanks", conversation_id="conv_1")
    print(first.final_output, told(model))

    model = Numbered([say("one")], [call("add", {"a": 1, "b": 1}, "c4")], [say("two")])
    agent = Agent(name="a", model=model, tools=[add])
    first = await Runner.run(agent, "hello")
    await Runner.run(agent, "add", previous_response_id=first.last_response_id)
    print(told(model))

    model = Numbered([call("add", {"a": 1, "b": 1}, "c5")], [call("add", {"a": 1, "b": 1}, "c6")], [say("two")])
    result = Runner.run_streamed(Agent(name="a", model=model, tools=[add]), "add", conversation_id="conv_2")
    async for _ in result.stream_events():
        pass
    print(told(model))

    for approve, through_json in ((True, False), (True, True), (False, False), (False, True)):
        model = Numbered([call("pay", {"amount": 1}, "c7"), call("add", {"a": 1, "b": 1}, "c8")], [say("done")])
        await decided(model, approve, through_json, conversation_id="conv_3")

    second = Agent(name="second", model=Numbered([call("add", {"a": 1, "b": 1}, "c10")], [say("there")]), tools=[add])
    first = Agent(name="first", model=Numbered([call("transfer_to_second", {}, "c9")]), handoffs=[second])
    await attempt(first, "go", conversation_id="conv_4")
    print(told(second.model))

    inner = Agent(name="inner", model=Scripted([say("in")]))
    model = Numbered([call("ask", {"input": "x"}, "c11")], [say("out")])
    await attempt(Agent(name="outer", model=model, tools=[inner.as_tool("ask", "d")]), "go", conversation_id="conv_5")
    print(told(model))

    # The caller keeps the history itself although a conversation is named: its own affair.
    model = Numbered([call("add", {"a": 1, "b": 1}, "c12")], [say("two")], [say("again")])
    agent = Agent(name="a", model=model, tools=[add])
    first = await Runner.run(agent, "add", conversation_id="conv_6")
    await attempt(agent, [*first.to_input_list(), {"role": "user", "content": "more"}], conversation_id="conv_6")
    print(len(model.inputs))


asyncio.run(main())
