"""Writes saved/<version>.json with the release that runs it: `python write.py > saved/<version>.json`.

The model's answers, the tool and the agent are those of reproduction.py.
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
    return f"paid {amount}"


async def main():
    saved = {}
    for kind, decision in (("pending", None), ("approved", "approve"), ("rejected", "reject")):
        agent = Agent(name="clerk", model=Scripted(CALL, ANSWER), tools=[pay])
        state = (await Runner.run(agent, "Pay 100.")).to_state()
        if decision is not None:
            getattr(state, decision)(state.get_interruptions()[0])
        saved[kind] = state.to_json()
    print(json.dumps(saved, indent=1, sort_keys=True))


asyncio.run(main())
