"""What a session holds, its run is told; what a run leaves there, is its own.

Rule: the first model input of a top-level run from fresh input holds every message, output and answered
call that its session held before; and whatever the session holds beyond that afterwards is the run's
input or an item of its result. Left out: sessions with a limit or that another run used at the same time,
runs whose configuration filters items or leaves them to a server, and for what is left there runs that
raised, handed over with a filter or compacted a session.

Sites: items that a session held before, and those that it got.

Not observed: no run from fresh input had a session whose contents were read.

From: no report among those studied; natural, and silent on all of them.

Shown by: a fault seeded into 0.24.0, `tests/seeded/session-feeds-model.toml`.
"""

from collections import Counter
from collections.abc import Iterator

from ...models.items import Item, call_id_of, is_call, is_output, items_of, key_of, raw_of, type_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run, filters_handoff, filters_items, setting

NAME = "session-feeds-model"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"models", "runs", "sessions"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every top-level run from fresh input with a session of the one trace."""
    view = evidence.view
    judged: list[Finding | None] = []
    for run in view.top:
        if run.started.state is not None or filters_items(run) or run.started.session is None:
            continue
        if view.overlaps(run):
            continue
        judged += [*_fed(run, view), *_left(run, view)]
    return outcome(sites=len(judged), because=(finding for finding in judged if finding is not None))


def _fed(run: Run, view: View) -> Iterator[Finding | None]:
    """One item for each item that the session held before."""
    calls = run.model_calls()
    limited = any(event.limit is not None for event in view.stores.of(run.started.session or "").used)
    if not calls or limited or setting(run, "session_limit") is not None:
        return
    before = items_of(run.started.session_before)
    answered = {call_id_of(item) for item in before if is_output(item)}
    told = {key_of(item) for item in items_of(calls[0].input)}
    for item in before:
        kept = type_of(item) == "message" or is_output(item)
        if kept or (is_call(item) and call_id_of(item) in answered):
            yield None if key_of(item) in told else _finding("not_told", run, item, view)


def _left(run: Run, view: View) -> Iterator[Finding | None]:
    """One item for each item that the session got."""
    end = run.ended
    if end is None or not run.returned or filters_handoff(run) or view.is_compacted(run):
        return
    if not isinstance(end.session_after, list) or not isinstance(run.started.session_before, list):
        return
    before = Counter(key_of(item) for item in items_of(run.started.session_before))
    own = {key_of(raw_of(item)) for item in items_of(end.items)}
    own |= {key_of(item) for item in items_of(run.started.input)}
    own |= set(view.supplied)
    for item in items_of(end.session_after):
        key = key_of(item)
        if before[key]:
            before[key] -= 1
            continue
        yield None if key in own else _finding("not_its_own", run, item, view)


def _finding(code: str, run: Run, item: Item, view: View) -> Finding:
    key = key_of(item)
    event = run.model_calls()[0] if code == "not_told" else run.ended or run.started
    return make_finding(
        code=code,
        events=view.refs(event),
        run=run.label,
        call_id=key[1] if key[0] != "message" else None,
        subject=key[0],
        after=list(key),
    )


def explain(finding: Finding) -> str:
    """What was not told, or is not the run's own."""
    what = f"a {finding.subject}" + (f" of {finding.call_id}" if finding.call_id else "")
    if finding.code == "not_told":
        return f"{what}, in the session before, is missing in the first model input of run {finding.run}"
    return f"the session of run {finding.run} got {what}, which neither its input nor its result holds"
