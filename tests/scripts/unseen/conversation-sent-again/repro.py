"""What a conversation that the server keeps is sent on the second turn."""
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

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled

set_tracing_disabled(True)


def text(words, id="msg_1"):
    part = ResponseOutputText(type="output_text", text=words, annotations=[])
    return ResponseOutputMessage(
        id=id, type="message", role="assistant", status="completed", content=[part]
    )


def tool_call(name, call_id="call_1", **arguments):
    return ResponseFunctionToolCall(
        id="fc_" + call_id,
        call_id=call_id,
        type="function_call",
        name=name,
        arguments=json.dumps(arguments),
    )


class Script(Model):
    """Plays its answers one after the other and keeps what it was given."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    def next_answer(self, args, kwargs):
        self.requests.append(copy.deepcopy(kwargs["input"] if "input" in kwargs else args[1]))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def get_response(self, *args, **kwargs):
        answer = self.next_answer(args, kwargs)
        usage = Usage(requests=1, input_tokens=8, output_tokens=4, total_tokens=12)
        return ModelResponse(output=answer, usage=usage, response_id=None)

    async def stream_response(self, *args, **kwargs):
        answer = self.next_answer(args, kwargs)
        for index, item in enumerate(answer):
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=index,
                sequence_number=index,
            )
        yield ResponseCompletedEvent(
            type="response.completed",
            sequence_number=len(answer),
            response=Response(
                id="resp_1", object="response", created_at=0, model="script", output=answer,
                tool_choice="auto", tools=[], parallel_tool_calls=True,
            ),
        )


@function_tool
def rate() -> str:
    return "1.1"


async def sent(streamed):
    model = Script([tool_call("rate", "c1")], [text("done")])
    agent = Agent(name="a", model=model, tools=[rate])
    if streamed:
        result = Runner.run_streamed(agent, "what is the rate", conversation_id="conv_1")
        async for _ in result.stream_events():
            pass
    else:
        await Runner.run(agent, "what is the rate", conversation_id="conv_1")
    return [[item.get("type") or item.get("role") for item in given]
            if isinstance(given, list) else given for given in model.requests]


async def main():
    print(json.dumps({"plain": await sent(False), "streamed": await sent(True)}))


asyncio.run(main())
