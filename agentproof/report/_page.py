"""One story as the page's templates ask for it: headings in words, lanes, comparisons, what is folded."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from ..judge import explain_reason
from ..models.diff import Change
from ..models.events import StateObserved
from ..models.report import Report, Signer, Verdict
from ..models.trace import Mode
from ._beside import Pair, beside, tells_the_same
from ._sides import Row, change_lines, side_by_side
from ._story import Branch, Look, Step, Story, Telling, Told, mode_words
from ._text import as_text, pretty, visible
from ._words import details

MAX_TEXT = 100_000
"""Characters of one expression of a template."""
_MAX_LANES = 8
_SHORT = 60
_MAX_STEPS = 2000
"""Of one telling; of a longer one the small steps are left out, and what then comes after these."""
_MAX_OPEN_STEPS = 60
"""In a longer telling only the runs that decide a claim are unfolded at first."""
_REFERENCE = re.compile(r"([A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100})#([0-9]{1,9})")


class Budget:
    """How much raw JSON the page may still hold."""

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self, text: str) -> str:
        if len(text) > self._left:
            return "left out of this page for its size; the bundle holds it"
        self._left -= min(len(text), MAX_TEXT)
        return text

    def sides(self, before: Any, after: Any) -> "Sides":  # Any: states' JSON
        """Both beside each other, as far as the page may hold them."""
        rows, complete = side_by_side(before, after)
        size = sum(len(row.before or "") + len(row.after or "") for row in rows)
        if size > self._left:
            return Sides([], complete=False)
        self._left -= size
        return Sides(rows, complete)


@dataclass(frozen=True)
class Sides:
    rows: list[Row]
    complete: bool


@dataclass(frozen=True)
class _Cell:
    """A step in a table of two tellings."""

    seq: int
    text: str
    anchor: str


@dataclass(frozen=True)
class _Line:
    left: _Cell | None = None
    right: _Cell | None = None
    same: bool = False
    skipped: int = 0


@dataclass(frozen=True)
class Comparison:
    """Two tellings beside each other."""

    left: str
    right: str
    rows: tuple[_Line, ...]
    equal: int
    other: int

    @property
    def same(self) -> bool:
        return not self.other


@dataclass(frozen=True)
class _Signer:
    role: str
    who: str
    key: str
    about: str

    @classmethod
    def of(cls, signer: Signer) -> Self:
        # "you" are whoever made the page, which others read.
        names = ["whoever made this page" if name == "you" else name for name in signer.principals]
        who = ", ".join(names) or "a key that whoever made this page does not know"
        about = "; ".join(filter(None, (signer.fingerprint, signer.detail)))
        return cls(signer.role, who, signer.key, about)


@dataclass(frozen=True)
class _File:
    path: str
    size: str
    text: str


class Page:
    """One story as the template asks for it."""

    def __init__(self, story: Story, *, prefix: str, file: str, budget: Budget) -> None:
        self._story = story
        self._budget = budget
        self.prefix = prefix
        self.file = shlex.quote(file)
        self.title = story.title
        self.manifest = story.manifest
        self.report: Report = story.report
        self.signers = [_Signer.of(signer) for signer in story.report.signers]
        self.verdict: Verdict = story.verdict
        self.claims: tuple[Told, ...] = story.claims
        self.tellings: tuple[Telling, ...] = story.tellings

    @property
    def headline(self) -> str:
        match self.verdict.status:
            case "violated":
                count = len(self._story.violated)
                return f"Shows {count} violation{'' if count == 1 else 's'}"
            case "holds":
                return "Shows no violation"
            case _:
                return "Inconclusive"

    @property
    def meaning(self) -> str:
        """What the word of the check says."""
        return _MEANINGS[self.report.status]

    @property
    def inconclusive(self) -> list[str]:
        pointers = [
            f"{mode_words([each.mode])}: the repeats differ at {pointer}"
            for each in self.manifest.recordings
            for pointer in each.differences[:6]
        ]
        return [*map(explain_reason, self.verdict.reasons), *pointers]

    @property
    def reference_url(self) -> str | None:
        """The issue that the reproduction refers to, where it is plainly one of GitHub's."""
        found = _REFERENCE.fullmatch(self.manifest.reproduction.reference or "")
        return f"https://github.com/{found[1]}/issues/{found[2]}" if found else None

    @cached_property
    def lanes(self) -> Mapping[Mode, Mapping[int, list[str]]]:
        """For each telling what each step is to each state; empty where there are too many states."""
        return {telling.mode: _lanes(telling) for telling in self.tellings}

    @property
    def lanes_shown(self) -> bool:
        return any(self.lanes.values())

    @property
    def minor_steps(self) -> int:
        """Steps that are folded away at first."""
        return sum(
            step.tone == "minor" and not step.remarks for telling in self.tellings for step in telling.steps
        )

    @cached_property
    def comparison(self) -> Comparison | None:
        """The modes beside each other."""
        if len(self.tellings) < 2:
            return None
        first, second = self.tellings[:2]
        return _compared(
            beside(first, second),
            names=(mode_words([first.mode]), mode_words([second.mode])),
            prefixes=(self.prefix + first.mode, self.prefix + second.mode),
        )

    def repeats(self, telling: Telling) -> bool:
        """Whether it tells the same as the first one."""
        return tells_the_same(self.tellings[0], telling)

    def parts(self, telling: Telling) -> tuple[Step | Branch, ...]:
        """The steps as a tree; of a very long telling as many as a page may hold."""
        kept = _kept(telling)
        if kept is None:
            return telling.parts
        return tuple(_only(telling.parts, kept))

    def left_out(self, telling: Telling) -> int:
        """How many steps `parts` leaves out."""
        kept = _kept(telling)
        return 0 if kept is None else len(telling.steps) - len(kept)

    def opens(self, telling: Telling, branch: Branch) -> bool:
        """Whether a run is unfolded at first."""
        return len(telling.steps) <= _MAX_OPEN_STEPS or _decides(branch)

    def shows(self, step: Step) -> bool:
        """Whether a step is unfolded at first: a finding there is about what it changed, or what it told."""
        changed = {look.state for look in step.looks if look.changes}
        if step.remarks and details(step.event):
            return True
        return any(
            remark.finding.state in changed and remark.finding.pointer is not None for remark in step.remarks
        )

    def both(self, look: Look) -> tuple[Any, Any]:  # Any: states' JSON
        states = self._story.states
        return states[look.before or look.after], states[look.after]

    @property
    def files(self) -> list[_File]:
        members = self._story.bundle.members
        reproduction = self.manifest.reproduction
        rest = [path for path in reproduction.files if path != reproduction.entry]
        return [
            _File(path, f"{len(members[path]):,} bytes", members[path].decode("utf-8", "replace"))
            for path in (reproduction.entry, *rest)
        ]

    @property
    def conduct(self) -> list[str]:
        conduct = self.manifest.conduct
        allowed = " (allowed by --allow-sdk-changes)" if conduct.allowed else ""
        lines = [f"replaces {name}{allowed}" for name in conduct.changed]
        lines += [f"sets {each.name}, {each.file}:{each.line}{allowed}" for each in conduct.private_writes]
        lines += [f"reads {each.name}, {each.file}:{each.line}" for each in conduct.private_reads]
        return lines

    @property
    def environment(self) -> list[tuple[str, str]]:
        manifest = self.manifest
        environment, isolation, target = manifest.environment, manifest.isolation, manifest.target
        platform = environment.platform
        origin = {"index": "a package index", "file": "a file", "checkout": "a checkout"}[target.origin.kind]
        commit = f", commit {target.origin.commit}" if target.origin.commit else ""
        dirty = " with changes" if target.origin.dirty else ""
        repeats = ", ".join(
            f"{mode_words([r.mode])} {r.repeats} times: {_AGREEMENTS[r.agreement]}"
            for r in manifest.recordings
        )
        return [
            ("SDK", f"{target.name} {target.version}, from {origin}{commit}{dirty}"),
            ("Python", f"CPython {environment.python.version}"),
            ("Platform", " ".join(filter(None, (platform.system, platform.machine, platform.libc)))),
            ("Dependencies as of", environment.as_of or "a given lock"),
            ("Installed files compared with their wheels", f"{environment.installed_files:,}"),
            ("Network", f"{isolation.network}, self-test: {isolation.self_test.replace('_', ' ')}"),
            ("Files and user", f"{isolation.files}; user: {isolation.user}"),
            ("Recorded", repeats),
            (
                "Recorder",
                f"agentproof {manifest.recorder.agentproof}, sha256:{manifest.recorder.sha256[:16]}…",
            ),
        ]

    @property
    def gaps(self) -> list[str]:
        lines = [f"{gap.what}: {gap.why}" for gap in self.manifest.coverage]
        for telling in self.tellings:
            lines += [
                f"{mode_words([telling.mode])}: {stream} was cut at {len(as_text(event.text)):,} characters"
                for stream, event in telling.output.items()
                if event.truncated
            ]
        if self.manifest.redactions:
            lines.append(f"{self.manifest.redactions} values were redacted")
        return lines

    def wrote(self, stream: str) -> list[tuple[str, str, str]]:
        """What each mode wrote to a stream; once where they agree."""
        found = [(each.mode, each.output[stream]) for each in self.tellings if stream in each.output]
        shown = [(mode, visible(as_text(event.text), lines=True), event.size) for mode, event in found]
        if len(shown) == len(self.tellings) > 1 and len({text for _, text, _ in shown}) == 1:
            shown = [(shown[0][0], shown[0][1], shown[0][2])]
            return [("in both modes", text, f"{size:,} bytes") for _, text, size in shown]
        return [(mode_words([mode]), text, f"{size:,} bytes") for mode, text, size in shown]

    @cached_property
    def state_users(self) -> Mapping[str, str]:
        """Which states had this JSON, and when first."""
        users: dict[str, dict[str, None]] = {}
        for telling in self.tellings:
            for step in telling.steps:
                for look in step.looks:
                    where = f"{look.state} at {step.seq} {mode_words([telling.mode])}"
                    users.setdefault(look.after, {})[where] = None
                    if look.before:
                        users.setdefault(look.before, {})
        return {
            digest: ", ".join(list(users.get(digest, ()))[:4]) or "of a result"
            for digest in self._story.states
        }

    @property
    def raw_states(self) -> list[tuple[str, str]]:
        states = self._story.states
        return [(digest, self._budget.spend(pretty(states[digest]))) for digest in sorted(states)]


