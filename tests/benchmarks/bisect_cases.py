"""`python -m tests.benchmarks.bisect_cases`: bisect each real case and hold the answer to its `case.json`.

    python -m tests.benchmarks.bisect_cases CASES              every case that names a fixed release
    python -m tests.benchmarks.bisect_cases CASES approval     those whose names contain one of these

CASES is a folder of `<name>/repro.py` and `<name>/case.json`. The bad end is the last release that shows
the case, the good end the newest release (`--good` names another). The verdict tells good from bad; where
it cannot (the newest release shows something else still), the script's output does. Printed for each case:
points, recordings, their bound ⌈log2 n⌉ + 2, seconds, and whether the first fixed release is the named one.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

from agentproof import compare, signing
from agentproof.bisect import Bisected, Question, bisect_releases
from agentproof.errors import AgentproofError, UsageError


class _Quiet:
    """Tells nobody about the steps."""

    def working(self, text: str) -> None:
        """Nothing."""

    def done(self, label: str, text: str) -> None:
        """Nothing."""


def main() -> int:
    """Run the command; exit 1 where an answer is another one than the case's."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bisect_cases")
    parser.add_argument("cases", type=Path)
    parser.add_argument("only", nargs="*", help="texts that a case's name contains")
    parser.add_argument("--good", default="0.24.0", metavar="VERSION")
    parser.add_argument("--python", help="the Python to record on")
    options = parser.parse_args()
    recorder = compare.Recorder(
        compare.Options(python=options.python), key=signing.generate_key(), story=_Quiet()
    )
    wrong = 0
    print(f"{'case':<40} {'by':<8} {'points':>6} {'recordings':>10} {'bound':>5} {'seconds':>8}  first fixed")
    for folder in sorted(options.cases.iterdir()):
        if options.only and not any(text in folder.name for text in options.only):
            continue
        case = json.loads((folder / "case.json").read_bytes()) if (folder / "case.json").exists() else {}
        if not case.get("fixed"):
            continue
        started = time.monotonic()
        try:
            by, found = _bisected(folder / "repro.py", case["buggy"], options.good, recorder)
        except AgentproofError as error:
            print(f"{folder.name:<40} failed: {error.message}", flush=True)
            wrong += 1
            continue
        (change,) = found.changes
        bound = math.ceil(math.log2(change.points)) + 2
        agrees = (change.last.name, change.first.name) == (case["buggy"], case["fixed"])
        wrong += not agrees or (found.recordings > bound and not change.skipped)
        said = change.first.name if agrees else f"{change.first.name}, not {case['fixed']}"
        seconds = time.monotonic() - started
        print(
            f"{folder.name:<40} {by:<8} {change.points:>6} {found.recordings:>10} {bound:>5} "
            f"{seconds:>8.0f}  {said}",
            flush=True,
        )
    return 1 if wrong else 0


def _bisected(script: Path, bad: str, good: str, recorder: compare.Recorder) -> tuple[str, Bisected]:
    """What tells good from bad, and the answer."""
    (subject,) = compare.find_subjects(script)
    try:
        return "verdict", bisect_releases(
            subject, good=[good], bad=bad, question=Question(), recorder=recorder
        )
    except UsageError:
        return "output", bisect_releases(
            subject, good=[good], bad=bad, question=Question(by="output"), recorder=recorder
        )


if __name__ == "__main__":
    sys.exit(main())
