"""`python -m tests.benchmarks.bisect_cases`: bisect each real case and hold the answer to its `case.json`.

    python -m tests.benchmarks.bisect_cases CASES                     every case that names a fixed release
    python -m tests.benchmarks.bisect_cases CASES approval            those whose names contain one of these
    python -m tests.benchmarks.bisect_cases CASES --kept found.jsonl  go on where an earlier run stopped

CASES is a folder of `<name>/repro.py` and `<name>/case.json`. The bad end is the last release that shows
the case, the good end the newest release (`--good` names another). The verdict tells good from bad; where
it cannot (the newest release shows something else still), the script's output does. The table, in
Markdown: points, recordings, their bound ⌈log2 n⌉ + 2 for one change, seconds, and what was found. What else
the bad end violates is searched as well, and named in the last column. Exit 1 where no answer is the case's,
or took more recordings than the bound.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from agentproof.compare import comparison
from agentproof.compare.bisect import bisect_releases
from agentproof.compare.search import BisectionResult, Question
from agentproof.compare.subjects import find_subjects
from agentproof.errors import AgentproofError, UsageError
from agentproof.record.conditions import Conditions
from agentproof.trust import signing


@dataclass(frozen=True)
class Answer:
    """What a bisection of a case came to."""

    case: str
    bad: str
    named: str
    """The first fixed release by case.json."""
    by: str
    points: int
    recordings: int
    skipped: int
    seconds: float
    last_bad: str
    first_fixed: str
    others: str = ""
    """What else the bad end violates, with where that is fixed."""
    changes: int = 1

    @property
    def bound(self) -> int:
        """The recordings that one change among this many points may take, those for skipped ones aside."""
        return math.ceil(math.log2(self.points)) + 2

    @property
    def is_right(self) -> bool:
        """Whether it is what case.json says, within the bound."""
        agrees = (self.last_bad, self.first_fixed) == (self.bad, self.named)
        more = (self.changes - 1) * (self.bound - 2)
        return agrees and self.recordings <= self.bound + self.skipped + more


class _Progress:
    """Tells the steps to stderr."""

    def working(self, text: str) -> None:
        """Nothing: it would be every second."""

    def done(self, label: str, text: str) -> None:
        print(f"    {label:<10} {text}", file=sys.stderr, flush=True)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bisect_cases")
    parser.add_argument("cases", type=Path)
    parser.add_argument("only", nargs="*", help="texts that a case's name contains")
    parser.add_argument("--good", default="0.24.0", metavar="VERSION")
    parser.add_argument("--python", help="the Python to record on")
    parser.add_argument("--kept", type=Path, help="a file of answers; what it holds is not searched again")
    options = parser.parse_args()
    recorder = comparison.Recorder(
        Conditions(python=options.python), key=signing.generate_key(), progress=_Progress()
    )
    kept = {answer.case: answer for answer in _read(options.kept)}
    wrong = 0
    print("| case | told by | releases | recordings | bound | seconds | last bad | first fixed | as named |")
    print("|---|---|---|---|---|---|---|---|---|")
    for folder in sorted(options.cases.iterdir()):
        if options.only and not any(text in folder.name for text in options.only):
            continue
        facts = folder / "case.json"
        case = json.loads(facts.read_bytes()) if facts.exists() else {}
        if not case.get("fixed"):
            continue
        answer = kept.get(folder.name)
        if answer is None:
            try:
                answer = _answer(folder, case, good=options.good, recorder=recorder)
            except AgentproofError as error:
                print(f"| {folder.name} | failed: {error.message} |", flush=True)
                wrong += 1
                continue
            if options.kept is not None:
                with options.kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(answer)) + "\n")
        wrong += not answer.is_right
        print(_line(answer), flush=True)
    return 1 if wrong else 0


def _read(path: Path | None) -> Iterator[Answer]:
    if path is not None and path.exists():
        for line in path.read_text("utf-8").splitlines():
            yield Answer(**json.loads(line))


def _line(answer: Answer) -> str:
    skipped = f" ({answer.skipped} skipped)" if answer.skipped else ""
    right = ("yes" if answer.is_right else f"NO: {answer.named}") + answer.others
    return (
        f"| {answer.case} | {answer.by} | {answer.points} | {answer.recordings}{skipped} | {answer.bound} | "
        f"{answer.seconds:.0f} | {answer.last_bad} | {answer.first_fixed} | {right} |"
    )


def _answer(folder: Path, case: dict[str, str], *, good: str, recorder: comparison.Recorder) -> Answer:
    started = time.monotonic()
    by, found = _bisected(folder / "repro.py", case["buggy"], good, recorder)
    named = (case["buggy"], case["fixed"])
    answers = {(change.last.name, change.first.name): change for change in found.changes}
    change = answers.pop(named, None) or answers.pop(next(iter(answers)))
    others = "".join(f"; {', '.join(each.claims)}: {each.first.name}" for each in answers.values())
    return Answer(
        case=folder.name,
        bad=case["buggy"],
        named=case["fixed"],
        by=by,
        points=change.points,
        recordings=found.recordings,
        skipped=sum(probe.state == "skipped" for probe in found.probes),
        seconds=round(time.monotonic() - started, 1),
        last_bad=change.last.name,
        first_fixed=change.first.name,
        others=others,
        changes=len(found.changes),
    )


def _bisected(
    script: Path, bad: str, good: str, recorder: comparison.Recorder
) -> tuple[str, BisectionResult]:
    """What tells good from bad, and the answer."""
    (subject,) = find_subjects(script)
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
