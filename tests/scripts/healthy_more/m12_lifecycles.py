"""Hooks of the run and of agents through handoffs, agents as tools, guardrails, errors and streams."""
import asyncio

from agents import Agent, AgentHooks, GuardrailFunctionOutput, RunHooks, Runner, input_guardrail, output_guardrail

from scripted import Scripted, add, attempt, call, say

told = []


class Loud(RunHooks):
    async def on_agent_start(self, context, agent):
        told.append(("start", agent.name))

    async def on_agent_end(self, context, agent, output):
        told.append(("end", agent.name))

    async def on_llm_start(self, context, agent, system_prompt, input_items):
        told.append(("llm", agent.name))

    async def on_llm_end(self, context, agent, response):
        told.append(("llm end", agent.name))


class Own(AgentHooks):
    async def on_start(self, context, agent):
        told.append(("own start", agent.name))

    async def on_llm_start(self, context, agent, system_prompt, input_items):
        told.append(("own llm", agent.name))


@input_guardrail
async def polite(context, agent, given):
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered="rude" in str(given))


@output_guardrail
async def short(context, agent, output):
    return GuardrailFunctionOutput(output_info=len(output), tripwire_triggered=len(output) > 20)


async def main():
    two = Agent(name="two", hooks=Own(), model=Scripted([say("hi")]), output_guardrails=[short])
    inner = Agent(name="inner", hooks=Own(), model=Scripted([say("deep")]))
    turns = [[call("ask", {"input": "x"}, "o1"), call("add", {"a": 1, "b": 1}, "c1")], [call("transfer_to_two", {}, "h1")]]
    one = Agent(name="one", hooks=Own(), model=Scripted(*turns), tools=[add, inner.as_tool("ask", "d")], handoffs=[two], input_guardrails=[polite])
    result = await attempt(one, "go", hooks=Loud())
    print(result.final_output, len(told))
    for given, answer in (("rude", "no"), ("fine", "this answer is far too long for it")):
        agent = Agent(name="g", hooks=Own(), model=Scripted([say(answer)]), input_guardrails=[polite], output_guardrails=[short])
        await attempt(agent, given, hooks=Loud())
    streamed = Runner.run_streamed(Agent(name="s", hooks=Own(), model=Scripted([call("add", {"a": 1, "b": 1})], [say("x")]), tools=[add]), "go", hooks=Loud())
    async for _ in streamed.stream_events():
        pass
    print(streamed.final_output)


asyncio.run(main())