_AGREEMENTS = {
    "same": "the repeats agree",
    "order": "the repeats agree but for the order of parallel events",
    "differ": "the repeats differ",
    "single": "not repeated",
}

_MEANINGS = {
    "CURRENT": "all checks passed: a trusted signer, and the very wheel that the checker holds.",
    "INTACT": "nothing failed, but not everything could be compared; see the checks.",
    "UNTRUSTED": "no signer of this bundle is among those that the checker trusts.",
    "STALE": "a sound bundle, about another source than the checker's.",
}


def _kept(telling: Telling) -> set[int] | None:
    """The steps of a very long telling that stay; None where all do."""
    if len(telling.steps) <= _MAX_STEPS:
        return None
    large = [step.seq for step in telling.steps if step.tone != "minor"][:_MAX_STEPS]
    return {*large, *(step.seq for step in telling.steps if step.remarks)}


def _only(parts: Sequence[Step | Branch], kept: set[int]) -> Iterator[Step | Branch]:
    for part in parts:
        if isinstance(part, Branch):
            inner = list(_only(part.parts, kept))
            if inner:
                yield Branch(part.run, inner)
        elif part.seq in kept:
            yield part


def _lanes(telling: Telling) -> Mapping[int, list[str]]:
    if not 0 < len(telling.states) <= _MAX_LANES:
        return {}
    alive: set[str] = set()
    lanes: dict[int, list[str]] = {}
    for step in telling.steps:
        looks = {look.state: look for look in step.looks}
        lanes[step.seq] = [_lane(state, looks.get(state), step, alive) for state in telling.states]
        alive |= looks.keys()
    return lanes


