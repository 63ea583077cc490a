"""What a result holds was stored in the run's session.

Rule: every message, call and output among the new items of a top-level run that returned was added to
its session, or is in it when the run is over; calls that wait for a decision may wait. Left out: runs
whose configuration filters items or leaves them to a server.

Sites: new items of runs with a session.

Not observed: no run with a session returned new items.

From: openai/openai-agents-python#2426, #4160, #4615.
"""

from collections.abc import Iterator

from ..models.manifest import Finding
from ._evidence import Evidence, View
from ._items import Item, call_id_of, is_call, is_output, items_of, key_of, raw_of, type_of
from ._outcome import Outcome, Scope, make_finding, outcome
from ._runs import Run, filters_items

NAME = "result-in-session"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"runs", "sessions"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every top-level run with a session of the one trace."""
    view = evidence.view
    pairs = [(run, item) for run in view.top for item in _stored_items(run)]
    return outcome(sites=len(pairs), because=_violations(pairs, view))


def _stored_items(run: Run) -> Iterator[Item]:
    """The new items that belong into the session."""
    end = run.ended
    if end is None or not run.returned or end.session is None or filters_items(run):
        return
    if not isinstance(end.session_after, list):
        return
    waiting = run.interrupted_calls()
    for item in items_of(end.items):
        raw = raw_of(item)
        kept = is_call(raw) or is_output(raw) or type_of(raw) == "message"
        if kept and item.get("type") != "tool_approval_item" and call_id_of(raw) not in waiting:
            yield raw


def _violations(pairs: list[tuple[Run, Item]], view: View) -> Iterator[Finding]:
    for run, raw in pairs:
        end = run.ended
        if end is None or end.session is None:
            continue
        key = key_of(raw)
        held = {key_of(item) for item in items_of(end.session_after)} | view.stores.of(end.session).added()
        if key not in held:
            yield make_finding(
                code="not_stored",
                events=view.refs(end),
                run=run.label,
                call_id=key[1] if key[0] != "message" else None,
                subject=key[0],
                after=list(key),
            )


def explain(finding: Finding) -> str:
    """What is missing where."""
    what = f"the {finding.subject}" + (f" of {finding.call_id}" if finding.call_id else "")
    return f"{what} in the result of run {finding.run} was not stored in its session"
