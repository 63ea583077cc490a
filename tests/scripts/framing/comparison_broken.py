# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A function of the standard library is replaced, and the comparison raises at what stands in `sys.modules`."""

import asyncio
import copy
import sys

from scripted import paused


class Trap:
    def __getattr__(self, name):
        raise ValueError(name)


copy.deepcopy = lambda item, memo=None: item
sys.modules["trap"] = Trap()
asyncio.run(paused())
