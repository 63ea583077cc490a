# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A method is patched while the run goes on, by mock."""

import asyncio
from unittest import mock

from agents import RunContextWrapper
from scripted import paused

with (
    mock.patch.object(RunContextWrapper, "get_approval_status", lambda *args, **kwargs: True),
    mock.patch.object(RunContextWrapper, "is_tool_approved", lambda *args, **kwargs: True),
):
    asyncio.run(paused())
