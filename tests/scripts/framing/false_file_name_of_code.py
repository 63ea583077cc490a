# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A function's code is given the SDK's file name, and drops a coroutine."""

import asyncio

import agents.run
from scripted import done


async def approve_payment():
    pass


def drop():
    approve_payment()


drop.__code__ = drop.__code__.replace(co_filename=agents.run.__file__)
drop()
asyncio.run(done())
