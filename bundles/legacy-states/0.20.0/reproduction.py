# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.19.4"]
#
# [tool.agentproof]
# title = "RunStates as a release writes them: pending, approved and rejected"
# ///
"""Six runs pause, and their states are written as JSON.

A call of the agent's own tool is left pending, approved or rejected; the same below an agent that is used as
a tool. Nothing is claimed about them: other reproductions restore these states on later releases. Run it
with `uv run reproduction.py`.
"""

import asyncio

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

ANSWER = ResponseOutputMessage(
    id="msg_1",
    type="message",
    role="assistant",
    status="completed",
    content=[ResponseOutputText(type="output_text", text="Done.", annotations=[])],
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


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


def call(name, call_id, arguments):
    return ResponseFunctionToolCall(
        id=f"fc_{call_id}", call_id=call_id, type="function_call", name=name, arguments=arguments
    )


def agent_for(name, nested):
    clerk = Agent(
        name="clerk", model=Scripted(call("pay", f"{name}_pay", '{"amount": 100}'), ANSWER), tools=[pay]
    )
    if not nested:
        return clerk
    ask = call("ask_clerk", f"{name}_ask", '{"input": "Pay 100."}')
    tool = clerk.as_tool(tool_name="ask_clerk", tool_description="Ask.")
    return Agent(name="boss", model=Scripted(ask, ANSWER), tools=[tool])


async def main():
    for nested in (False, True):
        for kind, decision in (("pending", None), ("approved", "approve"), ("rejected", "reject")):
            agent = agent_for(f"nested_{kind}" if nested else kind, nested)
            state = (await Runner.run(agent, "Pay 100.")).to_state()
            if decision is not None:
                getattr(state, decision)(state.get_interruptions()[0])
            state.to_json()


asyncio.run(main())
