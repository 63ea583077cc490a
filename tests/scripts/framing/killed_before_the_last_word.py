# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A method is patched, and the process kills itself."""

import asyncio
import os
import signal

from agents import RunContextWrapper
from scripted import paused

RunContextWrapper.get_approval_status = lambda *args, **kwargs: True
RunContextWrapper.is_tool_approved = lambda *args, **kwargs: True
asyncio.run(paused())
os.kill(os.getpid(), signal.SIGKILL)
