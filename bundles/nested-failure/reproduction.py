# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
#
# [tool.agentproof]
# title = "A failed call below an agent tool is asked for again, without end"
# ///
"""An approved tool below an agent used as a tool is stopped by its guardrail after it ran.

The outer run asks for the call that already ran again, and again each time that it is approved.

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
    ToolGuardrailFunctionOutput,
    Usage,
    function_tool,
    set_tracing_disabled,
    tool_output_guardrail,
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


@tool_output_guardrail
def refuse(data):
    return ToolGuardrailFunctionOutput.raise_exception()


async def main(through_json):
    executed = []

    @function_tool(needs_approval=True, tool_output_guardrails=[refuse])
    async def pay() -> str:
        executed.append("pay")
        return "paid"

    inner = Agent(name="inner", model=Scripted("pay", "inner_1"), tools=[pay])
    ask = inner.as_tool("ask", "asks")
    outer = Agent(name="outer", model=Scripted("ask", "outer_1", '{"input": "go"}'), tools=[ask])
    told = []
    result = await Runner.run(outer, "go")
    for _ in range(3):
        told.append([item.raw_item.call_id for item in result.interruptions])
        if not result.interruptions:
            break
        state = result.to_state()
        if through_json:
            state = await RunState.from_json(outer, json.loads(json.dumps(state.to_json())))
        for item in state.get_interruptions():
            state.approve(item)
        try:
            result = await Runner.run(outer, state)
        except Exception as error:
            told.append(type(error).__name__)
            break
    return {"asked for": told, "executed": executed, "final": result.final_output}


print("live:        ", json.dumps(asyncio.run(main(False))))
print("through JSON:", json.dumps(asyncio.run(main(True))))
