"""`python -m tests.benchmarks.replays`: replay every bundle below a directory, each on several Pythons.

    python -m tests.benchmarks.replays bundles/ --python 3.11 --python 3.12
    python -m tests.benchmarks.replays bundles/ --python 3.11 --kept replays.jsonl    go on where one stopped
    python -m tests.benchmarks.replays bundles/ --python 3.14 --only sibling

The table, in Markdown: bundle, Python, whether its evidence was seen there too, how the environment differs
from the recorded one, and seconds. What differs, or cannot be replayed there, is told on stderr. Exit 1
where anything does.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from agentproof.bundle.store import find_bundles, shelf_of
from agentproof.check.bundle import Reader, check_path
from agentproof.errors import AgentproofError
from agentproof.record import replay
from agentproof.record.conditions import Conditions
from agentproof.record.progress import Silent
from agentproof.render.console_comparison import render_replayed


@dataclass(frozen=True)
class Answer:
    """What a replay of a bundle on one Python came to."""

    bundle: str
    bundle_id: str
    asked: str
    """The Python, as it was asked for."""
    came: str
    """`same`, `DIFFERENT`, or why it could not be replayed."""
    evidence: str
    environment: tuple[str, ...]
    seconds: float


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.replays")
    parser.add_argument("bundles", type=Path)
    parser.add_argument("--python", action="append", required=True, metavar="VERSION")
    parser.add_argument("--only", default="", help="a text that a bundle's path contains")
    parser.add_argument("--kept", type=Path, help="a file of answers; what it holds is not replayed again")
    options = parser.parse_args()
    kept = {(each.bundle_id, each.asked): each for each in _read(options.kept)}
    wrong = 0
    print("| bundle | Python | evidence | seen | environment | seconds |")
    print("|---|---|---|---|---|---|")
    for place in find_bundles(options.bundles):
        if options.only not in str(place):
            continue
        for python in options.python:
            answer = _answer(place, python, kept, options.kept)
            wrong += answer.came != "same"
            print(_line(answer), flush=True)
    return 1 if wrong else 0


def _read(path: Path | None) -> Iterator[Answer]:
    if path is not None and path.exists():
        for line in path.read_text("utf-8").splitlines():
            found = json.loads(line)
            yield Answer(**found | {"environment": tuple(found["environment"])})


def _answer(place: Path, python: str, kept: dict[tuple[str, str], Answer], file: Path | None) -> Answer:
    checked = check_path(place, reader=Reader(), wheels=shelf_of(place))
    found = kept.get((checked.report.bundle_id or "", python))
    if found is not None:
        return found
    started = time.monotonic()
    name = "/".join(place.absolute().parts[-2:])
    environment: tuple[str, ...] = ()
    try:
        replayed = replay.replay(checked, conditions=Conditions(python=python), progress=Silent())
    except AgentproofError as error:
        came = error.message
    else:
        came, environment = "same" if replayed.is_same else "DIFFERENT", replayed.environment
        if not replayed.is_same:
            print(f"{name} on {python}", file=sys.stderr)
            for line in render_replayed(replayed, signer=None, written=None):
                print(line, file=sys.stderr, flush=True)
    answer = Answer(
        bundle=name,
        bundle_id=checked.report.bundle_id or "",
        asked=python,
        came=came,
        evidence=(checked.report.evidence_id or "")[:16],
        environment=environment,
        seconds=round(time.monotonic() - started, 1),
    )
    if file is not None and came in ("same", "DIFFERENT"):
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(answer)) + "\n")
    return answer


def _line(answer: Answer) -> str:
    environment = "; ".join(answer.environment) or "as recorded"
    return (
        f"| {answer.bundle} | {answer.asked} | {answer.evidence} | {answer.came} | {environment} | "
        f"{answer.seconds:.0f} |"
    )


if __name__ == "__main__":
    sys.exit(main())
