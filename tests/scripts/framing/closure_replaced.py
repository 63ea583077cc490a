# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""What a decorator keeps in its closure of the SDK's functions is another function."""

import asyncio
import sys
import types

from scripted import paused


def other(*args, **kwargs):
    return "other"


def cells():
    for name, module in list(sys.modules.items()):
        if name.startswith("agents"):
            for owner in [module, *(item for item in vars(module).values() if isinstance(item, type))]:
                for item in list(vars(owner).values()):
                    if isinstance(item, types.FunctionType):
                        yield from item.__closure__ or ()


for cell in list(cells()):
    content = getattr(cell, "cell_contents", None)
    if isinstance(content, types.FunctionType) and content.__name__ == "__repr__":
        cell.cell_contents = other
asyncio.run(paused())
