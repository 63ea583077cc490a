"""Guardrails of all four kinds with every outcome, and both kinds of hooks with every method."""
import asyncio
import types

from agents import (
    Agent,
    AgentHooks,
    GuardrailFunctionOutput,
    RunHooks,
    ToolGuardrailFunctionOutput,
    function_tool,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
    tool_output_guardrail,
)

from scripted import Scripted, attempt, call, say

log = []
RUN = ("on_agent_start", "on_agent_end", "on_tool_start", "on_tool_end", "on_handoff", "on_llm_start", "on_llm_end")
OWN = ("on_start", "on_end", "on_tool_start", "on_tool_end", "on_handoff", "on_llm_start", "on_llm_end")


def logging(base, names):
    def make(name):
        async def hook(self, *args, **kwargs):
            log.append(name)

        return hook

    return types.new_class("Logging", (base,), exec_body=lambda held: held.update({name: make(name) for name in names}))()


def input_check(tripped):
    @input_guardrail
    async def check(context, agent, given):
        return GuardrailFunctionOutput(output_info={"n": [1, None, ""]}, tripwire_triggered=tripped)

    return check


def output_check(tripped):
    @output_guardrail(name="named")
    async def check(context, agent, given):
        return GuardrailFunctionOutput(output_info=0, tripwire_triggered=tripped)

    return check


@tool_input_guardrail
def no_ones(data):
    if '"x": 1' in data.context.tool_arguments:
        return ToolGuardrailFunctionOutput.reject_content("no way", output_info=[])
    return ToolGuardrailFunctionOutput(output_info="fine")


@tool_output_guardrail
def no_threes(data):
    return ToolGuardrailFunctionOutput.reject_content("hidden") if "3" in data.output else ToolGuardrailFunctionOutput.allow()


@tool_output_guardrail
def refuses(data):
    return ToolGuardrailFunctionOutput.raise_exception(output_info={"why": 1})


@input_guardrail
async def broken(context, agent, given):
    raise KeyError("mine")


@function_tool(tool_input_guardrails=[no_ones], tool_output_guardrails=[no_threes])
async def echo(x: int) -> str:
    return f"t{x}"


@function_tool(tool_output_guardrails=[refuses])
async def refused() -> str:
    return "u"


async def main():
    second = Agent(name="b", model=Scripted([say("from b")]), hooks=logging(AgentHooks, OWN), output_guardrails=[output_check(False)])
    calls = [call("echo", {"x": number}, f"c{number}") for number in (1, 2, 3)]
    first = Agent(name="a", model=Scripted(calls, [call("transfer_to_b", {}, "h1")]), tools=[echo], handoffs=[second],
                  hooks=logging(AgentHooks, OWN), input_guardrails=[input_check(False)])
    result = await attempt(first, "go", hooks=logging(RunHooks, RUN))
    print(result.final_output, len(result.tool_input_guardrail_results), len(result.tool_output_guardrail_results), len(log))
    await attempt(Agent(name="a", model=Scripted([say("x")]), input_guardrails=[input_check(True)]), "go")
    await attempt(Agent(name="a", model=Scripted([say("x")]), output_guardrails=[output_check(True)]), "go")
    await attempt(Agent(name="a", model=Scripted([call("refused", {}, "c1")], [say("x")]), tools=[refused]), "go")
    await attempt(Agent(name="a", model=Scripted([say("x")]), input_guardrails=[broken]), "go")


asyncio.run(main())
