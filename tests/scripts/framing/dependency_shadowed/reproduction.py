# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A module beside the script has the name of a dependency of the SDK's."""

import asyncio

from scripted import paused

asyncio.run(paused())
