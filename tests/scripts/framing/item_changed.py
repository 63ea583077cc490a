# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""The raw item of a result is another one."""

import asyncio

from scripted import paused


async def main():
    result = await paused()
    result.new_items[0].raw_item.arguments = '{"amount": 1}'
    result.to_state()


asyncio.run(main())
