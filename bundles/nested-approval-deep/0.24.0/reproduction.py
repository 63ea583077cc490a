# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0"]
#
# [tool.agentproof]
# title = "An approval is lost on resume, three agent tools deep"
# reference = "openai/openai-agents-python#4414"
# ///
"""A tool that needs approval sits below three agents that are used as tools; its call is approved.

The decision should reach the tool: it runs once, and nothing asks again. Tried on
the live state, on one that is restored from JSON and then decided, and on one that is decided and then
restored. Run it with `uv run reproduction.py`.
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

from agents import (
    Agent,
    Model,
    ModelResponse,
    Runner,
    RunState,
    Usage,
    function_tool,
    set_tracing_disabled,
)

set_tracing_disabled(True)

DEPTH = 3
DECISION = "approve"
MOMENTS = ("live", "restored, then decided", "decided, then restored")


def call(name, call_id, arguments):
    return ResponseFunctionToolCall(
        id=f"fc_{call_id}", call_id=call_id, type="function_call", name=name, arguments=arguments
    )


def answer(text):
    return ResponseOutputMessage(
        id="msg_1",
        type="message",
        role="assistant",
        status="completed",
        content=[ResponseOutputText(type="output_text", text=text, annotations=[])],
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


def chain(name):
    """An agent with DEPTH agent tools between it and `pay`, with call ids of its own."""
    agent = Agent(
        name="agent0",
        model=Scripted(call("pay", f"{name}_pay", '{"amount": 100}'), answer("done 0")),
        tools=[pay],
    )
    for level in range(1, DEPTH + 1):
        agent = Agent(
            name=f"agent{level}",
            model=Scripted(
                call(f"ask{level}", f"{name}_{level}", '{"input": "Pay 100."}'), answer(f"done {level}")
            ),
            tools=[agent.as_tool(tool_name=f"ask{level}", tool_description="Ask.")],
        )
    return agent


async def decided(number, moment):
    """How often the tool ran, how many calls are pending then, and the output."""
    ran.clear()
    agent = chain(f"call_{number}")
    state = (await Runner.run(agent, "Pay 100.")).to_state()
    if moment == "restored, then decided":
        state = await RunState.from_json(agent, state.to_json())
    (pending,) = state.get_interruptions()
    getattr(state, DECISION)(pending)
    if moment == "decided, then restored":
        state = await RunState.from_json(agent, state.to_json())
    result = await Runner.run(agent, state)
    return len(ran), len(result.interruptions), result.final_output


async def main():
    expected = (1 if DECISION == "approve" else 0, 0, f"done {DEPTH}")
    wrong = []
    for number, moment in enumerate(MOMENTS, 1):
        seen = await decided(number, moment)
        print(f"{moment}: runs, pending, output = {seen}")
        if seen != expected:
            wrong.append(moment)
    assert not wrong, f"the decision did not reach the tool: {'; '.join(wrong)}"


asyncio.run(main())
