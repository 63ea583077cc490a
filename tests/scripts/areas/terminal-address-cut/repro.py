# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents[blaxel]==0.19.4"]
# ///
"""A workspace in a folder with '#' in its name opens the terminal somewhere else."""
import json
from urllib.parse import parse_qs, urlsplit

from agents.extensions.sandbox.blaxel.sandbox import _build_ws_url

url = _build_ws_url(
    sandbox_url="https://box.invalid", token="t", session_id="s1", cwd="/work/a&rows=1#b"
)
print(json.dumps({"asked": parse_qs(urlsplit(url).query)}))
