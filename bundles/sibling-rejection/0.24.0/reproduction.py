# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0"]
#
# [tool.agentproof]
# title = "Rejecting one RunState rejects its sibling"
# reference = "openai/openai-agents-python#4413"
# ///
"""Two RunStates are made from one paused result; one is rejected, the other one is resumed.

Nobody decided on `untouched`, so resuming it should pause again. Run it with `uv run reproduction.py`.
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


def approvals(state):
    return json.dumps(state.to_json()["context"]["approvals"], sort_keys=True)


async def main():
    agent = Agent(name="clerk", model=Scripted(CALL, ANSWER), tools=[pay])
    paused = await Runner.run(agent, "Pay 100.")
    decided, untouched = paused.to_state(), paused.to_state()

    print("untouched before:", approvals(untouched))
    decided.reject(decided.get_interruptions()[0])
    print("untouched after: ", approvals(untouched))

    resumed = await Runner.run(agent, untouched)
    print("asks for approval again:", bool(resumed.interruptions))


asyncio.run(main())
