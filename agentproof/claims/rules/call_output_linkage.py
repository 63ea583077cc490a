"""Model inputs, results and sessions pair each tool call with one output.

Rule: in every model input, in the new items and the `to_input_list()` of a finished result, and in the
session after a top-level run, each tool call stands once, before exactly one output, and each output has
its call. Items that the script itself supplied are excused for presence, not for order. A call may occur
as often as the model gave its id in runs that share a session or a line of states, plus as often as the
script supplied it. That a session is complete is asked only of calls of this line of states, and only
once the run waits for nothing. Left out: conversations that the server manages, runs and handoffs that
filter or nest what they pass on, and sessions that the script itself popped or cleared.

Sites: tool calls and outputs looked at.

Not observed: no call and no output was there to look at.

From: openai/openai-agents-python#2171, #4147, #4324, #4615.

Shown by: `tests/scripts/cases/limited-session-orphan-output` on 0.19.4.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...models.events import Event
from ...models.items import CALLS, OUTPUTS, Item, Key, answer_to, is_call, is_output, items_of, key_of, raw_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run, filters_handoff, filters_items

NAME = "call-output-linkage"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"models", "runs"})


@dataclass(frozen=True)
class _Place:
    """Where items stand, and what explains one that stands alone or more than once."""

    name: str
    event: Event
    items: list[Item]
    supplied: Counter[Key] = field(default_factory=Counter)
    complete: frozenset[Key] | None = None
    """The calls that must have an output; None means all of them."""


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every place of the one trace."""
    view = evidence.view
    sites = 0
    found: list[Finding] = []
    for run in view.runs.values():
        if filters_items(run) or filters_handoff(run) or _lacks_origin(run, view):
            continue
        asked = view.threads.asked(run)
        for place in _places(run, view):
            sites += sum(1 for item in place.items if is_call(item) or is_output(item))
            found += [
                make_finding(
                    code=code,
                    events=view.refs(place.event),
                    run=run.label,
                    call_id=key[1],
                    subject=place.name,
                )
                for code, key in _unpaired(place, asked)
            ]
    return outcome(sites=sites, because=_first_of_each(found))


def _lacks_origin(run: Run, view: View) -> bool:
    """Whether the run goes on from something of which the recorder may have missed where it came from."""
    return ("states" in view.failed_parts and any(one.started.state for one in run.owners())) or (
        "sessions" in view.failed_parts and run.top().started.session is not None
    )


def _places(run: Run, view: View) -> Iterator[_Place]:
    for call in run.model_calls():
        yield _Place("the model input", call, items_of(call.input), view.supplied)
    end = run.ended
    if end is None:
        return
    if run.finished and run.started.state is None:
        yield _Place("the result", end, [raw_of(item) for item in items_of(end.items)])
        yield _Place("to_input_list()", end, items_of(end.input_list), view.supplied)
    if run.parent is not None or end.session is None or not isinstance(end.session_after, list):
        return
    if not view.stores.is_cut(end.session) and not view.overlaps(run):
        held = items_of(end.session_after)
        complete = _own(run, held, view) if run.finished else frozenset[Key]()
        yield _Place("the session", end, held, view.supplied, complete)


def _own(run: Run, held: list[Item], view: View) -> frozenset[Key]:
    """The calls among these that the model gave in this run or in one that it continues."""
    line = {one.label for one in (run, *view.lineage.before(run))}
    calls = {key_of(item) for item in held if is_call(item)}
    return frozenset(call for call in calls if not line.isdisjoint(view.threads.givers(call)))


def _unpaired(place: _Place, asked: Counter[Key]) -> Iterator[tuple[str, Key]]:
    times: Counter[Key] = Counter()
    first: dict[Key, int] = {}
    for position, item in enumerate(place.items):
        if is_call(item) or is_output(item):
            key = key_of(item)
            times[key] += 1
            first.setdefault(key, position)
    for key, count in times.items():
        if count > max(1, place.supplied[key] + asked[key]):
            yield "occurs_again", key
        if key[0] in OUTPUTS:
            call = (OUTPUTS[key[0]], *key[1:])
            if call in first and first[call] > first[key]:
                yield "output_before_call", key
            elif call not in first and not place.supplied[key]:
                yield "output_without_call", key
        elif _must_be_answered(key, place) and answer_to(key) not in first:
            yield "call_without_output", key


def _must_be_answered(key: Key, place: _Place) -> bool:
    if key[0] not in CALLS or place.supplied[key]:
        return False
    return place.complete is None or key in place.complete


def _first_of_each(found: Iterable[Finding]) -> Iterator[Finding]:
    """The same fault is seen in every later model input: told once."""
    told: set[tuple[object, ...]] = set()
    for finding in found:
        what = (finding.code, finding.call_id, finding.run, finding.subject)
        if what not in told:
            told.add(what)
            yield finding


def explain(finding: Finding) -> str:
    """Which call or output is not paired, and where."""
    what = {
        "occurs_again": f"{finding.call_id} occurs more often than it was made",
        "output_before_call": f"the output of {finding.call_id} stands before its call",
        "output_without_call": f"the output of {finding.call_id} has no call",
        "call_without_output": f"call {finding.call_id} has no output",
    }[finding.code]
    return f"in {finding.subject} of run {finding.run}, {what}"
