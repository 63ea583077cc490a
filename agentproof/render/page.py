"""One story as the page's templates ask for it: headings in words, lanes, comparisons, what is folded."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from ..check.signers import says
from ..claims.judge import explain_reason
from ..models.diff import Change
from ..models.explanation import Explanation
from ..models.manifest import EventRef, name_of_build
from ..models.report import Report, Signer, Verdict
from ..models.text import as_text, pretty, visible
from ..models.trace import Mode
from .beside import beside, tells_the_same
from .cause import Place, places
from .comparison_table import ComparisonTable, compared
from .exchanges import ExchangeTold, tell_exchanges
from .lanes import kept_steps, lanes_of, only, opens
from .reasons import ClaimLine
from .sides import SideLine, change_lines, side_by_side
from .steps import Branch, Look, Step, TraceStory
from .story import Story, mode_words

MAX_TEXT = 100_000
"""Characters of one expression of a template."""
_MAX_SAID = 20_000
"""Characters of one text of an exchange."""
_SHORT = 60
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
    rows: list[SideLine]
    complete: bool


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
        who = (", ".join(names) or "a key that whoever made this page does not know") + says(signer)
        about = "; ".join(filter(None, (signer.fingerprint, signer.detail)))
        return cls(signer.role, who, signer.key, about)


@dataclass(frozen=True)
class _File:
    path: str
    size: str
    text: str


class Page:
    """One story as the template asks for it."""

    def __init__(
        self, story: Story, *, prefix: str, file: str, budget: Budget, cause: Explanation | None = None
    ) -> None:
        self._story = story
        self._budget = budget
        self.prefix = prefix
        self.file = shlex.quote(file)
        self.title = story.title
        self.build = name_of_build(story.manifest.target)
        self.manifest = story.manifest
        self.report: Report = story.report
        self.signers = [_Signer.of(signer) for signer in story.report.signers]
        self.verdict: Verdict = story.verdict
        self.claims: tuple[ClaimLine, ...] = story.claims
        self.unknown: tuple[str, ...] = story.unknown
        self.tellings: tuple[TraceStory, ...] = story.tellings
        self.cause = cause
        self.linked: set[tuple[str, int]] | None = None
        """The steps that have a place on the page, by mode and number, where not all of them have."""
        self.places: Mapping[tuple[str, int], Place] = places(cause) if cause is not None else {}

    def has_place(self, step: EventRef) -> bool:
        """Whether a link to the step leads somewhere on the page."""
        return self.linked is None or (step.mode, step.seq) in self.linked

    @property
    def headline(self) -> str:
        match self.verdict.status:
            case "violated":
                if told := self._story.lead:
                    return told
                count = self._story.violations
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
    def exchanges(self) -> tuple[ExchangeTold, ...]:
        """What a provider was asked and answered, as far as the page may hold it."""
        return tuple(
            replace(each, said=tuple(replace(said, text=self._budget.spend(said.text)) for said in each.said))
            for each in tell_exchanges(self._story, limit=_MAX_SAID)
        )

    @property
    def provider(self) -> str:
        """Whose word the answers are."""
        return self.manifest.provider.words() if self.manifest.provider is not None else ""

    @cached_property
    def lanes(self) -> Mapping[Mode, Mapping[int, list[str]]]:
        """For each telling what each step is to each state; empty where there are too many states."""
        return {telling.mode: lanes_of(telling) for telling in self.tellings}

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
    def comparison(self) -> ComparisonTable | None:
        """The modes beside each other."""
        if len(self.tellings) < 2:
            return None
        first, second = self.tellings[:2]
        return compared(
            beside(first, second),
            names=(mode_words([first.mode]), mode_words([second.mode])),
            prefixes=(self.prefix + first.mode, self.prefix + second.mode),
        )

    def repeats(self, telling: TraceStory) -> bool:
        """Whether it tells the same as the first one."""
        return tells_the_same(self.tellings[0], telling)

    def parts(self, telling: TraceStory) -> tuple[Step | Branch, ...]:
        """The steps as a tree; of a very long telling as many as a page may hold."""
        kept = kept_steps(telling)
        if kept is None:
            return telling.parts
        return tuple(only(telling.parts, kept))

    def left_out(self, telling: TraceStory) -> int:
        """How many steps `parts` leaves out."""
        kept = kept_steps(telling)
        return 0 if kept is None else len(telling.steps) - len(kept)

    def opens(self, telling: TraceStory, branch: Branch) -> bool:
        """Whether a run is unfolded at first."""
        return opens(telling, branch)

    def shows(self, step: Step) -> bool:
        """Whether a step is unfolded at first: a finding there is about what it changed, or what it told."""
        changed = {look.state for look in step.looks if look.changes}
        if step.remarks and step.event.details():
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
        lines = [f"{name if ' ' in name else f'replaces {name}'}{allowed}" for name in conduct.changed]
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
            ("SDK", f"{target.name} {name_of_build(target)}, from {origin}{commit}{dirty}"),
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
    def filters(self) -> tuple["Filter", ...]:
        """By what the steps can be narrowed: runs, states and tools, each where there are several."""
        found: dict[str, dict[str, None]] = {kind: {} for kind in _FILTERED}
        for telling in self.tellings:
            for step in telling.steps:
                for kind, value in _about(step):
                    found[kind].setdefault(value)
        return tuple(
            Filter(kind, tuple(values)[:_MAX_FILTERED]) for kind, values in found.items() if len(values) > 1
        )

    def marks(self, step: Step) -> str:
        """The classes by which the filters find a step."""
        about = list(_about(step))
        return " ".join(
            f"{each.kind}-{number}"
            for each in self.filters
            for number, value in enumerate(each.values, start=1)
            if (each.kind, value) in about
        )

    @property
    def printed(self) -> bool:
        """Whether the script wrote something."""
        return bool(self.wrote("stdout") or self.wrote("stderr"))

    @property
    def expected(self) -> list[ClaimLine]:
        """What its reporter says should happen, with what became of it."""
        return [claim for claim in self.claims if claim.is_expected]

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


_FILTERED = ("run", "state", "tool")
_MAX_FILTERED = 20
"""Values that a filter offers; a story of more runs or states is narrowed by the others."""


@dataclass(frozen=True)
class Filter:
    """One choice above the steps."""

    kind: str
    values: tuple[str, ...]


def _about(step: Step) -> Iterator[tuple[str, str]]:
    """What a step is about: its run, the states that it looks at, its tool."""
    for kind in _FILTERED:
        value = getattr(step.event, kind, None)
        if isinstance(value, str):
            yield kind, value
    for look in step.looks:
        yield "state", look.state


def filter_rules(sizes: Iterable[int]) -> str:
    """The style by which a choice hides what it is not about, for filters of up to so many values."""
    return "".join(
        f".steps:has(.by-{kind} option:nth-child({number + 1}):checked) .tree li"
        f":not(.{kind}-{number}):not(:has(.{kind}-{number})):not(.own) {{ display: none; }}\n"
        for number in range(1, max(sizes, default=0) + 1)
        for kind in _FILTERED
    )


_AGREEMENTS = {
    "same": "the repeats agree",
    "text": "the repeats agree but for what the script printed",
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
