"""Which known bugs does a hunt find by itself on old releases?

    python -m tests.benchmarks.rediscovery --list DIR                    the bugs in reach, by release
    python -m tests.benchmarks.rediscovery --hunt DIR [--on 0.20.0 --seed 1 --minutes 3]
    python -m tests.benchmarks.rediscovery --tell DIR                    a table of found and not found

In reach is what the generator has the ingredients for and an oracle could tell; it was written down before
any hunt was run. A bug counts as found on a release whose own script shows it there, where a program of the
hunt fails on it in the way that the bug would (`Reach.signature`, `Reach.needs`), fails so on the last
release with the bug, and does not on the one that repaired it.
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentproof.hunt.hunting import IMPORTS, features_of
from agentproof.hunt.programs import Program
from agentproof.hunt.search import Hunter, Signature
from agentproof.isolation.forkserver import Source
from agentproof.models.header import Header
from agentproof.record import recording
from agentproof.record.conditions import Conditions
from agentproof.record.reproduction import Reproduction
from agentproof.record.target import parse_target
from agentproof.record.trials import Trials, trials

from ..corpus.recordings import CASES, Case, cases

RELEASES = ("0.8.4", "0.9.0", "0.14.8", "0.19.2", "0.20.0")
SEEDS = (1, 2, 3)
UNSEEN = CASES[0].parent / "unseen"


@dataclass(frozen=True)
class Reach:
    """How a known bug would look in a hunt."""

    signature: str
    """A regular expression for the failure's name."""
    needs: Callable[[Program], bool] = lambda program: True
    """What a program must have so that it can be this bug."""


def _approves_below(program: Program) -> bool:
    return any(each.called_as == "tool" for each in program.agents[1:])


def _deep(program: Program) -> bool:
    return any(program.parent(number) > 0 for number in range(1, len(program.agents)))


def _guards_tools(program: Program) -> bool:
    return any(program.tools[each].before or program.tools[each].after for each in program.used_tools)


def _refuses_output(program: Program) -> bool:
    return any(each.output_guardrail == "trips" for each in program.agents)


REACH = {
    "nested-approval-repeats-after-json": Reach("mode (process|json)", _approves_below),
    "sibling-tool-lost-after-failure": Reach("rule nothing-after-end"),
    "blocked-stream-still-stored": Reach("rule blocked-stays-out|mode stream: .*session", _refuses_output),
    "refusal-runs-out-of-turns": Reach("rule turn-has-cause|rule turns"),
    "guardrails-lost-at-handoff": Reach(
        "rule guardrails-reported",
        lambda each: _guards_tools(each) and any(agent.called_as == "handoff" for agent in each.agents[1:]),
    ),
    "retry-loses-stored-input": Reach(
        "rule result-in-session|mode stream: .*session",
        lambda each: each.session is not None and any(agent.retries for agent in each.agents),
    ),
    "tripwire-without-results": Reach(
        "rule guardrails-reported", lambda each: any(agent.input_guardrail for agent in each.agents)
    ),
    "handoff-reported-as-tool-called": Reach("rule stream-tells-result"),
    "max-turns-output-not-stored": Reach(
        "rule result-in-session|mode stream: .*session",
        lambda each: any(run.has_handler for run in each.runs),
    ),
    "streamed-tool-guardrail-results-missing": Reach(
        "rule guardrails-reported|mode stream: .*guardrails", _guards_tools
    ),
    "blocked-stream-forgets-tool": Reach(
        "rule (stream-parity|guardrails-reported|result-in-session)|mode stream: .*session",
        lambda each: _refuses_output(each) and any(agent.stops_on_first_tool for agent in each.agents),
    ),
    "blocked-answer-replayed": Reach(
        "rule (blocked-stays-out|stream-parity)|mode stream: .*session", _refuses_output
    ),
    "failed-run-span-without-error": Reach("rule failed-run-span-error"),
    "approval-lost-with-context": Reach(
        "rule approval-respected|mode (json|process)", lambda each: each.has_context
    ),
    "limited-session-orphan-output": Reach("rule call-output-linkage", lambda each: each.session_limit > 0),
    "structured-list-output-repr": Reach(
        "rule json-keeps-types|mode (json|process)",
        lambda each: any(tool.body == "models" for tool in each.tools),
    ),
    "guardrails-lost-at-second-pause": Reach("rule (guardrails-reported|stream-parity)|mode", _guards_tools),
    "resume-grows-old-result": Reach("rule (state|result)-integrity"),
    "decision-leaks-to-other-checkpoint": Reach(
        "rule (state-integrity|approval-respected)|mode (last-)?siblings"
    ),
    "three-level-approval-lost": Reach("rule approval-respected|mode", _deep),
    "exact-approval-vs-sticky-reject": Reach(
        "rule approval-respected", lambda each: any("R" in "".join(run.decisions) for run in each.runs)
    ),
    "checkpoint-usage-shared": Reach("rule (state|result)-integrity|mode"),
    "retry-leaves-orphan-call": Reach(
        "rule (call-output-linkage|result-in-session)", lambda each: each.failing_add > 0
    ),
    "parked-call-never-stored": Reach(
        "rule (call-output-linkage|result-in-session)",
        lambda each: any(agent.output_guardrail for agent in each.agents),
    ),
    "sibling-interruptions-emptied": Reach("rule state-integrity: .*/interruptions"),
}
"""The bugs in reach. One is repaired nowhere, so that its place in the state alone tells it."""


