"""The command as a user runs it, and listeners for what is told of its steps in this process."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from agentproof.environment import interpreters
from agentproof.errors import CannotDoError


def agentproof(
    *arguments: str | Path, place: Path | None = None, columns: int | None = None, **settings: Any
) -> subprocess.CompletedProcess[str]:  # Any: settings of subprocess.run
    """Run the command as a user does, standing in `place`, in a terminal of so many columns."""
    command = [sys.executable, "-m", "agentproof", *map(str, arguments)]
    environment = {**os.environ, **({"COLUMNS": str(columns)} if columns is not None else {})}
    known = {"capture_output": True, "text": True, "timeout": 600, "cwd": place, "env": environment}
    return subprocess.run(command, check=False, **{**known, **settings})


def has_python(version: str) -> bool:
    """Whether this machine has that Python."""
    try:
        interpreters.find(version)
    except CannotDoError:
        return False
    return True


class Told:
    """Remembers what it was told of the steps."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def working(self, text: str) -> None:
        """Nothing."""

    def done(self, label: str, text: str) -> None:
        self.lines.append(f"{label} {text}")
