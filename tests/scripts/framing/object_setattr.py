# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A state's attribute is written by `object.__setattr__`."""

import asyncio

from scripted import paused


async def main():
    result = await paused()
    first, second = result.to_state(), result.to_state()
    first.approve(first.get_interruptions()[0])
    object.__setattr__(second, "_".join(["", "current", "turn"]), 7)
    second.to_json()


asyncio.run(main())
