# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A state's dictionary is updated."""

import asyncio

from scripted import paused


async def main():
    result = await paused()
    first, second = result.to_state(), result.to_state()
    first.approve(first.get_interruptions()[0])
    second.__dict__.update({"".join(["_current", "_turn"]): 7})
    second.to_json()


asyncio.run(main())