def _lane(state: str, look: Look | None, step: Step, alive: set[str]) -> str:
    if look is None:
        return "live" if state in alive else "none"
    if state not in alive:
        return "born"
    if not look.changes:
        return "used"
    if any(remark.finding.state == state and remark.finding.pointer is not None for remark in step.remarks):
        return "flagged"
    return "seen" if isinstance(step.event, StateObserved) else "own"


def _decides(branch: Branch) -> bool:
    return any(_decides(part) if isinstance(part, Branch) else bool(part.remarks) for part in branch.parts)


@dataclass(frozen=True)
class _ChangeSides:
    before: str
    after: str

    @property
    def short(self) -> bool:
        """Both fit into one line."""
        return all("\n" not in side and len(side) <= _SHORT for side in (self.before, self.after))


def change_sides(change: Change) -> _ChangeSides:
    found: dict[str, list[str]] = {"-": [], "+": []}
    for sign, line in change_lines(change):
        found[sign].append(line)
    return _ChangeSides(*("\n".join(lines) for lines in found.values()))


def code_pieces(text: str) -> list[tuple[bool, str]]:
    """A text of ours at its backticks: what stands between two of them is code."""
    return [(index % 2 == 1, piece) for index, piece in enumerate(text.split("`"))]


# Comparisons


