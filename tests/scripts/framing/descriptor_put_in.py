# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""An attribute of a class becomes a descriptor of the script's."""

import asyncio

from agents import RunState
from scripted import paused


class Seven:
    def __get__(self, item, owner=None):
        return 7

    def __set__(self, item, value):
        pass


RunState._current_turn = Seven()


async def main():
    state = (await paused()).to_state()
    state.to_json()


asyncio.run(main())
