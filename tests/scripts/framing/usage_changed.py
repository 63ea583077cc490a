# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""The usage of a result is changed."""

import asyncio

from scripted import done


async def main():
    result = await done()
    result.context_wrapper.usage.requests += 5
    result.context_wrapper.usage.input_tokens = 0
    await done()


asyncio.run(main())
