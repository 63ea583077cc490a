"""What the model is told of a tool that found nothing."""
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
def find(word: str) -> list[str]:
    return []


async def main():
    model = Script([tool_call("find", word="x")], [text("nothing")])
    result = await Runner.run(Agent(name="a", model=model, tools=[find]), "find x")
    told = [item["output"] for item in model.requests[1]
            if item.get("type") == "function_call_output"]
    print(json.dumps({"told": told, "output": result.final_output}))


asyncio.run(main())
