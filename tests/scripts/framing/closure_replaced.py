# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""What a decorator of the SDK's keeps in its closure is another function."""

import asyncio
import inspect
import sys

from scripted import paused

for name, module in list(sys.modules.items()):
    if not name.startswith("agents"):
        continue
    for owner in [module, *(item for item in list(vars(module).values()) if isinstance(item, type))]:
        for item in list(vars(owner).values()):
            for cell in getattr(item, "__closure__", None) or ():
                if inspect.isfunction(cell.cell_contents) and cell.cell_contents.__module__.startswith(
                    "agents"
                ):
                    original = cell.cell_contents
                    cell.cell_contents = lambda *args, **kwargs: original(*args, **kwargs)
                    break
asyncio.run(paused())
