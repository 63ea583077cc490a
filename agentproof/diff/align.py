"""Align two traces of one reproduction and name what they do not share. Pure.

Rules:
1. What is compared are the facts of the evidence projection, each with its event: not raw events, so
   that recordings by different versions of agentproof compare.
2. Facts are matched by what they are about: run and state (paired by `pairs`), tool and call id, and how
   often the same came before. Their place in the order is compared after.
3. A RunState's JSON is compared by pointer only where both sides have the same format; across
   versions what counts are the decisions that it holds (`/context/…approvals`), by call.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..models import wire
from ..models.comparison import About, TraceDifference
from ..models.diff import Absent, diff
from ..models.events import (
    Event,
    ModelCalled,
    RunEnded,
    RunStarted,
    ScriptEnded,
    StateDecided,
    StateMade,
    StateObserved,
    StateRestored,
    TestEnded,
    ToolEnded,
    ToolStarted,
)
from ..models.projection import Fact, placed
from ..models.text import ordinal
from ..models.trace import Mode, Trace
from ..models.wire import Sha256
from ..sdk import sdk_of
from .pairs import pair_runs, pair_states

State = Callable[[Sha256], Any]  # Any: a state's JSON

_LONGEST: Final = 300
_DECISIONS: Final = re.compile(r"/context/\w*approvals(?:/|$)")
_DECIDED: Final = ("approved", "rejected")
_NEW: Final = "\0"
"""Marks names of the second trace for what the first one has not."""
_MOMENTS: Final = {
    "decision": "at a decision",
    "restore": "at a restore",
    "run_start": "at the start of a run",
    "run_end": "at the end of a run",
    "exit": "at the end of the script",
}


@dataclass(frozen=True)
class AlignedFact:
    """A fact, with what it is about."""

    key: tuple[str, ...]
    about: About
    subject: str
    seq: int
    fact: Fact
    schema: str | None


def compare_traces(
    before: Trace, before_state: State, after: Trace, after_state: State
) -> Iterator[TraceDifference]:
    """What the two traces do not share, in the order of the first one, then what is new in the second."""
    runs = pair_runs(before, after)
    namer = _Namer()
    mine = steps(before, before_state, namer)
    theirs = steps(after, after_state, _Namer(namer, runs, pair_states(before, after, runs)))
    shared = mine.keys() & theirs.keys()
    for key, step in mine.items():
        if key not in shared:
            yield _lonely("gone", before.mode, step)
        else:
            yield from _changes(before.mode, step, theirs[key])
    for key, step in theirs.items():
        if key not in shared:
            yield _lonely("new", before.mode, step)
    yield from _moves(before.mode, mine, theirs)


def steps(trace: Trace, state: State, namer: "_Namer") -> dict[tuple[str, ...], AlignedFact]:
    """The facts of a trace by what they are about, in order."""
    found: dict[tuple[str, ...], AlignedFact] = {}
    counts: dict[tuple[str, ...], int] = {}
    for event, fact in placed(trace, state):
        about, names, subject = namer.name(event, fact)
        count = counts[about, *names] = counts.get((about, *names), 0) + 1
        if count > 1:
            subject += f" ({count})"
        schema = None
        if isinstance(event, StateDecided | StateObserved):
            document = state(event.snapshot)
            schema = str(document.get(sdk_of(document).schema_key)) if isinstance(document, Mapping) else None
        key = (about, *names, str(count))
        found[key] = AlignedFact(key, about, subject, event.seq, fact, schema)
    return found


class _Namer:
    """Says what a fact is about, the same way in both recordings.

    Of the second one, what has a partner in the first is called as that is. What has none keeps its own
    number, and is told from what the first one calls so by a mark behind its name that nobody is shown.
    """

    def __init__(
        self,
        first: "_Namer | None" = None,
        runs: Mapping[str, str] | None = None,
        states: Mapping[str, str] | None = None,
    ) -> None:
        self.runs: dict[str, str] = {}
        self.states: dict[str, str] = {}
        self._first = first
        self._run_of, self._state_of = runs or {}, states or {}
        self._seen: dict[str, int] = {}

    def name(self, event: Event, fact: Fact) -> tuple[About, tuple[str, ...], str]:
        about, names, subject = self._name(event, fact)
        return about, names, subject.replace(_NEW, "")

    def _name(  # noqa: PLR0911 - a table
        self, event: Event, fact: Fact
    ) -> tuple[About, tuple[str, ...], str]:
        run = self.runs.get(event.run or "", "")
        within = f" in the {run}" if run else ""
        match event:
            case RunStarted():
                run = self._new_run(event)
                return "run", (run,), f"the {run}"
            case RunEnded():
                return "end", (run,), f"the end of the {run}"
            case ToolStarted():
                call = event.call_id or ""
                return "tool", (run, event.tool, call), f"tool {event.tool}{_for(call)}{within}"
            case ToolEnded():
                call = event.call_id or ""
                subject = f"the output of tool {event.tool}{_for(call)}{within}"
                return "output", (run, event.tool, call), subject
            case ModelCalled():
                return "input", (run,), f"the model's input{within}"
            case StateDecided():
                state, call = self._state(event.state, fact), event.call_id or ""
                subject = f"the decision to {event.decision}{f' {call}' if call else ''} on {state}"
                return "decision", (state, event.decision, call), subject
            case StateMade() | StateRestored():
                state = self._state(event.state, fact)
                how = "made from a result" if isinstance(event, StateMade) else "restored from JSON"
                return "state", (state, event.kind), f"{state}, {how}"
            case StateObserved():
                state = self._state(event.state, fact)
                return "change", (state, event.moment), f"a change in {state}, seen {_MOMENTS[event.moment]}"
            case ScriptEnded():
                return "script", (), "the end of the script"
            case TestEnded():
                return "test", (event.test,), f"the end of test {event.test}"
            case _:
                raise TypeError(f"the projection gives no fact for {event.kind}")

    def _new_run(self, event: RunStarted) -> str:
        parent = self.runs.get(event.parent or "")
        name = f"run of {event.agent}"
        if event.call_id is not None:
            name += f" for {event.call_id}"
        if parent is not None:
            name += f" in the {parent}"
        self._seen[name] = self._seen.get(name, 0) + 1
        if self._seen[name] > 1:
            name = f"{ordinal(self._seen[name])} {name}"
        if event.run is not None:
            if self._first is not None and parent is None:
                partner = self._run_of.get(event.run)
                name = f"{name}{_NEW}" if partner is None else self._first.runs[partner]
            self.runs[event.run] = name
        return name

    def _state(self, label: str, fact: Fact) -> str:
        name = str(fact["state"])
        if self._first is not None:
            partner = self._first.states.get(self._state_of.get(label, ""))
            name = f"{name}{_NEW}" if partner is None else partner
        self.states[label] = name
        return name


def _for(call: str) -> str:
    return f" for {call}" if call else ""


def _lonely(what: str, mode: Mode, step: AlignedFact) -> TraceDifference:
    subject = wire.bounded(step.subject)
    # Any: a wire shape
    shape: dict[str, Any] = {"mode": mode, "what": what, "about": step.about, "subject": subject}
    number, side = ("event", "before") if what == "gone" else ("other_event", "after")
    shape[number] = step.seq
    if content := {name: part for name, part in _by_pointer(step.fact).items() if name != "fact" and part}:
        shape[side] = bounded(content)
    return TraceDifference.from_shape(shape)


def _changes(mode: Mode, mine: AlignedFact, theirs: AlignedFact) -> Iterator[TraceDifference]:
    facts = (mine.fact, theirs.fact)
    if mine.schema != theirs.schema:
        facts = (_decisions_only(mine.fact), _decisions_only(theirs.fact))
    for change in diff(_by_pointer(facts[0]), _by_pointer(facts[1])):
        shape: dict[str, Any] = {  # Any: a wire shape
            "mode": mode,
            "what": "changed",
            "about": mine.about,
            "subject": wire.bounded(mine.subject),
            "event": mine.seq,
            "other_event": theirs.seq,
            "pointer": wire.bounded(change.pointer),
        }
        for side, part in (("before", change.before), ("after", change.after)):
            if not isinstance(part, Absent) and part is not None:
                shape[side] = bounded(part)
        yield TraceDifference.from_shape(shape)


def _decisions_only(fact: Fact) -> Fact:
    """The fact with the calls that became approved or rejected, wherever the state's schema keeps them."""
    if "changes" not in fact:
        return fact
    found: dict[str, dict[str, set[str]]] = {}
    for change in fact["changes"]:
        if _DECISIONS.match(change["pointer"]):
            named = next((part for part in change["pointer"].split("/") if part in _DECIDED), None)
            for side in ("before", "after"):
                for decision, call in _decided(change.get(side), named):
                    found.setdefault(decision, {"before": set(), "after": set()})[side].add(call)
    return {
        **fact,
        "changes": [
            {"pointer": f"/{decision}"} | {side: sorted(calls) for side, calls in sides.items() if calls}
            for decision, sides in sorted(found.items())
            if sides["before"] != sides["after"]
        ],
    }


