"""Comparisons: from bundles to what changed between them, packed as one bundle.

Everything here is pure. `build_rows` is the one place where verdicts of two targets are compared; the
check of a comparison (`check.comparison`) calls it on the bundles inside and compares what comes out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .. import __version__
from ..bundle.digests import sha256
from ..bundle.store import ATTESTATIONS, MANIFEST, WHEELS, Bundle, bundle_id
from ..errors import BundleError, CannotDoError
from ..limits import MAX_BUNDLE_BYTES, MAX_MEMBERS
from ..models.comparison import (
    About,
    Cell,
    ClaimChange,
    Comparison,
    Outcome,
    RecordingSummary,
    Row,
    TraceDifference,
    VisibleDifference,
)
from ..models.events import ScriptEnded
from ..models.manifest import Judgement, Manifest, Member, Status, name_of_build
from ..models.statement import build_comparison_statement
from ..models.trace import Trace
from ..models.wire import Sha256
from ..trust import signing
from .align import compare_traces
from .visible import first_visible

SHOWN: Final = 24
"""Differences that a cell holds in full."""
_TELLING: Final[tuple[About, ...]] = (
    "tool",
    "end",
    "change",
    "decision",
    "state",
    "test",
    "script",
    "run",
    "output",
    "input",
    "order",
)
"""What is told first: what ran and how it ended, before what follows from it."""
_RELEASE: Final = re.compile(r"\d+(?:\.\d+)*")
BUNDLES: Final = "bundles/"
_PART_BYTES: Final = MAX_BUNDLE_BYTES * 5 // 6
_PART_FILES: Final = MAX_MEMBERS * 5 // 6
"""Of one comparison, its own manifest and wheels aside."""
_FILE_BYTES: Final = 512
"""What a file costs beside its own bytes: its path in the zip, twice, and its line in the manifest."""


@dataclass(frozen=True)
class Attempt:
    """A reproduction on one target: a recording, or why there is none."""

    target: str
    """The target's name for people; a recording's own name is taken from its manifest."""
    bundle: Bundle | None = None
    failed: str | None = None
    hint: str | None = None
    """What to do about it, for whoever asked: no part of a comparison."""
    judgement: Judgement | None = None
    """As a check judges the recording now; None: as the recording itself says."""


@dataclass(frozen=True)
class Series:
    """A reproduction on all its targets, the one that the others are compared with first."""

    reproduction: str
    attempts: tuple[Attempt, ...]
    good: bool = False
    """Whether the first one is where it worked."""


def target_name(manifest: Manifest) -> str:
    """What a recording's target is called, in every column."""
    return name_of_build(manifest.target)


def build_rows(series: Iterable[Series]) -> tuple[Row, ...]:
    """Compare each reproduction's recordings with its first one.

    Raises:
        BundleError: two recordings of one row are not of the same script.
    """
    return tuple(_row(each) for each in series)


def as_recorded(series: Iterable[Series]) -> Iterator[Series]:
    """The same, judged as the recordings say: the rows of a comparison follow from its members, whatever
    rules its reader has."""
    for each in series:
        attempts = tuple(replace(attempt, judgement=None) for attempt in each.attempts)
        yield replace(each, attempts=attempts)


def _row(each: Series) -> Row:
    first, *others = [_Cell(attempt) for attempt in each.attempts]
    title = next((each.manifest.reproduction.title for each in (first, *others) if each.manifest), None)
    baseline = Cell(
        target=first.name,
        outcome="baseline" if first.manifest is not None else "not_recorded",
        recorded=first.recorded,
        failed=first.attempt.failed,
    )
    return Row(
        reproduction=each.reproduction,
        title=title,
        good=True if each.good else None,
        cells=(baseline, *(_compared(first, other, good=each.good) for other in others)),
    )


