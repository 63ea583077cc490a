# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
#
# [tool.agentproof]
# title = "One of two calls below an agent tool is approved, and does not run on resume"
# ///
"""An agent that is used as a tool waits for two calls; one of them is approved, and the run is resumed.

Run it with `uv run reproduction.py`.
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
        return ModelResponse(output=self.answers.pop(0), usage=Usage(), response_id="resp_1")

    async def stream_response(self, *args, **kwargs):
        items = self.answers.pop(0)
        for place, item in enumerate(items):
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=place, sequence_number=place
            )
        response = Response(
            id="resp_1",
            object="response",
            created_at=0,
            model="scripted",
            output=items,
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=len(items), response=response)


ran = []


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    ran.append(amount)
    return f"paid {amount}"


async def main():
    for nested in (False, True):
        ran.clear()
        name = "nested" if nested else "flat"
        calls = [call("pay", f"{name}_{each}", f'{{"amount": {each}}}') for each in (1, 2)]
        agent = Agent(name="clerk", model=Scripted(calls, [answer("done")]), tools=[pay])
        if nested:
            tool = agent.as_tool(tool_name="ask", tool_description="Ask.")
            ask = call("ask", f"{name}_ask", '{"input": "Pay."}')
            agent = Agent(name="boss", model=Scripted([ask], [answer("done")]), tools=[tool])
        state = (await Runner.run(agent, "Pay.")).to_state()
        state.approve(state.get_interruptions()[0])
        result = await Runner.run(agent, state)
        print(f"{name}: ran {ran}, pending {[item.raw_item.call_id for item in result.interruptions]}")


asyncio.run(main())
