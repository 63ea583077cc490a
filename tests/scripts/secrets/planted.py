# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0"]
# ///
"""Puts a text of its own into every place that a recording holds.

Each text is made when it is needed, so that none is in this file. They look like no token; the test gives
them as the values of its own variables. Arguments: more places, one by one.
"""

import asyncio
import sys
from pathlib import Path

from scripted import Scripted, call, say

from agents import Agent, ModelSettings, RunConfig, Runner, SQLiteSession, function_tool, trace
from agentproof import probe


def planted(place):
    return 'a "planted" {} {}'.format(place, "0123456789" * 2)


@function_tool
def tell(key: str) -> str:
    return "got " + planted("tool_output")


@function_tool
def fail(key: str) -> str:
    raise ValueError(planted("tool_exception"))


@function_tool(needs_approval=True)
def pay(key: str) -> str:
    return "paid"


async def main():
    agent = Agent(
        name="clerk",
        instructions=planted("instructions"),
        tools=[tell, fail, pay],
        model=Scripted(
            [call("tell", "call_1", key=planted("argument")), call("fail", "call_2", key="x")],
            [say(planted("answer"))],
            [call("pay", "call_3", key="x")],
        ),
        model_settings=ModelSettings(extra_headers={"Authorization": planted("request_header")}),
    )
    session = SQLiteSession("one")
    await session.add_items([{"role": "user", "content": planted("session")}])
    result = await Runner.run(agent, planted("input"), session=session)
    print(result.final_output)
    paused = await Runner.run(agent, "pay", context={"note": planted("state")})
    state = paused.to_state()
    state.approve(state.get_interruptions()[0])
    probe.observe(planted("label"), planted("observed").encode())
    probe.observe("broken", "\ud800" + planted("broken_text"))
    probe.check("kept", {planted("key"): 1})
    probe.observe("mapping", {planted("mapping_key"): [planted("in_a_list")]})


if "file" in sys.argv:
    Path(__file__).with_name("planted-by-name-01234567890123456789.txt").read_text()
print("out", planted("stdout"))
print("err", planted("stderr"), file=sys.stderr)
asyncio.run(main())
raise RuntimeError(planted("uncaught"))
