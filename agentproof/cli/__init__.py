"""The command line: parse, call one library function, render its result, exit.

stdout is the result, stderr the story. Commands import what they need when they run, so that
`--help` stays fast. Exit codes are `agentproof.errors.Exit`.
"""

import gc
import os
import sys
from typing import NoReturn

from ._group import cli

__all__ = ["cli", "main"]


def main() -> NoReturn:
    """The entry point of the console script."""
    # Imports make many objects that stay; looking through them again and again is a tenth of a check.
    gc.set_threshold(100_000, 20, 100)
    # A plugin that happens to be installed here must not take part in what is validated; and the search
    # for one costs 12 ms.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    # A pipe or an old Windows console may not take the tool's few letters beyond ASCII.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    cli(prog_name="agentproof")
    sys.exit(0)
