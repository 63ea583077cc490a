"""`python -m tests.corpus.merged DIRECTORY [CASE…]`: smaller scripts, and tests for upstream, of reports.

Each case of `--folder` that has a repaired release is recorded on the release that shows it, made smaller
(`agentproof minimise --good`), recorded again, and made a test (`agentproof test --fixed`); where the smaller
script has no test, the whole one is asked. A case that no rule names is recorded with what its repaired
release prints (`--should-print`). What each step said is kept in DIRECTORY, one JSON a case, and is kept;
`--table` prints the two tables of all that are there.
"""

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.command import agentproof
from tests.corpus.recordings import PYTEST, Case, cases

_ENOUGH = 3600


@dataclass
class Outcome:
    """What the steps of one case came to."""

    case: str
    bad: str
    fixed: str
    kept: str = "-"
    before: int = 0
    after: int = 0
    tried: int = 0
    minutes: float = 0.0
    of: str = "-"
    """Of which script the test was made."""
    asserts: str = "-"
    lines: int = 0
    why: str = ""
    """Why there is no smaller script, or no test."""
    told: dict[str, str] = field(default_factory=dict)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="where what is made is kept")
    parser.add_argument("only", nargs="*", help="names of cases")
    parser.add_argument("--folder", type=Path, help="take the cases from here")
    parser.add_argument("--python", default="3.12", help="the Python to record on")
    parser.add_argument("--runs", default="300", help="smaller scripts that are tried")
    parser.add_argument(
        "--whole", action="store_true", help="make none smaller: tests of the scripts as they are"
    )
    parser.add_argument("--table", action="store_true", help="make nothing, print the tables")
    options = parser.parse_args()
    if not options.table:
        for case in cases(options.folder) if options.folder else cases():
            if case.fixed is not None and (not options.only or case.name in options.only):
                _made(
                    case,
                    options.directory / case.name,
                    options.python,
                    None if options.whole else options.runs,
                )
    _tables([Outcome(**json.loads(path.read_bytes())) for path in sorted(options.directory.glob("*/*.json"))])
    return 0


def _made(case: Case, place: Path, python: str, runs: str | None) -> None:
    kept = place / "outcome.json"
    if kept.exists() or case.fixed is None:
        return
    place.mkdir(parents=True, exist_ok=True)
    out = Outcome(case.name, case.buggy, case.fixed)
    on = ("--sdk", case.buggy, "--python", python)
    script = case.script if case.script.exists() else next(case.script.parent.glob("test_*.py"))
    tests = script != case.script
    extra = [part for each in PYTEST for part in ("--with", each)] if tests else []
    expected: tuple[str, ...] = ()

    def step(name: str, *arguments: str | Path) -> str:
        done = agentproof(*arguments, place=place, timeout=_ENOUGH)
        out.told[name] = f"{done.stdout}\n{done.stderr}\nexit {done.returncode}"
        return out.told[name]

    whole, small = place / "whole.zip", place / "small.zip"
    said = step("record", "record", script, *on, *extra, "--replace", "--output", whole)
    if "VIOLATED:" not in said and not tests:
        expected = ("--should-print", json.dumps(case.facts["observed_fixed"]))
        said = step("record", "record", script, *on, *expected, "--replace", "--output", whole)
    out.before = len(script.read_text("utf-8").splitlines())
    if not tests and runs is not None:
        began = time.monotonic()
        said = step(
            "minimise", "minimise", script, *on, *expected, "--good", case.fixed,
            "--runs", runs, "--replace", "--output", place / "small.py",
        )  # fmt: skip
        out.minutes = (time.monotonic() - began) / 60
        out.kept = _first(r"kept +(.*)", said)
        out.tried = int(_first(r"tried +(\d+)", said).replace("-", "0"))
        if (place / "small.py").exists():
            out.after = len((place / "small.py").read_text("utf-8").splitlines())
            step("record small", "record", place / "small.py", *on, *expected, "--replace", "--output", small)
        else:
            out.why = f"not made smaller: {_error(said)}"
    for bundle in (small, whole):
        if bundle.exists() and not out.lines:
            test = place / f"test_{bundle.stem}.py"
            said = step(
                f"test {bundle.stem}", "test", bundle, "--fixed", case.fixed, "--python", python,
                "--replace", "--output", test,
            )  # fmt: skip
            if test.exists():
                out.of, out.lines = bundle.stem, len(test.read_text("utf-8").splitlines())
                out.asserts = _first(r"asserts +(.*)", said)
            else:
                out.why += f"; {bundle.stem}: {_error(said)}"
    kept.write_text(json.dumps(asdict(out), indent=1), "utf-8")
    print(f"{out.case}: {out.before} → {out.after} lines, {out.tried} tried, {out.minutes:.1f} min; "
          f"test of {out.of}: {out.lines} lines {out.why}", flush=True)  # fmt: skip


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1].strip() if found else "-"


def _error(said: str) -> str:
    return _first(r"(?:error|agentproof)[^:]*: (.*)", said)


def _tables(found: Sequence[Outcome]) -> None:
    print("| case | fails on | passes on | asserts | test of | lines |\n|---|---|---|---|---|---|")
    for each in found:
        row = (each.case, each.bad, each.fixed, each.asserts, each.of, str(each.lines))
        print(f"| {' | '.join(row)} | {each.why}")
    print("\n| case | kept | before | after | tried | minutes |\n|---|---|---|---|---|---|")
    smaller = [each for each in found if each.after]
    for each in smaller:
        numbers = f"{each.before} | {each.after} | {each.tried} | {each.minutes:.1f}"
        print(f"| {each.case} | {each.kept} | {numbers} |")
    if smaller:
        before, after = (statistics.median(getattr(each, n) for each in smaller) for n in ("before", "after"))
        print(f"\nmedian of {len(smaller)}: {before:g} lines before, {after:g} after")


if __name__ == "__main__":
    sys.exit(main())
