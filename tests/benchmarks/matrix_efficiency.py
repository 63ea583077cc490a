"""`python -m tests.benchmarks.matrix_efficiency`: how well a matrix uses the processors of this machine.

    python -m tests.benchmarks.matrix_efficiency                 2 workers against 1, on the committed scripts
    python -m tests.benchmarks.matrix_efficiency --workers 4 --rounds 3

The same recordings are made by one worker and by several, alternately, after a first pass that fetches and
unpacks all wheels. A recording runs several processes of its own, so the seconds that one worker takes are
no measure of its work: the work is the processor time of each recording where it has the machine to itself.

    efficiency = processor time of all recordings with one worker / (workers * wall time with so many workers)

It is 1 where every processor works from start to end on nothing but recordings, and recordings do not slow
one another down more than the repeats of one do, which run side by side with one worker and in turn with as
many as there are processors; so it can come out above 1. Other load on the machine
lowers it; the load at the start of each pass is printed.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from agentproof.compare import executors, matrix
from agentproof.compare.subjects import find_subjects
from agentproof.record.conditions import Conditions
from agentproof.record.progress import Silent
from agentproof.record.target import parse_target
from agentproof.trust import signing

ROOT = Path(__file__).parents[2]
CASES = ("sibling-approval", "sibling-rejection", "sibling-interruptions", "result-interruption")
TARGETS = ("0.20.0", "0.21.0", "0.24.0")


def main() -> int:
    """Run the command; exit 1 where something could not be recorded."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.matrix_efficiency")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1, help="passes of each kind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentproof-matrix-") as name:
        base = Path(name)
        # A cache of our own: what was recorded must be recorded again in each pass.
        os.environ["AGENTPROOF_CACHE_DIR"] = str(base / "cache")
        os.environ["AGENTPROOF_CONFIG_DIR"] = str(base / "config")
        if not _pass(base, 1, say="first, not counted"):
            return 1
        alone, together = [], []
        for _ in range(options.rounds):
            alone.append(_pass(base, 1, say=""))
            together.append(_pass(base, options.workers, say=""))
    if None in alone or None in together:
        return 1
    work = statistics.mean(done.processor for done in alone if done)
    wall = statistics.mean(done.seconds for done in together if done)
    single = statistics.mean(done.seconds for done in alone if done)
    print(f"\nprocessor time with one worker  {work:7.1f} s")
    print(f"wall time with one worker       {single:7.1f} s")
    print(
        f"wall time with {options.workers} workers        {wall:7.1f} s   ({single / wall:.2f} times as fast)"
    )
    print(f"efficiency on {options.workers} processors      {work / (options.workers * wall):7.2f}")
    return 0


def _pass(base: Path, workers: int, *, say: str) -> matrix.MatrixResult | None:
    """Make all recordings anew, and print what that took; None where one is missing."""
    shutil.rmtree(base / "cache" / "recordings", ignore_errors=True)
    shutil.rmtree(base / "matrix", ignore_errors=True)
    load = os.getloadavg()[0]
    scripts = [ROOT / "bundles" / case / "reproduction.py" for case in CASES]
    with executors.processes(workers) as pool:
        done = matrix.run_matrix(
            matrix.jobs_of(
                [subject for script in scripts for subject in find_subjects(script)],
                [parse_target(target) for target in TARGETS],
                [None],
                conditions=Conditions(side_by_side=not pool.fills),
                progress=Silent(),
            ),
            make_executor=pool.make,
            workers=pool.workers,
            output=base / "matrix",
            key=signing.generate_key(),
            progress=Silent(),
        )
    missing = [cell.failed for row in done.rows for cell in row.cells if cell.failed]
    print(
        f"{workers} workers: {done.jobs} recordings in {done.seconds:6.1f} s, {done.processor:6.1f} s of "
        f"processor time, load {load:.1f} at the start{f'  ({say})' if say else ''}",
        flush=True,
    )
    for text in missing:
        print(f"  not recorded: {text}", file=sys.stderr)
    return None if missing else done


if __name__ == "__main__":
    sys.exit(main())
