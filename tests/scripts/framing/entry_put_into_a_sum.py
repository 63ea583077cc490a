# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.22.0"]
# ///
"""An entry of a result's usage is put into a sum of the script's own, and changed there."""

import asyncio

from agents import Usage
from scripted import done


async def main():
    result = await done()
    total = Usage()
    total.request_usage_entries.extend(result.context_wrapper.usage.request_usage_entries)
    total.add(Usage())
    for entry in total.request_usage_entries:
        entry.input_tokens = 999
    await done()


asyncio.run(main())