def matrix(pages: Sequence[Page]) -> list[tuple[str, list[str | None]]]:
    """Each claim with its status on each page; violated ones first."""
    names = dict.fromkeys(
        claim.id
        for status in ("violated", "holds", "not_observed")
        for page in pages
        for claim in page.claims
        if claim.status == status
    )
    by_page = [{claim.id: claim.status for claim in page.claims} for page in pages]
    return [(name, [found.get(name) for found in by_page]) for name in names]


def comparable(first: Page, other: Page) -> bool:
    return bool(first.tellings and other.tellings) and first.tellings[0].mode == other.tellings[0].mode


def across(first: Page, other: Page) -> Comparison:
    one, two = first.tellings[0], other.tellings[0]
    names = tuple(f"{page.manifest.target.version}, {mode_words([one.mode])}" for page in (first, other))
    return _compared(
        beside(one, two),
        names=(names[0], names[1]),
        prefixes=(first.prefix + one.mode, other.prefix + two.mode),
    )


def _compared(pairs: Sequence[Pair], *, names: tuple[str, str], prefixes: tuple[str, str]) -> Comparison:
    rows: list[_Line] = []
    run: list[_Line] = []
    for pair in pairs:
        line = _Line(_cell(pair.left, prefixes[0]), _cell(pair.right, prefixes[1]), pair.same)
        if pair.same:
            run.append(line)
            continue
        rows += [*_shortened(run, first=not rows), line]
        run = []
    rows += _shortened(run, first=not rows, last=True)
    equal = sum(pair.same for pair in pairs)
    return Comparison(names[0], names[1], tuple(rows), equal, len(pairs) - equal)


def _shortened(run: list[_Line], *, first: bool, last: bool = False) -> list[_Line]:
    """A run of equal lines, all but its ends folded."""
    head, tail = (0 if first else 2), (0 if last else 2)
    if len(run) <= head + tail + 1:
        return run
    return [*run[:head], _Line(skipped=len(run) - head - tail), *run[len(run) - tail :]]


def _cell(step: Step | None, prefix: str) -> _Cell | None:
    return _Cell(step.seq, step.text, f"{prefix}-{step.seq}") if step else None
