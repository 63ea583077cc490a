# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A state is written in a finalizer of the script's own."""

import asyncio

from scripted import paused


class Last:
    def __init__(self, state):
        self.state = state

    def __del__(self):
        setattr(self.state, "_current" + "_turn", 7)


async def main():
    result = await paused()
    first, second = result.to_state(), result.to_state()
    last = Last(second)
    first.approve(first.get_interruptions()[0])
    del last
    second.to_json()


asyncio.run(main())
