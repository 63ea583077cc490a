# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""The warning is given by `warnings`, for a line of the SDK's."""

import asyncio
import warnings

import agents.run
from scripted import done

asyncio.run(done())
text = "coroutine 'approve_payment' was never awaited"
warnings.warn_explicit(text, RuntimeWarning, agents.run.__file__, 812, module="agents.run")
