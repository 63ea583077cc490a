"""What a server-managed conversation is sent after an approval."""
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


from agents import RunState


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    return "paid"


@function_tool
def rate() -> str:
    return "1.1"


async def main():
    model = Script([tool_call("rate", "c1"), tool_call("pay", "c2", amount=5)], [text("done")])
    agent = Agent(name="till", tools=[pay, rate], model=model)
    paused = await Runner.run(agent, "pay 5", conversation_id="conv_1")
    state = await RunState.from_json(agent, json.loads(json.dumps(paused.to_state().to_json())))
    state.approve(state.get_interruptions()[0])
    result = await Runner.run(agent, state, conversation_id="conv_1")
    print(json.dumps({
        "sent": [[item.get("type"), item.get("call_id")] for item in model.requests[1]],
        "output": result.final_output,
    }))


asyncio.run(main())
