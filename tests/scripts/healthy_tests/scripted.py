"""A scripted model and a few tools, shared by the tests beside it."""
import json

from agents import Model, ModelResponse, Usage, function_tool, set_tracing_disabled
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseUsage,
)
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

set_tracing_disabled(True)


def say(text, id="msg_1"):
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id=id, type="message", role="assistant", status="completed", content=[part])


def call(name, args=None, call_id="call_1"):
    return ResponseFunctionToolCall(
        id="fc_" + call_id, call_id=call_id, type="function_call", name=name, arguments=json.dumps(args or {})
    )


class Scripted(Model):
    """Answers with the next prepared turn, or raises it."""

    def __init__(self, *turns):
        self.turns = list(turns)
        self.inputs = []

    def _turn(self, args, kwargs):
        self.inputs.append(kwargs.get("input", args[1] if len(args) > 1 else None))
        turn = self.turns.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        return turn

    async def get_response(self, *args, **kwargs):
        usage = Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15)
        return ModelResponse(output=self._turn(args, kwargs), usage=usage, response_id=None)

    async def stream_response(self, *args, **kwargs):
        output = self._turn(args, kwargs)
        for place, item in enumerate(output):
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=place, sequence_number=place
            )
        usage = ResponseUsage(
            input_tokens=10,
            output_tokens=5,
            total_tokens=15,
            input_tokens_details=InputTokensDetails(cached_tokens=0, cache_write_tokens=0),
            output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
        )
        done = Response(
            id="resp_1", object="response", created_at=0, model="scripted", output=output, tool_choice="auto",
            tools=[], parallel_tool_calls=True, usage=usage,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=len(output), response=done)


@function_tool
def add(a: int, b: int) -> str:
    return str(a + b)


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    return f"paid {amount}"
