# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A module of the SDK is another object in sys.modules."""

import asyncio
import sys
import types

import agents.run_context

twin = types.ModuleType("agents.run_context")
vars(twin).update(vars(agents.run_context))
sys.modules["agents.run_context"] = twin
from scripted import paused

asyncio.run(paused())
