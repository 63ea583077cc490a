# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
#
# [tool.agentproof]
# title = "After a second pause one RunState makes its sibling unusable"
# ///
"""A run pauses below an agent used as a tool, is resumed with nothing decided, and pauses again.

Of two states of that result, resuming one makes the other one raise. After one pause, or through JSON, both
work.

Run it with `uv run reproduction.py`.
"""

import asyncio
import json

from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunState,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)

set_tracing_disabled(True)


class Scripted(Model):
    """Asks for its one call until it was told an output, then says done."""

    def __init__(self, name, id, arguments="{}"):
        self.call = ResponseFunctionToolCall(
            id="fc_" + id, call_id=id, type="function_call", name=name, arguments=arguments
        )

    async def get_response(self, system_instructions, input, *args, **kwargs):
        words = ResponseOutputText(type="output_text", text="done", annotations=[])
        done = ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[words]
        )
        told = not isinstance(input, str) and any(i.get("type") == "function_call_output" for i in input)
        output = [done if told else self.call]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    async def stream_response(self, *args, **kwargs):
        output = (await self.get_response(*args, **kwargs)).output
        response = Response(
            id="r", object="response", created_at=0, model="scripted", output=output,
            tool_choice="auto", tools=[], parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=0, response=response)


async def main(pauses, through_json):
    executed = []

    @function_tool(needs_approval=True)
    async def pay() -> str:
        executed.append("pay")
        return "paid"

    inner = Agent(name="inner", model=Scripted("pay", "inner_1"), tools=[pay])
    ask = inner.as_tool("ask", "asks")
    outer = Agent(name="outer", model=Scripted("ask", "outer_1", '{"input": "go"}'), tools=[ask])
    result = await Runner.run(outer, "go")
    for _ in range(pauses - 1):
        result = await Runner.run(outer, result.to_state())
    states = [result.to_state(), result.to_state()]
    if through_json:
        states = [await RunState.from_json(outer, json.loads(json.dumps(s.to_json()))) for s in states]
    told = []
    for state in states:
        state.approve(state.get_interruptions()[0])
        try:
            told.append((await Runner.run(outer, state)).final_output)
        except Exception as error:
            told.append(f"{type(error).__name__}: {error}"[:60])
    return {"executed": executed, "told": told}


print("one pause:               ", json.dumps(asyncio.run(main(1, False))))
print("two pauses, through JSON:", json.dumps(asyncio.run(main(2, True))))
print("two pauses:              ", json.dumps(asyncio.run(main(2, False))))
