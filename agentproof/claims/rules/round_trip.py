"""A state survives `to_json` and `from_json`.

Rule: where the script makes a state from JSON, the new state's JSON says the same as that JSON.
Left out: the caller's own context object, trace ids, the schema version, the marker that
`to_json()` sets, and a key that is null on one side and not there on the other. Where the JSON is of
another schema version, which another release wrote, keys that the new one adds are left out too, with
values that were null, and keys that are gone and held nothing; an entry of a list, or a value that became
null, is lost all the same. Where the state is restored for an agent that lacks a tool of a pending call, the
pending function calls are left out.

Sites: states made from JSON that was seen.

Not observed: the script restored no state.

From: openai/openai-agents-python#2487, #4339 touch what this watches; it found no report of those
studied by itself and is silent on all fixed releases.

Shown by: a fault seeded into 0.24.0, `tests/seeded/round-trip.toml`.
"""

from collections.abc import Iterator
from typing import Any

from ...models.diff import Absent, Change
from ...models.events import StateRestored
from ...models.items import part_at
from ...models.manifest import Finding
from ...sdk import sdk_of
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome, sides

NAME = "round-trip"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"states"})

_PENDING = "/last_processed_response/functions"


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every restored state of the one trace."""
    view = evidence.view
    restored = [event for event in view.of(StateRestored) if event.source is not None]
    return outcome(sites=len(restored), because=_violations(restored, view))


def _violations(restored: list[StateRestored], view: View) -> Iterator[Finding]:
    for event in restored:
        source = event.source or event.snapshot
        before, after = view.comparable(source), view.comparable(event.snapshot)
        migrated = _version(view.state(source)) != _version(view.state(event.snapshot))
        for change in view.changes(source, event.snapshot):
            if _is_spelled_out(change) or (migrated and _is_new(change, before, after)):
                continue
            if event.lacking and change.pointer.startswith(_PENDING):
                continue
            refs = view.refs(event)
            yield make_finding(code="lost_in_round_trip", events=refs, state=event.state, **sides(change))


def _version(document: Any) -> Any:  # Any: a state's JSON
    return document.get(sdk_of(document).schema_key) if isinstance(document, dict) else None


def _is_spelled_out(change: Change) -> bool:
    """Whether a field without a value is written on one side and left out on the other."""
    return all(isinstance(side, Absent) or side is None for side in (change.before, change.after))


def _is_new(change: Change, before: Any, after: Any) -> bool:  # Any: states' JSON
    """Whether another release's JSON may differ so: a key that it adds, or one that it drops and that held
    nothing. Never an entry of a list."""
    parent = change.pointer.rpartition("/")[0]
    if any(isinstance(part_at(document, parent), list) for document in (before, after)):
        return False
    if isinstance(change.before, Absent) or change.before is None:
        return True
    return isinstance(change.after, Absent) and change.before in ("", [], {})


def explain(finding: Finding) -> str:
    """Which state is not what its JSON said."""
    return f"{finding.state} is not what the JSON that it was restored from says"
