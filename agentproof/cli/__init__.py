"""The command line: parse, call one library function, render its result, exit.

stdout is the result, stderr the story. Commands import what they need when they run, so that
`--help` stays fast. Exit codes are `agentproof.errors.Exit`, and 128 and its number for a signal.
"""

import atexit
import gc
import os
import sys
from typing import NoReturn

from ..system.signals import end_at_once
from .group import cli

__all__ = ["cli", "main"]


def main() -> NoReturn:
    """The entry point of the console script."""
    end_at_once()
    # Imports make many objects that stay; looking through them again and again is a tenth of a check.
    gc.set_threshold(100_000, 20, 100)
    # Nor is there any use in freeing them one by one at the end. What is registered first comes last.
    ending: list[int] = []
    atexit.register(_leave, ending)
    # A pipe or an old Windows console may not take the tool's few letters beyond ASCII.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    # None leaves it to click, which colours a terminal only (https://no-color.org).
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    try:
        cli(prog_name="agentproof", color=False if plain else None)
        sys.exit(0)
    except SystemExit as end:
        if isinstance(end.code, int):
            ending.append(end.code)
        raise


def _leave(ending: list[int]) -> None:
    """End the process at once: threads have ended, and whoever registered something has been called."""
    gc.freeze()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return  # the interpreter tries again, and says what is wrong
    if ending:
        os._exit(ending[0])
