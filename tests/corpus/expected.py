"""What a reporter of each case would say should have happened, as one option, and what comes of it on both
releases.

    python -m tests.corpus.expected [NAME…] [--folder DIR] [--story]

The option is made from what the case says was printed on the repaired release: the first part of that line
which the buggy release does not print. Nothing of the case is told to the tool but the script and that
option.
"""

import argparse
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentproof.errors import AgentproofError
from agentproof.models.expectations import Expectations, from_options
from agentproof.models.manifest import Judgement
from agentproof.record.conditions import Conditions
from agentproof.record.progress import Silent
from agentproof.record.recording import record
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import select
from agentproof.record.target import parse_target
from agentproof.trust import signing

from .recordings import CASES, PYTEST, Case, cases, judged

_BY_HAND = {
    # Still so on the newest release, so that no repaired one prints what should be.
    "sibling-interruptions-emptied": ("should-print", '"after": 1'),
    # Tests say themselves what should happen.
    "pytest-tool-changes-callers-schema": ("should-not-raise", ""),
    "nested-handoff-input-list-mixed": ("should-not-print", '"told_twice": ["c1", "h1"]'),
    "upgrade-destroys-history": ("should-not-print", '"left_in_database": []'),
}

_PRINTED = frozenset({"script.wrote", "script.ended"})


def natural(case: Case) -> tuple[str, str]:
    """The option's name, and its text."""
    if case.name in _BY_HAND:
        return _BY_HAND[case.name]
    buggy, fixed = (case.facts.get(name) for name in ("observed_buggy", "observed_fixed"))
    if fixed is None:
        return "should-not-print", next(_fragments(buggy, None))
    elsewhere = _line(buggy)
    for fragment in _fragments(fixed, buggy):
        if fragment not in elsewhere:
            return "should-print", fragment
    missing = next(each for each in _fragments(buggy, fixed) if each not in _line(fixed))
    return "should-not-print", missing


def _line(value: Any) -> str:  # Any: what a case prints
    return value if isinstance(value, str) else json.dumps(value)


def _fragments(mine: Any, other: Any) -> Iterator[str]:  # Any: what a case prints
    """Parts of a printed line that the other one may not hold, the smallest of the first key first."""
    if isinstance(mine, dict):
        known = other if isinstance(other, dict) else {}
        for key, value in mine.items():
            if key in known and known[key] == value:
                continue
            if isinstance(value, dict):
                yield from _fragments(value, known.get(key))
            yield f"{json.dumps(key)}: {json.dumps(value)}"
    yield _line(mine)


def row(case: Case, key: signing.PrivateKey, *, story: bool = False) -> str:
    """One line of the table; `story` adds whether what is told differs between the releases,
    apart from what was printed."""
    name, text = natural(case)
    expected: Expectations = from_options([(name, [text] if text else True)])
    versions = (case.buggy, case.fixed)
    both = [("-", "") if version is None else _seen(case, version, expected, key) for version in versions]
    seen = [verdict for verdict, _ in both]
    option = f"`--{name} {shlex.quote(text)}`" if text else f"`--{name}`"
    option = option.replace("|", "\\|")
    told = "yes" if seen[0].startswith("violated") and not seen[1].startswith("violated") else "NO"
    line = f"| {case.name} | {option} | {case.buggy}: {seen[0]} | {case.fixed}: {seen[1]} | {told} |"
    return f"{line} {'yes' if len({found for _, found in both}) == 2 else 'NO'} |" if story else line


def _seen(case: Case, version: str, expected: Expectations, key: signing.PrivateKey) -> tuple[str, str]:
    """The verdict in words, and the story without what was printed."""
    script = case.script if case.script.exists() else next(case.script.parent.glob("test_*.py"))
    reproduction = read_reproduction(select(str(script)))
    conditions = Conditions(
        python=case.facts.get("python"),
        requires=PYTEST if reproduction.tests else (),
        expectations=expected,
        repeats=1,
    )
    try:
        recorded = record(reproduction, parse_target(version), conditions, key=key, progress=Silent())
    except AgentproofError as error:
        return f"not recorded ({error.message[:80]})", ""
    recording = judged(script, version, recorded)
    told = [
        (mode, event.words())
        for mode, trace in recording.traces.items()
        for event in trace.events
        if event.kind not in _PRINTED
    ]
    return _verdict(recorded.document.judgement), repr(told)


def _verdict(judgement: Judgement) -> str:
    ours = [claim for claim in judgement.claims if claim.id.startswith("should-")]
    modes = [claim.mode[0] for claim in ours if claim.status == "violated"]
    own = {claim.id for claim in ours}
    others = sorted({claim.id for claim in judgement.claims if claim.status == "violated"} - own)
    if others and not modes and any(claim.status == "holds" for claim in ours):
        return f"as it should ({', '.join(others)} is violated)"
    reasons = f" ({', '.join(judgement.reasons)})" if judgement.reasons else ""
    return f"violated ({''.join(modes)})" if modes else f"{judgement.verdict}{reasons}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=Path, action="append")
    parser.add_argument("--story", action="store_true", help="say whether the story differs")
    parser.add_argument("--options", action="store_true", help="print the options alone")
    given = parser.parse_args()
    key = signing.generate_key()
    for case in cases(*(given.folder or CASES), only=given.names):
        if given.options:
            print(case.name, *natural(case))
        else:
            print(row(case, key, story=given.story), flush=True)


if __name__ == "__main__":
    main()
