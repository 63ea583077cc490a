"""A place in what was recorded holds this value, or the same as another place.

Rule: a place is a RFC 6901 `pointer` ("" for the whole) into one of these: the JSON of state number
`state`; the input of model call number `model_input`; the new items (`result`) or the `to_input_list()`
(`input_list`) of the result of the top-level run with this number; what session number `session` held
after the last run on it; what the script gave to `probe.observe` under the label `observed`. Numbers
count from 1 by first appearance. A state is looked at when the script was done with it
(`when = "last"`), or as it was made (`when = "first"`). The place holds what `equals` says, has
`length` entries, `contains` a text or an entry, is `absent`, or holds the `same` as another place. In a
list `-` is the last entry.

Sites: the one place.

Not observed: there is no such state, call, run or label.

From: the author of the reproduction.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import model_validator

from ...models.diff import Absent
from ...models.events import Event, ModelCalled, RunEnded
from ...models.manifest import Finding
from ...models.values import Value, from_state
from ...models.wire import Count, Text, compact
from ..trace.evidence import Evidence, View
from ..trace.looked import Looked
from ..trace.outcome import MAX_VALUE_BYTES, NOT_OBSERVED, Outcome, Scope, make_finding, short
from ..trace.states import StateLine
from .kind import Arguments, Number, chosen, resolve

NAME = "value-at"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"models", "probe", "results", "runs", "sessions", "states"})
"""Of all places together; one claim needs only those of its own (see `needs`)."""

_NEEDS = {
    "state": frozenset({"runs", "states"}),
    "model_input": frozenset({"models"}),
    "result": frozenset({"results", "runs"}),
    "input_list": frozenset({"results", "runs"}),
    "session": frozenset({"runs", "sessions"}),
    "observed": frozenset({"probe"}),
}


class Place(Arguments):
    """Where to look."""

    state: Number | None = None
    when: Literal["first", "last"] = "last"
    model_input: Number | None = None
    result: Number | None = None
    input_list: Number | None = None
    session: Number | None = None
    observed: Text | None = None
    pointer: Text = ""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        """It is one place."""
        given = [self.state, self.model_input, self.result, self.input_list, self.session, self.observed]
        if sum(one is not None for one in given) != 1:
            raise ValueError(
                "give one of `state`, `model_input`, `result`, `input_list`, `session`, `observed`"
            )
        if self.pointer and not self.pointer.startswith("/"):
            raise ValueError("a `pointer` is empty or begins with /")
        return self


class ValueAt(Arguments):
    """What may be written."""

    at: Place
    equals: Value | None = None
    length: Count | None = None
    contains: Value | None = None
    absent: bool | None = None
    same: Place | None = None

    @model_validator(mode="after")
    def _one_demand(self) -> Self:
        """It says one thing of that place."""
        given = [self.equals, self.length, self.contains, self.absent, self.same]
        if sum(one is not None for one in given) != 1:
            raise ValueError("give one of `equals`, `length`, `contains`, `absent`, `same`")
        return self


ARGUMENTS = ValueAt


def needs(arguments: ValueAt) -> frozenset[str]:
    """The recorder's parts that tell of the places which the claim names."""
    places = [place for place in (arguments.at, arguments.same) if place is not None]
    found = [parts for place in places for name, parts in _NEEDS.items() if getattr(place, name) is not None]
    return frozenset[str]().union(*found)


def evaluate(evidence: Evidence, arguments: ValueAt) -> Outcome:
    """Look at the one trace."""
    view = evidence.view
    found = _find(arguments.at, view)
    other = _find(arguments.same, view) if arguments.same is not None else None
    if found is None or (arguments.same is not None and other is None):
        return NOT_OBSERVED
    event, held = found
    wanted: Any = _readable(other[1]) if other is not None else arguments.equals  # Any: a value
    match arguments:
        case ValueAt(absent=bool() as absent):
            fits = held.is_absent == absent
            wanted = "absent" if absent else "present"
        case ValueAt(length=int() as length):
            fits = held.length == length
            wanted = f"{length} entries"
        case ValueAt(contains=contains) if contains is not None:
            view.looked.count(held.size)
            fits = _contains(held.value(), contains)
            wanted = contains
        case _:
            fits = held.code == (other[1].code if other is not None else compact(arguments.equals))
    finding = make_finding(
        code="is_it" if fits else "is_another",
        events=view.refs(event, *((other[0],) if other is not None else ())),
        pointer=arguments.at.pointer,
        subject=_name(arguments),
        before=wanted if other is not None else short(wanted),
        after=_readable(held),
    )
    return Outcome("holds" if fits else "violated", 1, (finding,))