def known() -> dict[str, Case]:
    """The cases of the bugs in reach, by name."""
    found = {each.name: each for each in cases(*CASES, UNSEEN)}
    return {name: found[name] for name in REACH}


@contextmanager
def opened(release: str) -> Iterator[tuple[Hunter, Trials]]:
    """A hunter on a release."""
    conditions = Conditions()
    nothing = Reproduction(
        entry="reproduction.py",
        files={"reproduction.py": b""},
        header=Header(),
        script=Path("reproduction.py"),
    )
    lock = recording.locked(nothing, parse_target(release), conditions, _Silent())
    with trials(lock, conditions, _Silent(), imports=IMPORTS) as tried:
        yield Hunter(tried, features_of(lock), progress=lambda _: None), tried


def present(release: str) -> list[str]:
    """The bugs in reach that their own scripts show on a release."""
    shown = []
    with opened(release) as (_, tried):
        for name, case in known().items():
            done = tried.run(Source(case.script.read_bytes(), entry="repro.py"), seconds=30)
            lines = done.stdout.splitlines()
            if not lines:
                continue
            try:
                said = json.loads(lines[-1])
            except ValueError:
                continue
            if _normal(said) == _normal(case.facts["observed_buggy"]):
                shown.append(name)
    return shown


def hunted(release: str, seed: int, minutes: float) -> dict[str, Any]:
    """What a hunt finds, as JSON, with a few programs a failure."""
    with opened(release) as (hunter, tried):
        hunter.hunt(seconds=60 * minutes, seed=seed)
        return {
            "release": release,
            "seed": seed,
            "programs": hunter.tally.programs,
            "runs": hunter.tally.runs,
            "recorded": hunter.tally.recorded,
            "seconds": round(hunter.seconds, 1),
            "cpu_seconds": round(tried.cpu_seconds, 1),
            "ours": dict(hunter.tally.ours),
            "found": [
                {
                    "signature": [each.signature.oracle, each.signature.name, each.signature.what],
                    "first": round(each.first_seconds, 1),
                    "times": each.times,
                    "programs": [one.to_shape() for one in (each.program, *each.more)],
                }
                for each in hunter.found.values()
            ],
        }


@dataclass(frozen=True)
class Candidate:
    """A program that may have shown a bug on a release."""

    name: str
    release: str
    seed: int
    first: float
    signature: Signature
    program: Program


