"""A RunState's JSON changes only through an operation on that very state.

Rule: between two looks at a state that the script holds, its JSON stays the same unless the script
decided, restored or resumed that very state in between. Left out: the caller's own context object,
the trace's ids, the schema version, and the marker that `to_json()` itself sets; the inside of objects
that are the script's own and that it may go on changing (a tool's output that is no text or number, a
guardrail's information, the input items that the caller gave); and a state from the
moment that a run resumed from it has returned, for the result of that run may go on using it. A change
counts as the state's own when one of its operations or runs may have overlapped with it, whatever the
order in which the trace lists parallel events.

Sites: operations on other states and ends of other runs, while the state is known to be alive.

Not observed: no state was there while something else happened.

From: openai/openai-agents-python#4409, #4413 (a decision leaks to the other checkpoint), #4479 (two
checkpoints share one usage), and the interruptions of a sibling emptied by a run (no public report;
seen on 0.22.0 and 0.24.0).

Shown by: `tests/scripts/cases/decision-leaks-to-other-checkpoint` on 0.20.0.
"""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from itertools import islice

from ...errors import BundleError
from ...models.events import (
    Event,
    ResultObserved,
    RunEnded,
    StateDecided,
    StateMade,
    StateObserved,
    StateRestored,
)
from ...models.items import call_id_of, items_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import MAX_FINDINGS, Outcome, Scope, make_finding, outcome, sides
from ..trace.owned import is_scripts_own
from ..trace.runs import Run
from ..trace.states import StateLine

NAME = "state-integrity"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"states", "runs"})

_MAX_PAIRS = 5_000_000
"""Looks at a state and its own operations, which are compared with each other: an honest script that resumes
one state a hundred times and is looked at as often has 10,000."""


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every state of the one trace.

    Raises BundleError: one state is resumed and looked at more often than in any honest trace.
    """
    view = evidence.view
    lines = view.states.values()
    if sum(len(line.observed) * (len(line.runs) + len(line.decisions)) for line in lines) > _MAX_PAIRS:
        raise BundleError("too_parallel", "the trace resumes and shows one state too often")
    operations = [e for e in view.events if isinstance(e, StateDecided | StateRestored | RunEnded)]
    own: dict[str, list[int]] = {}
    for event in operations:
        for label in _touched(event, view):
            own.setdefault(label, []).append(event.seq)
    seqs = [event.seq for event in operations]
    sites = sum(_sites(line, seqs, own.get(line.label, [])) for line in lines)
    found = [
        finding
        for line in lines
        for finding in islice(_violations(line, view), MAX_FINDINGS)  # in the order of their events
    ]
    return outcome(sites=sites, because=sorted(found, key=lambda finding: finding.events[0].seq))


def _sites(line: StateLine, operations: list[int], own: list[int]) -> int:
    """How many operations stand between the state's birth and its last sight, without its own."""
    if line.birth is None:
        return 0
    first, last = line.birth.seq, min(line.last_seen(), _spent(line))
    return max(0, _between(operations, first, last) - _between(own, first, last))


def _between(seqs: list[int], first: int, last: int) -> int:
    return bisect_left(seqs, last) - bisect_right(seqs, first)


def _spent(line: StateLine) -> int:
    """The event from which on the state is left out."""
    ends = [run.ended.seq for run in line.runs if run.returned and run.ended is not None]
    return min(ends, default=sys.maxsize)


def _touched(event: Event, view: View) -> set[str]:
    """The states whose own operation this is: all of them for the end of a run that is not known."""
    match event:
        case StateDecided() | StateRestored():
            return {event.state}
        case _:
            run = view.runs.get(event.run or "")
            if run is None:
                return set(view.states)
            return {owner.started.state for owner in run.owners() if owner.started.state is not None}


def _violations(line: StateLine, view: View) -> Iterator[Finding]:
    told: set[str] = set()
    types = _output_types(line)
    seen = _seen(line)
    for look in line.observed:
        if look.seq > _spent(line):
            break
        cause = _cause(look, view)
        if _has_own_cause(line, look, cause, _look_before(seen, look), view):
            continue
        for change in view.changes(look.before, look.snapshot):
            if change.pointer in told:
                continue
            sides_seen = view.comparable(look.before), view.comparable(look.snapshot)
            if is_scripts_own(change, *sides_seen, types):
                continue
            told.add(change.pointer)
            yield make_finding(
                code=_code(cause),
                events=view.refs(look, *((cause,) if cause else ())),
                state=line.label,
                run=cause.run if isinstance(cause, RunEnded) else None,
                subject=_name(cause, view),
                **sides(change),
            )


def _output_types(line: StateLine) -> dict[str, str]:
    """The Python types of the tool outputs that the state held, by call id: its JSON may not tell them."""
    told = [*line.decisions, *line.serialised, *([line.birth] if line.birth is not None else [])]
    found = (item for event in told for item in items_of(event.live))
    return {
        call: item["output_type"]
        for item in found
        if (call := call_id_of(item)) is not None and isinstance(item.get("output_type"), str)
    }


