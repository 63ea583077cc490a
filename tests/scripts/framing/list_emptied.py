# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""The list of a result's items is emptied."""

import asyncio

from scripted import done, paused


async def main():
    result = await done()
    result.new_items.clear()
    (await paused()).to_state()


asyncio.run(main())
