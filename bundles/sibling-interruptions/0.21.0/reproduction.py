# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
#
# [tool.agentproof]
# title = "Resuming one RunState empties the interruptions in its sibling's JSON"
# ///
"""Two RunStates are made from one paused result; one is approved and resumed, the other is left alone.

What the untouched one says of itself should stay as it was. Run it with `uv run reproduction.py`.
"""

import asyncio
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

CALL = ResponseFunctionToolCall(
    id="fc_1", call_id="call_1", type="function_call", name="pay", arguments='{"amount": 100}'
)
ANSWER = ResponseOutputMessage(
    id="msg_1",
    type="message",
    role="assistant",
    status="completed",
    content=[ResponseOutputText(type="output_text", text="Paid.", annotations=[])],
)


class Scripted(Model):
    """Gives the prepared answers, one for each request."""

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
    """Pay somebody."""
    print(f"PAID {amount}")
    return f"paid {amount}"


def said(state):
    """The interruptions that a state's JSON holds for its last response, and those that are pending."""
    response = state.to_json()["last_processed_response"]
    return len(response["interruptions"]), len(state.get_interruptions())


async def main():
    agent = Agent(name="clerk", model=Scripted(CALL, ANSWER), tools=[pay])
    paused = await Runner.run(agent, "Pay 100.")
    decided, untouched = paused.to_state(), paused.to_state()

    before = said(untouched)
    decided.approve(decided.get_interruptions()[0])
    await Runner.run(agent, decided)
    after = said(untouched)
    print("untouched before (in the last response, pending):", before)
    print("untouched after: ", after)


asyncio.run(main())
