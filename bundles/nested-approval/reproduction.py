# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0"]
#
# [tool.agentproof]
# title = "An approval asked for two agent tools deep is lost on resume"
# reference = "openai/openai-agents-python#4414"
# ///
"""A tool that needs approval sits below two or three agents that are used as tools.

Whatever the depth, a decision should reach the tool: an approved call runs once, a rejected one never,
and nothing asks again. Tried on the live state, on one that is restored from JSON and then decided, and
on one that is decided and then restored. Run it with `uv run reproduction.py`.
"""

import asyncio
import itertools

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


ran = []
numbers = itertools.count(1)


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    ran.append(amount)
    return f"paid {amount}"


def chain(depth):
    """An agent with `depth` agent tools between it and `pay`, with call ids of its own."""
    number = next(numbers)
    agent = Agent(
        name="agent0",
        model=Scripted(call("pay", f"call_{number}_pay", '{"amount": 100}'), answer("done 0")),
        tools=[pay],
    )
    for level in range(1, depth + 1):
        agent = Agent(
            name=f"agent{level}",
            model=Scripted(
                call(f"ask{level}", f"call_{number}_{level}", '{"input": "Pay 100."}'),
                answer(f"done {level}"),
            ),
            tools=[agent.as_tool(tool_name=f"ask{level}", tool_description="Ask.")],
        )
    return agent


async def restored(agent, state):
    return await RunState.from_json(agent, state.to_json())


async def decided(depth, decision, when):
    """What a decision on the pending call comes to."""
    ran.clear()
    agent = chain(depth)
    state = (await Runner.run(agent, "Pay 100.")).to_state()
    if when == "restored, then decided":
        state = await restored(agent, state)
    pending = state.get_interruptions()
    if not pending:
        return "nothing is pending"
    getattr(state, decision)(pending[0])
    if when == "decided, then restored":
        state = await restored(agent, state)
    result = await Runner.run(agent, state)
    return len(pending), len(ran), len(result.interruptions), result.final_output


async def main():
    wrong = []
    for depth in (2, 3):
        for decision in ("approve", "reject"):
            for when in ("live", "restored, then decided", "decided, then restored"):
                expected = (1, 1 if decision == "approve" else 0, 0, f"done {depth}")
                seen = await decided(depth, decision, when)
                line = f"depth {depth}, {decision}, {when}: pending, runs, pending after, output = {seen}"
                print(line)
                if seen != expected:
                    wrong.append(line)
    assert not wrong, f"{len(wrong)} of 12 decisions did not reach the tool"


asyncio.run(main())
