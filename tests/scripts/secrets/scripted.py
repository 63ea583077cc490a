"""A model that gives prepared answers, for the scripts beside it; works on openai-agents 0.2 to 0.24."""

import json

from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agents import Model, ModelResponse, Usage


def say(text, id="msg_1"):
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id=id, type="message", role="assistant", status="completed", content=[part]
    )


def call(name, call_id, **arguments):
    return ResponseFunctionToolCall(
        id="fc_" + call_id,
        call_id=call_id,
        type="function_call",
        name=name,
        arguments=json.dumps(arguments),
    )


class Scripted(Model):
    """Each turn is a list of items, or an exception that is raised instead."""

    def __init__(self, *turns):
        self.turns = list(turns)
        self.ended = []

    def _turn(self):
        turn = self.turns.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        return turn

    async def get_response(self, *args, **kwargs):
        usage = Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15)
        return ModelResponse(output=self._turn(), usage=usage, response_id=None)

    async def stream_response(self, *args, **kwargs):
        try:
            items = self._turn()
            for place, item in enumerate(items):
                yield ResponseOutputItemDoneEvent(
                    type="response.output_item.done",
                    item=item,
                    output_index=place,
                    sequence_number=place,
                )
            yield ResponseCompletedEvent(
                type="response.completed",
                sequence_number=len(items),
                response=Response(
                    id="resp_1",
                    object="response",
                    created_at=0,
                    model="scripted",
                    output=items,
                    tool_choice="auto",
                    tools=[],
                    parallel_tool_calls=True,
                ),
            )
        finally:
            self.ended.append("stream")


class Unstreamable(Scripted):
    """Many scripts bring a model that only answers whole."""

    async def stream_response(self, *args, **kwargs):
        raise NotImplementedError
        yield
