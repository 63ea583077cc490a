"""A model of a few answers, one paused run and one that is done: what the framing scripts begin with."""

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)

set_tracing_disabled(True)


def call(call_id="call_1", name="pay", arguments='{"amount": 100}'):
    return ResponseFunctionToolCall(
        id="fc_1", call_id=call_id, type="function_call", name=name, arguments=arguments
    )


def answer(text="Paid."):
    return ResponseOutputMessage(
        id="msg_1",
        type="message",
        role="assistant",
        status="completed",
        content=[ResponseOutputText(type="output_text", text=text, annotations=[])],
    )


class Scripted(Model):
    def __init__(self, *answers):
        self.answers = list(answers)

    async def get_response(self, *args, **kwargs):
        usage = Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15)
        return ModelResponse(output=[self.answers.pop(0)], usage=usage, response_id=None)

    async def stream_response(self, *args, **kwargs):
        item = self.answers.pop(0)
        yield ResponseOutputItemDoneEvent(
            type="response.output_item.done", item=item, output_index=0, sequence_number=0
        )
        response = Response(
            id="resp_1",
            object="response",
            created_at=0,
            model="scripted",
            output=[item],
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=1, response=response)


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    return f"paid {amount}"


@function_tool
def look(amount: int) -> str:
    return f"seen {amount}"


async def paused():
    clerk = Agent(name="clerk", model=Scripted(call(), answer()), tools=[pay])
    return await Runner.run(clerk, "Pay 100.")


async def done():
    return await Runner.run(Agent(name="clerk", model=Scripted(answer())), "Hello.")
