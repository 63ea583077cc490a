# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
#
# [tool.agentproof]
# title = "After a nested handoff the default input list tells each call twice"
# reference = "openai/openai-agents-python#2258"
#
# [[tool.agentproof.claims]]
# id = "the default input list is a summary and an answer"
# kind = "value-at"
# at = {input_list = 1}
# length = 2
#
# [[tool.agentproof.claims]]
# id = "the run hands over and returns"
# kind = "run-ended"
# outcome = "returned"
# ///
"""The input list of a finished run whose handoff nested its history."""
import asyncio
import copy
import json

from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled

set_tracing_disabled(True)


def say(text, id="msg_1"):
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id=id, type="message", role="assistant", status="completed", content=[part]
    )


def call(name, args="{}", call_id="call_1"):
    if not isinstance(args, str):
        args = json.dumps(args)
    return ResponseFunctionToolCall(
        id="fc_" + call_id, call_id=call_id, type="function_call", name=name, arguments=args
    )


class Playback(Model):
    """Answers each request with the next prepared turn; keeps what it was asked."""

    def __init__(self, *turns):
        self.turns = list(turns)
        self.inputs = []

    def _turn(self, args, kwargs):
        given = kwargs["input"] if "input" in kwargs else args[1]
        self.inputs.append(copy.deepcopy(given))
        turn = self.turns.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        return turn

    async def get_response(self, *args, **kwargs):
        out = self._turn(args, kwargs)
        usage = Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15)
        return ModelResponse(output=out, usage=usage, response_id=None)

    async def stream_response(self, *args, **kwargs):
        out = self._turn(args, kwargs)
        for n, item in enumerate(out):
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=n, sequence_number=n
            )
        done = Response(
            id="resp_1", object="response", created_at=0, model="playback", output=out,
            tool_choice="auto", tools=[], parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(
            type="response.completed", sequence_number=len(out), response=done
        )


from agents import RunConfig, function_tool
from agentproof import probe


@function_tool
def lookup() -> str:
    return "found"


async def main():
    second = Agent(name="second", model=Playback([say("hello")]))
    first = Agent(name="first", tools=[lookup], handoffs=[second],
                  model=Playback([call("lookup", {}, "c1")],
                                 [call("transfer_to_second", "{}", "h1")]))
    result = await Runner.run(first, "hi", run_config=RunConfig(nest_handoff_history=True))

    def shape(items):
        text = json.dumps([i for i in items if isinstance(i.get("content"), str)])
        return {"items": [i.get("type") or i.get("role") for i in items],
                "told_twice": sorted({i["call_id"] for i in items
                                      if "call_id" in i and i["call_id"] in text})}

    out = {"default": shape(result.to_input_list())}
    try:
        out["normalized"] = shape(result.to_input_list(mode="normalized"))
    except TypeError:
        out["normalized"] = None
    probe.check("the default list tells no call twice", not out["default"]["told_twice"])
    if out["normalized"] is not None:
        probe.check("the normalized list tells no call twice", not out["normalized"]["told_twice"])
    print(json.dumps(out))


asyncio.run(main())
