"""What the recorder costs a script: each case of the corpus with it and without it, in one ready environment.

    python -m tests.benchmarks.corpus_cost [--runs 3] [--python 3.12] [CASE …]

Recorded in one process and one mode, as written, without isolation; the bare run is `python script.py` in the
same environment. The two are run by turns, since a busy machine gets slower and faster, and each pair gives
one ratio. Prints the median ratio of each case, of wall time and of CPU, and the median over all cases.
"""

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentproof.environment import interpreters, locking, venv, wheel_store
from tests.corpus.recordings import CASES, Case, cases
from tests.unit.recorder.driver import bare, record


@dataclass(frozen=True)
class Cost:
    """Seconds of one run with all its children."""

    wall: float
    cpu: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.corpus_cost")
    parser.add_argument("only", nargs="*", help="texts that a case's name contains")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--python")
    options = parser.parse_args()
    walls: list[float] = []
    cpus: list[float] = []
    print(f"{'case':<42} {'release':<8} {'bare':>7} {'recorded':>9}  ratio of wall, of CPU")
    for case in cases(CASES[0], only=options.only):
        pairs = measure(case, runs=options.runs, python=options.python)
        wall, cpu = (
            statistics.median(getattr(after, name) / getattr(before, name) for before, after in pairs)
            for name in ("wall", "cpu")
        )
        walls.append(wall)
        cpus.append(cpu)
        before, after = (statistics.median(one.wall for one in side) for side in zip(*pairs, strict=True))
        print(
            f"{case.name:<42} {case.buggy:<8} {before:6.2f}s {after:8.2f}s  {wall:5.2f} {cpu:11.2f}",
            flush=True,
        )
    print(f"median of {len(walls)} cases: {statistics.median(walls):.2f} of wall time, ", end="")
    print(f"{statistics.median(cpus):.2f} of CPU")


def measure(case: Case, *, runs: int, python: str | None) -> list[tuple[Cost, Cost]]:
    """Pairs of a bare run and a recorded one; the first pair fills the caches and is not counted."""
    store = wheel_store.default_store()
    lock = locking.lock(
        requirement=f"openai-agents=={case.buggy}", interpreter=interpreters.find(python), store=store
    )
    with venv.prepare(lock, store) as environment, tempfile.TemporaryDirectory() as scratch:
        python_path, cache = environment.python, environment.pycache_prefix

        def once(number: int) -> tuple[Cost, Cost]:
            work = Path(scratch) / str(number)
            return (
                cost(lambda: bare(case.script, work / "bare", python=python_path, cache=cache)),
                cost(
                    lambda: record(
                        case.script,
                        work / "recorded",
                        python=python_path,
                        cache=cache,
                        site_packages=environment.site_packages,
                        network="namespace",
                    )
                ),
            )

        return [once(number) for number in range(runs + 1)][1:]


def cost(run: Callable[[], object]) -> Cost:
    """Run it once."""
    used, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run()
    wall, now = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)


if __name__ == "__main__":
    main()
