# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""Events are cut off the recorder's file."""

import asyncio
import os

from scripted import paused

asyncio.run(paused())
output = os.readlink("/proc/self/fd/1")
place = os.path.join(os.path.dirname(output), os.path.basename(output).rpartition(".")[0] + ".jsonl")
with open(place, "rb") as stream:
    lines = stream.readlines()
with open(place, "wb") as stream:
    stream.writelines(lines[:-3])
