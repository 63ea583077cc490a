"""A stream announces what the result holds.

Rule: each run item that a stream announces is announced once, under the name of its type, and is among
the new items of the result; and of a run from fresh input that was consumed to its end, every such item
of the result was announced. Left out: runs that raised, were cancelled or left, and those whose
configuration filters items.

Sites: announced items.

Not observed: no stream announced an item.

From: openai/openai-agents-python#4146.

Shown by: `tests/scripts/cases/handoff-reported-as-tool-called` on 0.19.2.
"""

from collections import Counter
from collections.abc import Iterator

from ...models.events import Event, StreamCancelled, StreamItem
from ...models.items import Item, Key, fields_of, items_of, key_of, raw_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run, filters_handoff, filters_items

NAME = "stream-tells-result"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"runs", "streams"})

_TYPES = {
    "tool_called": "tool_call_item",
    "tool_output": "tool_call_output_item",
    "handoff_requested": "handoff_call_item",
    "handoff_occured": "handoff_output_item",  # as the SDK spells it
    "message_output_created": "message_output_item",
    "reasoning_item_created": "reasoning_item",
}
_KNOWN = frozenset(_TYPES.values())


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every stream of the one trace."""
    view = evidence.view
    items = view.of(StreamItem)
    told: dict[str, list[StreamItem]] = {}
    for event in items:
        told.setdefault(event.of_run, []).append(event)
    found = [_misnamed(event, view) for event in items]
    judged = [finding for finding in found if finding is not None]
    cancelled = {event.of_run for event in view.of(StreamCancelled)}
    for label, events in told.items():
        run = view.runs.get(label)
        if run is not None and label not in cancelled and not filters_items(run):
            judged += _differences(run, events, view)
    return outcome(sites=len(items), because=judged)


def _misnamed(event: StreamItem, view: View) -> Finding | None:
    kind = str(fields_of(event.item).get("type"))
    if event.name not in _TYPES or kind not in _KNOWN or kind == _TYPES[event.name]:
        return None
    return _finding("misnamed", (event,), event.of_run, f"{kind} as {event.name}", view)


def _differences(run: Run, events: list[StreamItem], view: View) -> Iterator[Finding]:
    if run.ended is None or not run.returned or filters_handoff(run):
        return
    announced = Counter(_key(fields_of(event.item)) for event in events)
    held = Counter(_key(item) for item in items_of(run.ended.items))
    for key, times in announced.items():
        if key[0] not in _KNOWN:
            continue
        if times > max(held[key], 1):
            yield _finding("announced_again", (run.ended,), run.label, _name(key), view)
        if not held[key]:
            yield _finding("not_in_result", (run.ended,), run.label, _name(key), view)
    if run.started.state is None:
        for key in held:
            if key[0] in _KNOWN and not announced[key]:
                yield _finding("not_announced", (run.ended,), run.label, _name(key), view)


def _key(item: Item) -> Key:
    return (str(item.get("type")), *key_of(raw_of(item)))


def _name(key: Key) -> str:
    return f"{key[0]} {key[-1]!r:.40}"


def _finding(code: str, events: tuple[Event, ...], run: str, subject: str, view: View) -> Finding:
    return make_finding(code=code, events=view.refs(*events), run=run, subject=subject)


def explain(finding: Finding) -> str:
    """What the stream said, or did not."""
    said = {
        "misnamed": "announced {}",
        "announced_again": "announced {} more than once",
        "not_in_result": "announced {}, which its result does not hold",
        "not_announced": "did not announce {}, which its result holds",
    }[finding.code]
    return f"the stream of run {finding.run} {said.format(finding.subject)}"
