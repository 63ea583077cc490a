"""What a check costs in a cold process, and a recording against one bare run of its script.

    python -m tests.benchmarks.first_light [--runs 5]

Prints medians and ratios of processor and wall time; asserts nothing. Unset PYTHONDONTWRITEBYTECODE: it
doubles the import of the SDK. The first recording fills the wheel store and is not counted.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentproof._environment import _lock, _pythons, _venv, _wheels

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bundles" / "sibling-approval" / "reproduction.py"


@dataclass(frozen=True)
class Cost:
    """Seconds of one command with all its children."""

    cpu: float
    wall: float


def cost(command: Sequence[str]) -> Cost:
    """Run `command` once."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall)


def median(command: Sequence[str], runs: int) -> Cost:
    """The median of `runs` runs."""
    costs = [cost(command) for _ in range(runs)]
    return Cost(statistics.median(c.cpu for c in costs), statistics.median(c.wall for c in costs))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        print("PYTHONDONTWRITEBYTECODE is set: the bare run is slower than it has to be")
    own = [sys.executable, "-m", "agentproof"]
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "b.zip"
        record = [*own, "record", str(SCRIPT), "--output", str(archive), "--replace", "--quiet"]
        cost(record)
        help_, check = (
            median([*own, "--help"], runs),
            median([*own, "check-current-bundle", str(archive)], runs),
        )
        recorded = median(record, runs)
    store = _wheels.default_store()
    lock = _lock.lock(
        requirement="openai-agents==0.20.0", interpreter=_pythons.find(None), store=store, offline=True
    )
    with _venv.prepare(lock, store) as environment:
        prefix = environment.pycache_prefix
        bare = median([str(environment.python), "-X", f"pycache_prefix={prefix}", str(SCRIPT)], runs)
    for name, each in (("--help", help_), ("check", check), ("bare run", bare), ("record", recorded)):
        print(f"{name:<10} {each.cpu:7.3f} s CPU {each.wall:7.3f} s wall")
    print(f"record / bare run: {recorded.wall / bare.wall:.2f} of wall, {recorded.cpu / bare.cpu:.2f} of CPU")


if __name__ == "__main__":
    main()
