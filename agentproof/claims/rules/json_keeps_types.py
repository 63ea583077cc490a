"""A tool output that has structure keeps it in a state's JSON.

Rule: where the script makes, decides, restores or serialises a state, an output of a tool that is a
mapping, a list, a model, a dataclass, a number or a boolean in the live state (or holds one) has not
become text at the same place in its JSON. Left out: what JSON has no form for (enums,
dates, paths, sets, exceptions, unknown objects).

Sites: outputs of tools found in both.

Not observed: no state held a tool's output.

From: openai/openai-agents-python#4339.

Shown by: `tests/scripts/cases/structured-list-output-repr` on 0.19.4.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ...models.diff import Change
from ...models.events import StateDecided, StateMade, StateRestored, StateSerialised
from ...models.items import Item, call_id_of, items_of, raw_of
from ...models.manifest import Finding
from ...models.values import from_state
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome, short

NAME = "json-keeps-types"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"states"})

_Looked = StateMade | StateRestored | StateSerialised | StateDecided

_Pair = tuple[_Looked, str, Any, Any]  # Any: values
"""An event, a call, its live output, and what the JSON holds for it."""

_FORMLESS = ({"name", "value"}, {"text"}, {"iso"}, {"seconds"}, {"args"}, {"name"}, {"items"})
"""Fields of encoded objects that JSON has no form for (see the recorder's encoding of values)."""


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every state of the one trace."""
    view = evidence.view
    pairs = [
        (event, call, live[call], written)
        for event, live in _seen(view)
        for call, written in _outputs(view.state(event.snapshot))
        if call in live
    ]
    return outcome(sites=len(pairs), because=_violations(pairs, view))


def _violations(pairs: Iterable[_Pair], view: View) -> Iterator[Finding]:
    told: set[tuple[str, str]] = set()
    for event, call, live, written in pairs:
        lost = next(_lost(live, written), None)
        if lost is None or (event.state, call) in told:
            continue
        told.add((event.state, call))
        yield make_finding(
            code="became_text",
            events=view.refs(event),
            state=event.state,
            call_id=call,
            pointer=lost.pointer or None,
            before=short(lost.before),
            after=short(lost.after),
        )


def _seen(view: View) -> Iterator[tuple[_Looked, dict[str, Any]]]:
    """Each moment at which a state's JSON was seen, with the live outputs of that state."""
    for event in view.events:
        if isinstance(event, StateMade | StateRestored | StateSerialised | StateDecided):
            live = {
                call: item.get("output")
                for item in items_of(event.live)
                if (call := call_id_of(item)) is not None
            }
            yield event, live


def _outputs(document: Any) -> Iterator[tuple[str, Any]]:  # Any: a state's JSON
    items: Any = document.get("generated_items") if isinstance(document, dict) else None
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and item.get("type") == "tool_call_output_item" and "output" in item:
            raw: Item = raw_of(item)
            call = call_id_of(raw)
            if call is not None:
                yield call, from_state(item["output"])


def _lost(live: Any, written: Any, *path: str) -> Iterator[Change]:  # Any: values
    """Places where what had structure has become text; `path` leads to the two values."""
    if isinstance(live, dict) and "$object" in live:
        if set(live["fields"]) in _FORMLESS:
            return
        live = live["fields"]
    elif isinstance(live, dict) and any(key.startswith("$") and not key.startswith("$$") for key in live):
        return
    if isinstance(written, str) and not isinstance(live, str):
        yield Change("".join(f"/{segment}" for segment in path), live, written)
    elif isinstance(live, dict) and isinstance(written, dict):
        for key in sorted(live.keys() & written.keys()):
            yield from _lost(live[key], written[key], *path, key)
    elif isinstance(live, list) and isinstance(written, list):
        for place, (one, other) in enumerate(zip(live, written, strict=False)):
            yield from _lost(one, other, *path, str(place))


def explain(finding: Finding) -> str:
    """Whose output it is."""
    return f"in the JSON of {finding.state}, the output of {finding.call_id} has become text"
