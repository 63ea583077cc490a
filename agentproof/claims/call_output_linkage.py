"""What a model is told and what a result holds pairs each tool call with one output.

Rule: in every model input, and in the new items of a finished result, each tool call stands once,
before exactly one output, and each output has its call. Items that the script itself supplied are
excused for presence, not for order, and a call may occur as often as the model gave its id in the runs
that this one continues plus as often as the script supplied it. Left out: conversations that the
server manages, runs whose configuration filters items, and handoffs that may filter them.

Sites: tool calls and outputs looked at.

Not observed: no call and no output was there to look at.

From: openai/openai-agents-python#2171, #4147, #4324, #4615.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..models.events import Event
from ..models.manifest import Finding
from ._evidence import Evidence, View
from ._items import CALLS, OUTPUTS, Item, Key, answer_to, is_call, is_output, items_of, key_of, raw_of
from ._outcome import Outcome, Scope, outcome
from ._runs import Run, filters_items, has_handoff

NAME = "call-output-linkage"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"models", "runs"})


@dataclass(frozen=True)
class _Excuse:
    """What explains an item that stands alone or more than once."""

    supplied: Counter[Key]
    asked: Counter[Key]

    def times(self, key: Key) -> int:
        return max(1, self.supplied[key] + self.asked[key])


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every model input and every result of the one trace."""
    view = evidence.view
    sites = 0
    found: list[Finding] = []
    for run in view.runs.values():
        if filters_items(run) or has_handoff(run) or _lacks_origin(run, view):
            continue
        excuse = _excuse(run, view)
        for event, items in _places(run):
            sites += sum(1 for item in items if is_call(item) or is_output(item))
            unpaired = _unpaired(items, excuse)
            found += [_finding(code, key, event, run, view) for code, key in unpaired]
    return outcome(sites=sites, because=_first_of_each(found))


def _lacks_origin(run: Run, view: View) -> bool:
    """Whether the run goes on from a state of which the recorder may have missed where it came from."""
    return "states" in view.failed_parts and any(one.started.state is not None for one in run.owners())


def _places(run: Run) -> Iterator[tuple[Event, list[Item]]]:
    for call in run.model_calls():
        yield call, items_of(call.input)
    if run.finished and run.ended is not None and run.started.state is None:
        yield run.ended, [raw_of(item) for item in items_of(run.ended.items)]


def _excuse(run: Run, view: View) -> _Excuse:
    top = run.top()
    line = [*top.tree(), *(one for earlier in view.lineage.before(top) for one in earlier.tree())]
    asked: Counter[Key] = Counter()
    for one in line:
        for _, item in one.asked_calls():
            asked[key_of(item)] += 1
            asked[answer_to(key_of(item))] += 1
    return _Excuse(view.supplied, asked)


def _unpaired(items: Iterable[Item], excuse: _Excuse) -> Iterator[tuple[str, Key]]:
    times: Counter[Key] = Counter()
    first: dict[Key, int] = {}
    for place, item in enumerate(items):
        if is_call(item) or is_output(item):
            key = key_of(item)
            times[key] += 1
            first.setdefault(key, place)
    for key, count in times.items():
        if count > excuse.times(key):
            yield "occurs_again", key
        if key[0] in OUTPUTS:
            call = (OUTPUTS[key[0]], *key[1:])
            if call in first and first[call] > first[key]:
                yield "output_before_call", key
            elif call not in first and not excuse.supplied[key]:
                yield "output_without_call", key
        elif key[0] in CALLS and answer_to(key) not in first and not excuse.supplied[key]:
            yield "call_without_output", key


def _finding(code: str, key: Key, event: Event, run: Run, view: View) -> Finding:
    place = "the model input" if event is not run.ended else "the result"
    return Finding(code=code, events=view.refs(event), run=run.label, call_id=key[1], subject=place)


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
