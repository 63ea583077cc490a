# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""Code that is compiled under the SDK's file name drops a coroutine."""

import asyncio
import gc

import agents.run
from scripted import done

text = "async def approve_payment(): pass\ndef f():\n    approve_payment()\n    return 1\nf()\n"
exec(compile("\n" * 700 + text, agents.run.__file__, "exec"), {})
gc.collect()
asyncio.run(done())
