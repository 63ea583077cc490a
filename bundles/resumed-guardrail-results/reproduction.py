# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
#
# [tool.agentproof]
# title = "Tool guardrails of a resumed call are in no result"
# ///
"""A call is approved and the run resumed. Its tool's guardrails run; the result lists none of their results,
and neither do the details of an exception that a later turn raises.

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
    GuardrailFunctionOutput,
    Model,
    ModelResponse,
    OutputGuardrailTripwireTriggered,
    Runner,
    ToolGuardrailFunctionOutput,
    Usage,
    function_tool,
    output_guardrail,
    set_tracing_disabled,
    tool_input_guardrail,
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


ran = []


@tool_input_guardrail
def before(data):
    ran.append("input")
    return ToolGuardrailFunctionOutput.allow()


@tool_output_guardrail
def after(data):
    ran.append("output")
    return ToolGuardrailFunctionOutput.allow()


@function_tool(needs_approval=True, tool_input_guardrails=[before], tool_output_guardrails=[after])
async def pay() -> str:
    return "paid"


@output_guardrail
async def refuses(context, agent, output):
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)


async def resumed(output_guardrails):
    agent = Agent(
        name="till", model=Scripted("pay", "call_1"), tools=[pay], output_guardrails=output_guardrails
    )
    state = (await Runner.run(agent, "pay")).to_state()
    state.approve(state.get_interruptions()[0])
    ran.clear()
    try:
        told = await Runner.run(agent, state)
    except OutputGuardrailTripwireTriggered as error:
        told = error.run_data
    listed = [len(told.tool_input_guardrail_results), len(told.tool_output_guardrail_results)]
    return {"ran": list(ran), "listed": listed}


async def main():
    print("answered:", json.dumps(await resumed([])))
    print("refused: ", json.dumps(await resumed([refuses])))


asyncio.run(main())
