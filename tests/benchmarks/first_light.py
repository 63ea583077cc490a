"""What a check costs in a cold process, and a recording against one bare run of its script.

    python -m tests.benchmarks.first_light [--runs 5]

Prints medians and ratios of processor and wall time, measured in turn, and where the wall time of a
recording goes; asserts nothing. Unset PYTHONDONTWRITEBYTECODE: it doubles the import of the SDK. The first
recording fills the wheel store and is not counted.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentproof.environment import interpreters, locking, venv, wheel_store
from agentproof.environment.venv import PreparedEnvironment

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bundles" / "sibling-approval" / "reproduction.py"
OWN = [sys.executable, "-m", "agentproof"]


@dataclass(frozen=True)
class Cost:
    """Seconds of some commands side by side, with all their children."""

    cpu: float
    wall: float


def cost(*commands: Sequence[str]) -> Cost:
    """Run commands side by side, once."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": ROOT}
    running = [subprocess.Popen(command, **silent) for command in commands]  # type: ignore[call-overload]
    for process in running:
        _, said = process.communicate()
        if process.returncode != 0:
            raise SystemExit(said.decode("utf-8", "replace"))
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


PHASES = """
import sys, time
started = time.perf_counter()
class Clock:
    def working(self, text): pass
    def done(self, label, text):
        print(label, time.perf_counter() - started, flush=True)
from pathlib import Path
from agentproof.record import recording
from agentproof.record.conditions import Conditions
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import select
from agentproof.render import console
from agentproof.trust import agent, keyring
clock = Clock()
key, _, _ = keyring.default_key()
reproduction = read_reproduction(select(sys.argv[1]))
clock.done("imports", "")
bundle = recording.record(reproduction, None, Conditions(), key=key, progress=clock)
recording.write(bundle, reproduction, output=Path(sys.argv[2]), replace=True)
clock.done("written", "")
"""
STEPS = {
    "imports": "our own imports",
    "locked": "lock from the cache, wheels hashed",
    "built": "venv built and compared with RECORD",
    "isolated": "two processes: import, two modes each",
    "ran": "canonical traces, repeats compared, judged",
    "written": "secrets looked for, signed, written",
}
"""What comes to its end with each line of the story."""


def phases(output: Path) -> dict[str, float]:
    """Seconds of each step of one recording."""
    said = subprocess.run(
        [sys.executable, "-c", PHASES, str(SCRIPT), str(output)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    found: dict[str, float] = {}
    before = 0.0
    for line in said.stdout.splitlines():
        label, _, moment = line.rpartition(" ")
        if label in STEPS:
            found[label] = float(moment) - before
            before = float(moment)
    return found


def measure(environment: PreparedEnvironment, archive: Path, runs: int) -> dict[str, list[Cost]]:
    """Everything in turn, so that what else the machine does falls on all alike."""
    python = [str(environment.python), "-X", f"pycache_prefix={environment.pycache_prefix}"]
    bare, sdk = [*python, str(SCRIPT)], [*python, "-c", "import agents"]
    record = [*OWN, "record", str(SCRIPT), "--output", str(archive), "--replace", "--quiet"]
    jobs: dict[str, Callable[[], Cost]] = {
        "--help": lambda: cost([*OWN, "--help"]),
        "check": lambda: cost([*OWN, "check-current-bundle", str(archive), "--allow-intact"]),
        "import": lambda: cost(sdk),
        "2 imports": lambda: cost(sdk, sdk),
        "bare run": lambda: cost(bare),
        "2 bare runs": lambda: cost(bare, bare),
        "record": lambda: cost(record),
    }
    found: dict[str, list[Cost]] = {name: [] for name in jobs}
    for _ in range(runs):
        for name, job in jobs.items():
            found[name].append(job())
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        print("PYTHONDONTWRITEBYTECODE is set: the bare run is slower than it has to be")
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "b.zip"
        cost([*OWN, "record", str(SCRIPT), "--output", str(archive), "--replace", "--quiet"])
        store, python = wheel_store.default_store(), interpreters.find(None)
        lock = locking.lock(
            requirement="openai-agents==0.20.0", interpreter=python, store=store, offline=True
        )
        with venv.prepare(lock, store) as environment:
            found = measure(environment, archive, runs)
        steps = [phases(archive) for _ in range(runs)]
    wall = {name: statistics.median(cost.wall for cost in costs) for name, costs in found.items()}
    cpu = {name: statistics.median(cost.cpu for cost in costs) for name, costs in found.items()}
    for name in found:
        print(f"{name:<12} {cpu[name]:7.3f} s CPU {wall[name]:7.3f} s wall")
    bare_wall, bare_cpu = wall["bare run"], cpu["bare run"]
    print(f"2 imports / 1: {wall['2 imports'] / wall['import']:.2f} of wall (a recording makes two)")
    print(f"2 bare runs / 1: {wall['2 bare runs'] / bare_wall:.2f} of wall")
    print(
        f"record / bare run: {wall['record'] / bare_wall:.2f} of wall, {cpu['record'] / bare_cpu:.2f} of CPU"
    )
    for name, what in STEPS.items():
        print(f"  {statistics.median(step[name] for step in steps):7.3f} s wall  {what}")


if __name__ == "__main__":
    main()
