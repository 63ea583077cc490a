# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A module of a dependency is made by the script."""

import asyncio
import sys
import types

import griffe

twin = types.ModuleType("griffe")
vars(twin).update(
    {name: item for name, item in vars(griffe).items() if name not in ("__spec__", "__loader__", "__file__")}
)
twin.__spec__ = twin.__loader__ = None
sys.modules["griffe"] = twin
from scripted import paused

asyncio.run(paused())
