"""Why a claim came to its status: sentences, what changed, the events that it rests on."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .. import claims
from ..models.diff import ABSENT, Change, aligned, diff
from ..models.events import ResultObserved
from ..models.manifest import ClaimResult, EventRef, Finding, Status
from ..models.trace import Mode
from .effects import Place, place_of
from .steps import Step, TraceStory

TIMES = ("before", "after")
MODES = ("as written", "streamed")
"""What the two values of a change are."""


@dataclass(frozen=True)
class Reason:
    """Why a claim came to its status: one sentence, and all that it is true of."""

    text: str
    about: str | None
    """What changed: a state, or the result of a run."""
    changes: tuple[Change, ...]
    """In it, with both values whole, for findings that have a pointer."""
    sides: tuple[str, str]
    """What the two values of a change are."""
    refs: tuple[EventRef, ...]
    """The events that it rests on, in every mode, each once."""
    place: Place
    """Where it stands among others, by `effects`."""
    labels: frozenset[str] = frozenset()
    """Labels of the trace that its sentence may name."""
    calls: tuple[str, ...] = ()
    """Ids of calls that it may name."""


@dataclass(frozen=True)
class ClaimLine:
    """One claim over all modes in which it came to one status."""

    id: str
    kind: str
    status: Status
    modes: tuple[str, ...]
    rule: str
    """What the kind of claim says, in one sentence."""
    reasons: tuple[Reason, ...]
    beyond: bool = False
    """Whether the manifest does not have it: its maker did not know the rule, or knew another version."""

    @property
    def is_expected(self) -> bool:
        """Whether it is what the reporter said should happen."""
        return self.kind in claims.EXPECTED


def rule_of(kind: str, version: int) -> str:
    """What a kind of claim says: the first paragraph of its page."""
    module = claims.find_kind(kind, version)
    doc = (sys.modules[module.__name__].__doc__ if module is not None else None) or ""
    return " ".join(doc.strip().split("\n\n")[0].split())


def _rule(claim: ClaimResult) -> str:
    return claims.wanted(claim) if claim.kind in claims.EXPECTED else rule_of(claim.kind, claim.version)


_STATUSES: tuple[Status, ...] = ("violated", "holds", "not_observed")


def claims_told(
    results: Iterable[ClaimResult], recorded: Iterable[ClaimResult], tellings: Mapping[Mode, TraceStory]
) -> Iterator[ClaimLine]:
    """Claims: violated ones first, by the order of `effects`, else as they are recorded; one that holds in a
    mode is not told as unobserved in another.

    What is not among the `recorded` ones is told apart.
    """
    known = {(claim.id, claim.kind, claim.version, claim.mode) for claim in recorded}
    by_id: dict[tuple[str, bool], list[ClaimResult]] = {}
    for claim in results:
        beyond = (claim.id, claim.kind, claim.version, claim.mode) not in known
        by_id.setdefault((claim.id, beyond), []).append(claim)
    told: list[ClaimLine] = []
    for (name, beyond), group in by_id.items():
        statuses = {claim.status for claim in group}
        best = next(status for status in _STATUSES if status in statuses)
        chosen = [claim for claim in group if claim.status == best]
        told.append(
            ClaimLine(
                id=name,
                kind=group[0].kind,
                status=best,
                modes=tuple(dict.fromkeys(claim.mode for claim in chosen)),
                rule=_rule(group[0]),
                reasons=tuple(_reasons(chosen, tellings)),
                beyond=beyond,
            )
        )
    yield from sorted(
        told,
        key=lambda claim: (
            _STATUSES.index(claim.status),
            claim.beyond,
            not claim.is_expected,
            *(claim.reasons[0].place if claim.status == "violated" and claim.reasons else ()),
        ),
    )


def _reasons(group: Iterable[ClaimResult], tellings: Mapping[Mode, TraceStory]) -> Iterator[Reason]:
    """One reason for each sentence, the first by `effects` first; findings that differ in their pointer alone
    are one."""
    changes: dict[str, dict[str, Change]] = {}
    refs: dict[str, dict[EventRef, None]] = {}
    places: dict[str, list[Place]] = {}
    about: dict[str, str | None] = {}
    sides: dict[str, tuple[str, str]] = {}
    labels: dict[str, set[str]] = {}
    calls: dict[str, dict[str, None]] = {}
    for claim in group:
        for finding in claim.because:
            text = claims.explain(claim, finding)
            about.setdefault(text, _whose(claim, finding))
            sides.setdefault(text, MODES if claim.mode == "both" else TIMES)
            refs.setdefault(text, {}).update(dict.fromkeys(finding.events))
            places.setdefault(text, []).append(place_of(claim, finding, tellings))
            labels.setdefault(text, set()).update(_labels(finding))
            calls.setdefault(text, {}).update({finding.call_id: None} if finding.call_id else {})
            told = changes.setdefault(text, {})
            for change in _changes(claim, finding, tellings):
                told.setdefault(change.pointer, change)
    for text in sorted(refs, key=lambda text: min(places[text])):
        yield Reason(
            text,
            about[text],
            tuple(changes[text].values()),
            sides[text],
            tuple(refs[text]),
            min(places[text]),
            frozenset(labels[text]),
            tuple(calls[text]),
        )


_LABEL = re.compile(r"\b[A-Z][1-9][0-9]*\b")


def _labels(finding: Finding) -> Iterator[str]:
    """What of a finding's own fields names an object of the trace."""
    for field in (finding.state, finding.run, finding.subject):
        yield from _LABEL.findall(field or "")


