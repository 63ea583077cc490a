"""Raw responses of a paused result after the run was resumed."""
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


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    return "paid"


async def main():
    agent = Agent(name="till", tools=[pay],
                  model=Script([tool_call("pay", amount=5)], [text("done")], [text("done")]))
    paused = await Runner.run(agent, "pay 5")
    before = len(paused.raw_responses)
    first, second = paused.to_state(), paused.to_state()
    untouched = len(second.to_json()["model_responses"])
    first.approve(first.get_interruptions()[0])
    result = await Runner.run(agent, first)
    print(json.dumps({
        "output": result.final_output,
        "paused": [before, len(paused.raw_responses)],
        "second": [untouched, len(second.to_json()["model_responses"])],
    }))


asyncio.run(main())