def _readable(held: Looked) -> Any:  # Any: a value
    """What is held, where it can be read in a finding."""
    return None if held.is_absent or held.size > MAX_VALUE_BYTES else short(held.value())


def _find(place: Place, view: View) -> tuple[Event, Looked] | None:
    """The event that shows the place, and what it holds; None where the place does not exist."""
    if place.state is not None:
        line = view.states.get(f"S{place.state}")
        seen = _looked_at(line, place.when) if line is not None else None
        if seen is None:
            return None
        digest = seen[1]

        def in_state() -> Any | Absent:  # Any: a value
            held = resolve(view.state(digest), place.pointer)
            return held if isinstance(held, Absent) else from_state(held)

        return seen[0], view.looked.at((digest, place.pointer), in_state)
    told = _told(place, view)
    if told is None:
        return None
    event, document = told
    # The end of one run shows its items, its input list and its session.
    kept = (event.seq, place.result is not None, place.session is not None, place.pointer)
    return event, view.looked.at(kept, lambda: resolve(document, place.pointer))


def _told(place: Place, view: View) -> tuple[Event, Any] | None:  # Any: a value
    """The event that holds the document of a place that is not a state, and the document."""
    told: Sequence[tuple[Event, Any]]  # Any: values
    if place.observed is not None:
        told = [(e, e.value) for e in view.observed.get(place.observed, [])[-1:]]
    elif place.model_input is not None:
        told = [(e, e.input) for e in view.of(ModelCalled)][place.model_input - 1 :][:1]
    elif place.session is not None:
        ends = [end for end in view.of(RunEnded) if end.session == f"D{place.session}"]
        told = [(end, end.session_after) for end in ends if isinstance(end.session_after, list)][-1:]
    else:
        ended = [run.ended for run in chosen(view, place.result or place.input_list) if run.returned]
        told = [(e, e.items if place.result else e.input_list) for e in ended if e is not None]
    return told[0] if told else None


def _looked_at(line: StateLine, when: str) -> tuple[Event, str] | None:
    looks: list[tuple[Event, str | None]] = [(e, e.snapshot) for e in line.observed]
    looks += [(e, e.snapshot) for e in line.decisions]
    looks += [(e, e.snapshot) for e in line.serialised]
    looks += [(run.started, run.started.snapshot) for run in line.runs]
    looks += [(run.ended, run.ended.input_state) for run in line.runs if run.ended is not None]
    if line.birth is not None:
        looks.append((line.birth, line.birth.snapshot))
    seen = sorted(
        ((event, digest) for event, digest in looks if digest is not None), key=lambda look: look[0].seq
    )
    if not seen:
        return None
    return seen[0] if when == "first" else seen[-1]


def _contains(value: Any, part: Any) -> bool:  # Any: values
    if isinstance(value, str) and isinstance(part, str):
        return part in value
    if isinstance(value, list):
        code = compact(part)
        return any(compact(item) == code for item in value)
    return isinstance(value, dict) and isinstance(part, str) and part in value


def _name(arguments: ValueAt) -> str:
    place = arguments.at
    words = (
        ("state S", place.state),
        ("model input ", place.model_input),
        ("result ", place.result),
        ("input list ", place.input_list),
        ("session D", place.session),
    )
    return next(
        (f"{word}{number}" for word, number in words if number is not None), f"observed {place.observed}"
    )


def explain(finding: Finding) -> str:
    """Which place does not hold what was claimed."""
    return f"{finding.subject} at {finding.pointer or 'its root'} is not as claimed"
