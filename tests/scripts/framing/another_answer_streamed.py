# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""The model answers something else when it is streamed."""

import asyncio

from agents import Agent, Runner
from scripted import Scripted, answer, call, look


class Other(Scripted):
    async def stream_response(self, *args, **kwargs):
        async for event in Scripted(answer("No.")).stream_response():
            yield event


asyncio.run(Runner.run(Agent(name="clerk", model=Other(call(name="look"), answer()), tools=[look]), "Look."))