def _whose(claim: ClaimResult, finding: Finding) -> str | None:
    if finding.state is not None:
        return f"{finding.state}, {finding.call_id}" if finding.call_id else finding.state
    if finding.run is None or claim.mode == "both":
        return finding.run
    return f"result of {finding.run}"


def _changes(claim: ClaimResult, finding: Finding, tellings: Mapping[Mode, TraceStory]) -> Iterator[Change]:
    """The change at the finding's pointer: as the states have it, else as the finding says. Between two modes
    it is what the one has and the other has not."""
    told = claims.change_of(finding)
    before, after = told.before, told.after
    if finding.pointer is not None:
        found = list(_in_states(finding, tellings))
        yield from found or [Change(finding.pointer, before, after)]
    elif claim.mode == "both" and not (before is ABSENT and after is ABSENT):
        where = finding.subject or "value"
        if isinstance(before, dict) and isinstance(after, dict):
            yield from (
                Change(f"{where} {each.pointer}", each.before, each.after) for each in diff(before, after)
            )
        else:
            yield Change(where, before, after)


def _in_states(finding: Finding, tellings: Mapping[Mode, TraceStory]) -> Iterator[Change]:
    """What changed there. A finding goes by places in a list; where an entry was lost or came, it is that."""
    pointer = finding.pointer or ""
    for ref in finding.events:
        telling = tellings.get(ref.mode)
        for changes in _looked_at(telling.step(ref.seq), finding) if telling else ():
            exact = [change for change in changes if change.pointer == pointer]
            lists = tuple({of_list for change in changes if (of_list := _moved(change, pointer)) is not None})
            if exact or lists:
                yield from exact or (change for change in changes if change.pointer.startswith(lists))
                return


def _looked_at(step: Step, finding: Finding) -> Iterator[tuple[Change, ...]]:
    """What changed in the state that a finding is about, or in the result."""
    yield from (look.changes for look in step.looks if look.state == finding.state)
    if finding.state is None and isinstance(step.event, ResultObserved):
        yield tuple(aligned(step.event.before, step.event.now))


def _moved(change: Change, pointer: str) -> str | None:
    """The list around a pointer that lost or got an entry by this change, at its place or before."""
    of_list, _, place = change.pointer.rpartition("/")
    of_list += "/"
    if (change.before is ABSENT) == (change.after is ABSENT) or not place.isdecimal():
        return None
    entry = pointer.removeprefix(of_list).partition("/")[0]
    behind = pointer.startswith(of_list) and entry.isdecimal() and int(entry) >= int(place)
    return of_list if behind else None
