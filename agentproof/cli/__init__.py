"""The command line: parse, call one library function, render its result, exit.

stdout is the result, stderr the story. Commands import what they need when they run, so that
`--help` stays fast. Exit codes are `agentproof.errors.Exit`.
"""

import sys
from typing import NoReturn

from ._group import cli

__all__ = ["cli", "main"]


def main() -> NoReturn:
    """The entry point of the console script."""
    # A pipe or an old Windows console may not take the tool's few letters beyond ASCII.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    cli(prog_name="agentproof")
    sys.exit(0)