class _Cell:
    """An attempt with what was read of it."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.manifest = attempt.bundle.document if attempt.bundle is not None else None
        self.name = target_name(self.manifest) if self.manifest is not None else attempt.target
        self.judgement = attempt.judgement or (self.manifest.judgement if self.manifest else None)

    @property
    def recorded(self) -> RecordingSummary | None:
        manifest, bundle, judgement = self.manifest, self.attempt.bundle, self.judgement
        if manifest is None or bundle is None or judgement is None:
            return None
        return RecordingSummary(
            bundle_id=bundle_id(bundle),
            evidence_id=manifest.evidence_id,
            target=f"{manifest.target.name} {self.name}",
            wheel=manifest.target.sha256,
            python=manifest.environment.python.version,
            verdict=judgement.verdict,
            reasons=judgement.reasons,
            asked=tuple(manifest.provider.asked_otherwise()) if manifest.provider is not None else (),
            ended=ending_of(bundle.traces.values()) if judgement.verdict == "inconclusive" else None,
        )


def ending_of(traces: Iterable[Trace]) -> str | None:
    """How the script ended, where that was not a clean end and explains why nothing was concluded."""
    for trace in traces:
        for event in trace.events:
            if not isinstance(event, ScriptEnded) or (event.outcome == "exited" and not event.code):
                continue
            if event.error is None:
                return f"{event.outcome} {event.code}" if event.code else event.outcome
            text = f"{event.error.type.removeprefix('builtins:')}: {event.error.message}"
            return text[:400]
    return None


_UNTOLD: Final = frozenset(
    {"repeats_differ", "sdk_changed", "needs_namespace", "environment_missing", "before_sdk"}
)
"""Why a recording cannot be held against another one."""


def _visible(first: _Cell, other: _Cell, differences: list[TraceDifference]) -> VisibleDifference | None:
    one, two = first.attempt.bundle, other.attempt.bundle
    if one is None or two is None:
        return None
    if not _UNTOLD.isdisjoint((*one.document.judgement.reasons, *two.document.judgement.reasons)):
        return None
    return first_visible(one.traces, two.traces, differences)


def _compared(first: _Cell, other: _Cell, *, good: bool) -> Cell:
    before, after = first.judgement, other.judgement
    if other.manifest is None or after is None:
        return Cell(target=other.name, outcome="not_recorded", failed=other.attempt.failed)
    if first.manifest is None or before is None:
        return Cell(target=other.name, outcome="inconclusive", recorded=other.recorded)
    _check_same_script(first.manifest, other.manifest)
    differences = _differences(first, other)
    left = len(differences) - SHOWN
    return Cell(
        target=other.name,
        outcome=outcome(before, after),
        recorded=other.recorded,
        visible=_visible(first, other, differences) if good else None,
        claims=tuple(claim_changes(before, after)),
        differences=tuple(differences[:SHOWN]),
        more=left if left > 0 else None,
    )


def _check_same_script(first: Manifest, other: Manifest) -> None:
    """What one of the two loaded and the other did not may differ; nothing else of the script may."""
    mine, theirs = (
        {member.path: member.sha256 for member in each.members if member.path in each.reproduction.files}
        for each in (first, other)
    )
    calls = [
        (each.reproduction.entry, each.reproduction.arguments, each.reproduction.tests)
        for each in (first, other)
    ]
    differing = [path for path in sorted(mine.keys() & theirs.keys()) if mine[path] != theirs[path]]
    if differing or calls[0] != calls[1]:
        raise BundleError(
            "other_reproduction",
            "the recordings are of two scripts: "
            f"{', '.join(differing) or 'entry, arguments or tests'} differ",
            hint="record both with the same script",
        )


def _differences(first: _Cell, other: _Cell) -> list[TraceDifference]:
    """Those that say most first, and what both modes share side by side."""
    mine, theirs = first.attempt.bundle, other.attempt.bundle
    if mine is None or theirs is None:
        return []
    ranked = [
        (_TELLING.index(each.about), place, each.mode, each)
        for mode in mine.traces.keys() & theirs.traces.keys()
        for place, each in enumerate(
            compare_traces(mine.traces[mode], mine.state, theirs.traces[mode], theirs.state)
        )
    ]
    return [each for *_, each in sorted(ranked, key=lambda entry: entry[:3])]


def is_older(cell: Cell, first: Cell) -> bool:
    """Whether a cell is on a release before the one that it is compared with: it regressed from nothing."""
    releases = [_RELEASE.fullmatch(each.target) for each in (cell, first)]
    if None in releases:
        return False
    one, other = ([int(part) for part in each.target.split(".")] for each in (cell, first))
    return one < other


def outcome(before: Judgement, after: Judgement) -> Outcome:
    """What became of a verdict; see `Outcome`."""
    if "inconclusive" in (before.verdict, after.verdict):
        return "inconclusive"
    was, now = _statuses(before), _statuses(after)
    violated = {claim for claim, status in was.items() if status == "violated"}
    still = {claim for claim, status in now.items() if status == "violated"}
    if violated & still:
        return "still_violated"
    if still:
        return "regressed"
    if not violated:
        return "still_holds"
    return "fixed" if any(now.get(claim) == "holds" for claim in violated) else "unobservable"


def claim_changes(before: Judgement, after: Judgement) -> Iterator[ClaimChange]:
    """The claims whose status is another one, or violated in both; violated ones first."""
    was, now = _statuses(before), _statuses(after)
    changed = [
        claim
        for claim in was.keys() | now.keys()
        if was.get(claim) != now.get(claim) or was.get(claim) == "violated"
    ]
    for claim in sorted(changed, key=lambda each: ("violated" not in (was.get(each), now.get(each)), each)):
        name, mode = claim
        yield ClaimChange.from_shape(
            {"id": name, "mode": mode, "before": was.get(claim), "after": now.get(claim)}
        )


def _statuses(judgement: Judgement) -> dict[tuple[str, str], Status]:
    return {(claim.id, claim.mode): claim.status for claim in judgement.claims}


def parts(series: Sequence[Series]) -> list[Sequence[Series]]:
    """The series in their order, in as few comparisons as each may be one bundle."""
    found: list[list[Series]] = []
    left = files = 0
    for each in series:
        weights = [_weight(attempt.bundle) for attempt in each.attempts if attempt.bundle is not None]
        size, count = sum(size for size, _ in weights), sum(count for _, count in weights)
        if not found or size > left or count > files:
            found.append([])
            left, files = _PART_BYTES, _PART_FILES
        found[-1].append(each)
        left, files = left - size, files - count
    return list(found)


def _weight(bundle: Bundle) -> tuple[int, int]:
    """What a recording takes of a comparison, without its wheel: bytes and files."""
    members = [path for path in bundle.members if not path.startswith(WHEELS)]
    size = len(bundle.manifest) + sum(len(bundle.members[path]) for path in members)
    size += sum(map(len, bundle.attestations.values()))
    files = len(members) + len(bundle.attestations) + 1
    return size + _FILE_BYTES * files, files


def pack(series: Sequence[Series], key: signing.PrivateKey) -> tuple[Comparison, Bundle]:
    """The signed comparison bundle. Wheels are left out where they would make it too large.

    Raises:
        CannotDoError: it is too large to be a bundle; `parts` are not, unless a row alone is.
    """
    members: dict[str, bytes] = {}
    wheels: dict[str, bytes] = {}
    recordings: dict[Sha256, Sha256] = {}
    for bundle in (attempt.bundle for each in series for attempt in each.attempts if attempt.bundle):
        manifest, identity = bundle.document, bundle_id(bundle)
        recordings[identity] = manifest.evidence_id
        inside = f"{BUNDLES}{identity}/"
        members[inside + MANIFEST] = bundle.manifest
        for path, data in bundle.members.items():
            if not path.startswith(WHEELS):
                members[inside + path] = data
        for name, data in bundle.attestations.items():
            members[f"{inside}{ATTESTATIONS}{name}"] = data
        for place, name in wheel_places(manifest).items():
            wheel = bundle.wheel(name)
            if wheel is not None:
                wheels[place] = wheel
    comparison = Comparison(
        format="agentproof/comparison",
        version=0,
        agentproof=__version__,
        rows=build_rows(as_recorded(series)),
        members=tuple(
            Member(path=path, sha256=sha256(data), size=len(data))
            for path, data in sorted((members | wheels).items())
        ),
    )
    raw = comparison.to_bytes()
    statement = build_comparison_statement(sha256(raw), recordings=recordings)
    attestation = {signing.attestation_name("endorsed", key.public): signing.sign_statement(statement, key)}
    size = len(raw) + sum(map(len, members.values())) + _FILE_BYTES * len(members)
    if size > MAX_BUNDLE_BYTES or len(members) > MAX_MEMBERS:
        names = ", ".join(each.reproduction for each in series[:3])
        raise CannotDoError(
            f"the comparison of {names} would have {size / 1e6:.1f} MB in {len(members)} files, more than a "
            "bundle may",
            hint="compare with fewer targets at a time; what was recorded is kept",
        )
    attached = wheels if size + sum(map(len, wheels.values())) < MAX_BUNDLE_BYTES - 2**20 else {}
    return comparison, Bundle(raw, members | attached, attestation)


def wheel_places(manifest: Manifest) -> dict[str, str]:
    """Where a comparison keeps the wheels of a recording: their file names by place, the target's first."""
    target = manifest.target
    own = [each for each in manifest.environment.packages if each.origin is not None]
    held = [(target.sha256, target.wheel), *((each.sha256, each.wheel) for each in own)]
    # Two builds of one version have one file name, so the digest is part of the place.
    return {f"{WHEELS}{digest}/{file}": file for digest, file in held}
