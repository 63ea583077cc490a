"""Approval callbacks, decisions that stay, an inner agent's approval, and what a rejected call says."""
import asyncio

from agents import Agent, RunConfig, function_tool

from scripted import Scripted, attempt, call, pay, say

asked = []


async def above_one(context, arguments, call_id):
    asked.append((arguments.get("n"), call_id))
    return arguments.get("n", 0) > 1


@function_tool(needs_approval=above_one)
def spend(n: int) -> str:
    return f"spent {n}"


async def main():
    turn = [call("spend", {"n": 1}, "s1"), call("spend", {"n": 2}, "s2")]
    agent = Agent(name="a", tools=[spend], model=Scripted(turn, [say("done")]))
    state = (await attempt(agent, "go")).to_state()
    state.approve(state.get_interruptions()[0])
    result = await attempt(agent, state)
    print(sorted(set(asked)), result.final_output)
    for decision in ("approve", "reject"):
        turns = [[call("pay", {"amount": number}, f"p{number}")] for number in (1, 2)]
        agent = Agent(name="a", tools=[pay], model=Scripted(*turns, [say("done")]))
        state = (await attempt(agent, "go")).to_state()
        getattr(state, decision)(state.get_interruptions()[0], **{f"always_{decision}": True})
        result = await attempt(agent, state)
        print(decision, [item.output for item in result.new_items if item.type == "tool_call_output_item"])
    inner = Agent(name="inner", tools=[pay], model=Scripted([call("pay", {"amount": 9}, "n1")], [say("inner done")]))
    outer = Agent(name="outer", tools=[inner.as_tool("ask", "d")], model=Scripted([call("ask", {"input": "x"}, "o1")], [say("outer done")]))
    state = (await attempt(outer, "go")).to_state()
    state.approve(state.get_interruptions()[0])
    print((await attempt(outer, state)).final_output)
    agent = Agent(name="a", tools=[pay], model=Scripted([call("pay", {"amount": 1}, "p1")], [say("done")]))
    state = (await attempt(agent, "go")).to_state()
    state.reject(state.get_interruptions()[0])
    result = await attempt(agent, state, run_config=RunConfig(tool_error_formatter=lambda arguments: "formatted"))
    print([item.output for item in result.new_items if item.type == "tool_call_output_item"])


asyncio.run(main())
