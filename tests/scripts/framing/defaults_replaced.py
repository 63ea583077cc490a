# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""The default of a parameter of the SDK's is another one."""

import asyncio

from agents import Runner
from agents.run import AgentRunner
from scripted import Scripted, answer, call, look
from agents import Agent

run = AgentRunner.run
while hasattr(run, "__wrapped__"):
    run = run.__wrapped__
from agents import FunctionTool

FunctionTool.__init__.__defaults__ = (*FunctionTool.__init__.__defaults__[:-1], "other")
asyncio.run(
    Runner.run(Agent(name="clerk", model=Scripted(call(name="look"), answer()), tools=[look]), "Look.")
)
