# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A line like a warning of Python's is printed."""

import asyncio
import sys

from scripted import done

asyncio.run(done())
place = "<site-packages>/agents/run_internal/tool_execution.py:812"
print(f"{place}: RuntimeWarning: coroutine 'approve_payment' was never awaited", file=sys.stderr)
