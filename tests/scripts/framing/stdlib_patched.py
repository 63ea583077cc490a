# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A function of the standard library that the SDK calls is the script's."""

import asyncio
import copy

from scripted import paused

copy.copy = lambda item: item
copy.deepcopy = lambda item, memo=None: item
asyncio.run(paused())
