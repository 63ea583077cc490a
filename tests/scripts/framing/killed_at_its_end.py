# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""A function of the standard library is replaced, and the script kills itself after it has come to its end."""

import asyncio
import atexit
import copy
import os
import signal

from scripted import paused

atexit.register(lambda: os.kill(os.getpid(), signal.SIGKILL))
copy.deepcopy = lambda item, memo=None: item
asyncio.run(paused())
