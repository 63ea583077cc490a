# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A module of the SDK is there before the SDK is imported."""

import sys
import types

twin = types.ModuleType("agents._debug")
twin.DONT_LOG_MODEL_DATA = twin.DONT_LOG_TOOL_DATA = False
twin.__getattr__ = lambda name: lambda *args, **kwargs: False
sys.modules["agents._debug"] = twin
import asyncio

from scripted import paused

asyncio.run(paused())