def _decided(value: Any, decision: str | None) -> Iterator[tuple[str, str]]:  # Any: a part of a state's JSON
    """The calls in a part of a state's approvals; a decision on every call of a tool counts as `*`."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _decided(part, name if name in _DECIDED else decision)
    elif isinstance(value, list):
        for part in value:
            yield from _decided(part, decision)
    elif decision is not None and isinstance(value, str):
        yield decision, value
    elif decision is not None and value is True:
        yield decision, "*"


def _by_pointer(fact: Fact) -> Fact:
    """State changes by pointer instead of by place, so that one more of them moves no other."""
    fact = {name: part for name, part in fact.items() if name not in ("run", "state")}
    if "changes" in fact:
        fact["changes"] = {
            change["pointer"]: {side: change[side] for side in ("before", "after") if side in change}
            for change in fact["changes"]
        }
    return fact


def _moves(
    mode: Mode, mine: Mapping[tuple[str, ...], AlignedFact], theirs: Mapping[tuple[str, ...], AlignedFact]
) -> Iterator[TraceDifference]:
    """The first of the shared facts that comes at another place among them."""
    order = [key for key in theirs if key in mine]
    for key, other in zip((key for key in mine if key in theirs), order, strict=True):
        if key != other:
            yield TraceDifference(
                mode=mode,
                what="moved",
                about="order",
                subject=wire.bounded(f"{mine[key].subject}, where {theirs[other].subject} now comes"),
                event=mine[key].seq,
                other_event=theirs[key].seq,
            )
            return


def bounded(value: Any) -> Any:  # Any: a value
    """The value, or the beginning of its JSON where that is long."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return value if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