def candidates(folder: Path, shown: dict[str, list[str]]) -> list[Candidate]:
    """What the hunts found that looks like a bug which is there."""
    found = []
    for path in sorted(folder.glob("hunt-*.json")):
        told = json.loads(path.read_text("utf-8"))
        for each in told["found"]:
            signature = Signature(*each["signature"])
            for shape in each["programs"]:
                program = Program.from_shape(shape)
                found += [
                    Candidate(name, told["release"], told["seed"], each["first"], signature, program)
                    for name in shown[told["release"]]
                    if re.match(REACH[name].signature, str(signature)) and REACH[name].needs(program)
                ]
    return found


def attributed(found: list[Candidate]) -> dict[tuple[str, str], Candidate]:
    """By bug and release, a program that shows it: seen on the last release with the bug, not on the next."""
    facts = {name: case.facts for name, case in known().items()}
    proven = {
        (each.name, each.release): each for each in reversed(found) if facts[each.name]["fixed"] is None
    }
    left = [each for each in found if facts[each.name]["fixed"] is not None]
    silent = _asked(left, "fixed", wanted=False, enough=None)
    seen = _asked(silent, "buggy", wanted=True, enough=1)
    return {**proven, **{(each.name, each.release): each for each in reversed(seen)}}


def _asked(found: list[Candidate], which: str, *, wanted: bool, enough: int | None) -> list[Candidate]:
    """The candidates that are seen, or not, on the release that repaired their bug or the one before."""
    facts = {name: case.facts for name, case in known().items()}
    groups: dict[str, list[Candidate]] = defaultdict(list)
    for each in found:
        groups[facts[each.name][which]].append(each)
    kept = []
    for release, group in sorted(groups.items()):
        with opened(release) as (hunter, _):
            answers: dict[tuple[Signature, Program], bool] = {}
            count: dict[tuple[str, str], int] = defaultdict(int)
            for each in group:
                if count[each.name, each.release] >= (enough or _MOST):
                    continue
                asked = (each.signature, each.program)
                if asked not in answers:
                    answers[asked] = each.signature in hunter.again(each.program, each.signature)
                if answers[asked] is wanted:
                    count[each.name, each.release] += 1
                    kept.append(each)
        print(f"asked {release}: {len(group)} programs", flush=True)
    return kept


_MOST = 4


def _normal(value: object) -> str:
    return json.dumps(value, sort_keys=True)


class _Silent:
    def working(self, text: str) -> None:
        return

    def done(self, label: str, text: str) -> None:
        return


def _present(folder: Path) -> dict[str, list[str]]:
    place = folder / "present.json"
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({release: present(release) for release in RELEASES}, indent=1))
    found: dict[str, list[str]] = json.loads(place.read_text("utf-8"))
    return found


def main() -> None:
    """Do one of the three."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", type=Path, metavar="DIR")
    parser.add_argument("--hunt", type=Path, metavar="DIR")
    parser.add_argument("--tell", type=Path, metavar="DIR")
    parser.add_argument("--on", action="append")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--minutes", type=float, default=3.0)
    options = parser.parse_args()
    if options.list is not None:
        for release, names in _present(options.list).items():
            print(f"| {release} | {len(names)} | {', '.join(names)} |")
    if options.hunt is not None:
        options.hunt.mkdir(parents=True, exist_ok=True)
        for seed in options.seed or SEEDS:
            for release in options.on or RELEASES:
                place = options.hunt / f"hunt-{release}-{seed}.json"
                if place.exists():
                    continue
                told = hunted(release, seed, options.minutes)
                place.write_text(json.dumps(told))
                print(release, seed, told["programs"], "programs,", len(told["found"]), "kinds", flush=True)
    if options.tell is not None:
        shown = _present(options.tell)
        proven = attributed(candidates(options.tell, shown))
        for release in RELEASES:
            here = [name for name in shown[release] if (name, release) in proven]
            print(f"{release}: {len(here)} of {len(shown[release])}")
            for name in shown[release]:
                each = proven.get((name, release))
                said = (
                    "not found"
                    if each is None
                    else f"{each.signature}, seed {each.seed}, after {each.first:.0f} s"
                )
                print(f"| {release} | {name} | {said} |")


if __name__ == "__main__":
    main()
