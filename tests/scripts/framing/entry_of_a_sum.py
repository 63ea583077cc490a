# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.22.0"]
# ///
"""A sum of the script's own is changed, whose entries the SDK shares with the result."""

import asyncio

from agents import Usage
from scripted import done


async def main():
    result = await done()
    total = Usage()
    total.add(result.context_wrapper.usage)
    for entry in total.request_usage_entries:
        entry.input_tokens = 999
    await done()


asyncio.run(main())