def _has_own_cause(
    line: StateLine, look: StateObserved, cause: Event | None, before: Event | None, view: View
) -> bool:
    """Whether an operation on the state itself may lie between this look and `before`, the one before it."""
    since = before.seq if before is not None else 0
    if _between(line.decided, since, look.seq):
        return True
    own: list[tuple[Event, Event | None]] = [(run.started, _last_effect(run, cause)) for run in line.runs]
    if view.is_parallel:
        own += [(one, one) for one in line.decisions]
    for start, end in own:
        if view.happens_before(look, start):
            continue
        if end is not None and before is not None and (end is before or view.happens_before(end, before)):
            continue
        return True
    return False


def _last_effect(run: Run, cause: Event | None) -> Event | None:
    """The event after which a run changes its state no more; None where it may go on.

    A run whose consumer left it, or that was cancelled, goes on. What a raised run left behind may go
    on too, unless somebody else's operation is plainly there to explain the change.
    """
    if run.ended is None or run.ended.outcome in ("cancelled", "left", "unfinished"):
        return None
    return None if run.ended.outcome == "raised" and cause is None else run.ended


def _seen(line: StateLine) -> dict[str, list[Event]]:
    """The events that showed the state, in their order, by how it was."""
    looks: list[tuple[Event, str | None]] = [(one, one.snapshot) for one in line.observed]
    looks += [(one, one.snapshot) for one in line.decisions]
    looks += [(run.started, run.started.snapshot) for run in line.runs]
    looks += [(run.ended, run.ended.input_state) for run in line.runs if run.ended is not None]
    if line.birth is not None:
        looks.append((line.birth, line.birth.snapshot))
    found: dict[str, list[Event]] = {}
    for event, digest in sorted(looks, key=lambda look: look[0].seq):
        found.setdefault(digest or "", []).append(event)
    return found


def _look_before(seen: Mapping[str, list[Event]], look: StateObserved) -> Event | None:
    """The event that last showed the state as `look.before` says that it was."""
    events = seen.get(look.before, [])
    count = bisect_left(events, look.seq, key=lambda event: event.seq)
    return events[count - 1] if count else None


def _cause(look: StateObserved, view: View) -> Event | None:
    """The operation that this look belongs to: the states are looked at just after a decision, a restore
    or the making of a state, and just before the end of a run is written down.

    Just after an operation its own state is not looked at, for the operation itself says how it left it; so
    a look that shows that very state changed came just before the next operation, and belongs to none.
    """
    if look.moment == "run_end":
        return _beside(look, view, step=1, kinds=(RunEnded,))
    match _beside(look, view, step=-1, kinds=_LOOKED_AT_AFTER.get(look.moment, ())):
        case StateDecided() | StateMade() | StateRestored() as cause if cause.state != look.state:
            return cause
        case _:
            return None


_LOOKED_AT_AFTER: Mapping[str, tuple[type[Event], ...]] = {
    "decision": (StateDecided, StateMade),
    "restore": (StateRestored,),
}
"""The operations after which the states are looked at, by what that moment is called."""


def _beside(look: StateObserved, view: View, *, step: int, kinds: tuple[type[Event], ...]) -> Event | None:
    """The nearest event in this direction, other looks aside, if it is of one of these kinds."""
    seq = look.seq + step
    while 1 <= seq <= len(view.events):
        event = view.event(seq)
        if not isinstance(event, StateObserved | ResultObserved):
            return event if isinstance(event, kinds) else None
        seq += step
    return None


def _code(cause: Event | None) -> str:
    match cause:
        case StateDecided():
            return "changed_by_decision"
        case StateMade():
            return "changed_by_making"
        case StateRestored():
            return "changed_by_restore"
        case RunEnded():
            return "changed_by_run"
        case _:
            return "changed_by_nothing"


def _name(cause: Event | None, view: View) -> str | None:
    match cause:
        case StateDecided() | StateMade() | StateRestored():
            return cause.state
        case RunEnded():
            run = view.runs.get(cause.run or "")
            return run.started.state if run is not None else None
        case _:
            return None


def explain(finding: Finding) -> str:
    """What changed, and what was done meanwhile."""
    state, other = finding.state, finding.subject
    match finding.code:
        case "changed_by_decision":
            return f"{state} changed while only {other} was decided"
        case "changed_by_making":
            return f"{state} changed while only {other} was made from a result"
        case "changed_by_restore":
            return f"{state} changed while only {other} was restored"
        case "changed_by_run":
            resumed = f", resumed from {other}," if other else ""
            return f"{state} changed while only run {finding.run}{resumed} went on"
        case _:
            return f"{state} changed without an operation on it"
