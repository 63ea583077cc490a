"""A state survives `to_json` and `from_json`.

Rule: where the script makes a state from JSON, the new state's JSON says the same as that JSON.
Left out: the caller's own context object, trace ids, the schema version, the marker that
`to_json()` sets, and keys that only one side has (a newer release adds some).

Sites: states made from JSON that was seen.

Not observed: the script restored no state.

From: openai/openai-agents-python#2487, #4339 touch what this watches; it found no report of those
studied by itself and is silent on all fixed releases.
"""

from collections.abc import Iterator

from ..models.diff import Absent
from ..models.events import StateRestored
from ..models.manifest import Finding
from ._evidence import Evidence, View
from ._outcome import Outcome, Scope, make_finding, outcome, sides

NAME = "round-trip"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"states"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every restored state of the one trace."""
    view = evidence.view
    restored = [event for event in view.of(StateRestored) if event.source is not None]
    return outcome(sites=len(restored), because=_violations(restored, view))


def _violations(restored: list[StateRestored], view: View) -> Iterator[Finding]:
    for event in restored:
        for change in view.changes(event.source or event.snapshot, event.snapshot):
            if _is_added_key(change.before) or _is_added_key(change.after):
                continue
            refs = view.refs(event)
            yield make_finding(code="lost_in_round_trip", events=refs, state=event.state, **sides(change))


def _is_added_key(side: object) -> bool:
    return isinstance(side, Absent) or side is None


def explain(finding: Finding) -> str:
    """Which state is not what its JSON said."""
    return f"{finding.state} is not what the JSON that it was restored from says"
