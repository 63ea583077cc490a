"""needs_approval as a function, approvals of agents as tools, decisions over JSON, rejection messages."""
import asyncio
import json

from agents import Agent, Runner, RunState, function_tool

from scripted import Scripted, attempt, call, pay, say

asked = []


async def above(context, arguments, call_id):
    asked.append(call_id)
    return arguments.get("amount", 0) > 10


@function_tool(needs_approval=above)
def transfer(amount: int) -> str:
    return f"sent {amount}"


async def main():
    turns = [[call("transfer", {"amount": 5}, "t1"), call("transfer", {"amount": 50}, "t2")], [say("done")]]
    agent = Agent(name="a", model=Scripted(*turns), tools=[transfer])
    result = await Runner.run(agent, "go")
    print(len(result.interruptions), asked[:1])
    state = await RunState.from_json(agent, json.loads(json.dumps(result.to_state().to_json())))
    state.approve(state.get_interruptions()[0])
    result = await attempt(agent, state)
    print(result.final_output)

    inner = Agent(name="inner", model=Scripted([call("pay", {"amount": 1}, "p1")], [say("paid")]), tools=[pay])
    tool = inner.as_tool("ask", "d", needs_approval=True)
    outer = Agent(name="outer", model=Scripted([call("ask", {"input": "x"}, "o1")], [say("end")]), tools=[tool])
    result = await Runner.run(outer, "go")
    for _ in range(3):
        if not result.interruptions:
            break
        state = result.to_state()
        for item in state.get_interruptions():
            state.approve(item)
        result = await Runner.run(outer, state)
    print(result.final_output, len(result.interruptions))

    agent = Agent(name="r", model=Scripted([call("pay", {"amount": 1}, "r1")], [say("sorry")]), tools=[pay])
    result = await Runner.run(agent, "go")
    state = result.to_state()
    state.reject(state.get_interruptions()[0])
    text = state.to_string()
    restored = await RunState.from_string(agent, text)
    result = await attempt(agent, restored)
    print(result.final_output, [i.output for i in result.new_items if i.type == "tool_call_output_item"])


asyncio.run(main())
