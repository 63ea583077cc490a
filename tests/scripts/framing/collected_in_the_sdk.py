# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A coroutine in a cycle is left to the collector, which comes by in the SDK."""

import asyncio
import gc

from scripted import paused


class Cycle:
    pass


async def approve_payment():
    pass


def leave():
    cycle = Cycle()
    cycle.self, cycle.coroutine = cycle, approve_payment()


for _ in range(5):
    leave()
gc.set_threshold(1)
asyncio.run(paused())
