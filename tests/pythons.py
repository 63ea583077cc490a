"""`python -m tests.pythons`: the recorder's unit tests on every Python that a recording may use.

    python -m tests.pythons               each of 3.10 to 3.13 that is found here
    python -m tests.pythons --require 3.10 --require 3.13     these must be there

The recorder is for the standard library alone, so each Python gets an environment with nothing but what
the tests themselves need. Exit 1 where a test fails or a required Python is missing.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from agentproof.environment import interpreters

ROOT = Path(__file__).parents[1]
NEEDED = ("pytest", "pydantic")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.pythons", description=__doc__.splitlines()[0])
    parser.add_argument("--require", action="append", default=[], metavar="MINOR", help="must be there")
    options = parser.parse_args()
    found = {each.minor: each for each in interpreters.installed()}
    failed = [f"Python {minor} is not here" for minor in options.require if minor not in found]
    for interpreter in found.values():
        print(f"Python {interpreter.version}", flush=True)
        if _run(interpreter.path):
            failed.append(f"Python {interpreter.version}: tests failed")
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed or not found else 0


def _run(python: Path) -> int:
    needed = [part for name in NEEDED for part in ("--with", name)]
    command = ["uv", "run", "--quiet", "--no-project", "--python", str(python), *needed]
    tests = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/recorder"]
    return subprocess.run([*command, *tests], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
