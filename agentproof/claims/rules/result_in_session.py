"""What a result holds was stored in the run's session.

Rule: every message, call and output among the new items of a top-level run that returned was added to
its session, or is in it when the run is over; calls that wait for a decision may wait. An item of the
caller's input that the SDK stored during such a run and took out again (to try a model call again) is in it
when the run is over. Left out: runs whose configuration filters items or leaves them to a server.

Sites: new items of runs with a session, and items of the input that were taken out again.

Not observed: no run with a session returned new items.

From: openai/openai-agents-python#2426, #4160, #4615, #3857.

Shown by: `tests/scripts/cases/max-turns-output-not-stored` on 0.19.2.
"""

from collections.abc import Iterator

from ...models.events import SessionUsed
from ...models.items import (
    Item,
    Key,
    call_id_of,
    fields_of,
    is_call,
    is_output,
    items_of,
    key_of,
    raw_of,
    type_of,
)
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run, filters_items
from ..trace.sessions import added_by

NAME = "result-in-session"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"runs", "sessions"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every top-level run with a session of the one trace."""
    view = evidence.view
    pairs = [(run, item) for run in view.top for item in _stored_items(run)]
    taken = [(run, keys) for run in view.top if _is_judged(run) and (keys := _taken_out(run, view))]
    found = (*_violations(pairs, view), *_not_put_back(taken, view))
    return outcome(sites=len(pairs) + sum(len(keys) for _, keys in taken), because=found)


def _is_judged(run: Run) -> bool:
    end = run.ended
    if end is None or not run.returned or end.session is None or filters_items(run):
        return False
    return isinstance(end.session_after, list)


def _stored_items(run: Run) -> Iterator[Item]:
    """The new items that belong into the session."""
    end = run.ended
    if end is None or not _is_judged(run):
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


def _taken_out(run: Run, view: View) -> list[Key]:
    """Items of the caller's input that the SDK stored in this run and took out of the session again."""
    if run.ended is None or view.overlaps(run):
        return []
    used = [e for e in run.events if isinstance(e, SessionUsed) and e.by_sdk and e.error is None]
    added = {key_of(item) for event in used for item in added_by(event)}
    popped = {key_of(fields_of(event.result)) for event in used if event.operation == "pop_item"}
    given = [key_of(item) for item in items_of(run.started.input)]
    return [key for key in dict.fromkeys(given) if key in added and key in popped]


def _not_put_back(taken: list[tuple[Run, list[Key]]], view: View) -> Iterator[Finding]:
    for run, keys in taken:
        if run.ended is None:
            continue
        held = {key_of(item) for item in items_of(run.ended.session_after)}
        for key in keys:
            if key in held:
                continue
            yield make_finding(
                code="taken_out",
                events=view.refs(run.ended),
                run=run.label,
                subject=key[0],
                after=list(key),
            )


def explain(finding: Finding) -> str:
    """What is missing where."""
    if finding.code == "taken_out":
        return f"a {finding.subject} of the input of run {finding.run} was taken out of its session again"
    what = f"the {finding.subject}" + (f" of {finding.call_id}" if finding.call_id else "")
    return f"{what} in the result of run {finding.run} was not stored in its session"
