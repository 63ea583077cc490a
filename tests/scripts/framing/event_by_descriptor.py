# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""An event is written through the recorder's own descriptor."""

import json
import os

from scripted import paused

for name in os.listdir("/proc/self/fd"):
    try:
        target = os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        continue
    if target.endswith(".jsonl"):
        event = {
            "n": "0:999",
            "lane": "0:0",
            "after": [],
            "kind": "probe.checked",
            "label": "x",
            "passed": False,
        }
        os.write(int(name), json.dumps(event).encode() + b"\n")
