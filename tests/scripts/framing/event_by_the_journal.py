# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""The recorder's journal is asked to write an event."""

import sys

from scripted import paused

journal = sys.modules["_agentproof_recorder.events"].journal()
journal.emit("probe.checked", {"label": "x", "passed": False})
