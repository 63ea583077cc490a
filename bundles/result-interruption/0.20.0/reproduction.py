# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
#
# [tool.agentproof]
# title = "Changing an interruption of a result changes the state that was made from it"
# reference = "openai/openai-agents-python#4409"
# ///
"""A state is made from a paused result; then the caller changes an interruption of the result.

The state should stay as it was made: it waits for a payment of 100, and once approved it pays 100.
`RunState.get_interruptions` gives copies since #4409; this is about `result.interruptions`. Run it with
`uv run reproduction.py`.
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
        return ModelResponse(output=[self.answers.pop(0)], usage=Usage(), response_id="resp_1")

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


ran = []


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    ran.append(amount)
    return f"paid {amount}"


def waits_for(state):
    (item,) = state.to_json()["current_step"]["data"]["interruptions"]
    return json.loads(item["raw_item"]["arguments"])


async def main():
    agent = Agent(name="clerk", model=Scripted(CALL, ANSWER), tools=[pay])
    paused = await Runner.run(agent, "Pay 100.")
    state = paused.to_state()

    state.approve(state.get_interruptions()[0])
    print("approved:", waits_for(state))
    paused.interruptions[0].raw_item.arguments = '{"amount": 999}'
    now = waits_for(state)
    print("after the result was changed:", now)

    try:
        await Runner.run(agent, state)
        print("the tool paid:", ran)
    except Exception as error:
        print(f"resuming raised {type(error).__name__}; the tool paid: {ran}")
    assert now == {"amount": 100}, f"the state waits for {now}"
    assert ran == [100], f"the tool paid {ran}"


asyncio.run(main())
