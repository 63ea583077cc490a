"""A result lists the guardrails that ran.

Rule: a run that returned lists each guardrail, of each of the four kinds, at least as often as it ran in
that run without raising. So do the data that a run's exception carries, for the input or output guardrail
that tripped, and for guardrails that had run before that one or before the run's last model call; kinds that
the release does not tell there are left out.

Sites: guardrails that ran in runs that returned, and those that an exception must tell.

Not observed: no such guardrail.

From: openai/openai-agents-python#4097, #3237, #4071.

Shown by: `tests/scripts/unseen/guardrails-lost-at-handoff` on 0.17.0.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ...models.events import GuardrailRan
from ...models.manifest import Finding
from ...models.text import times
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "guardrails-reported"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"guardrails", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every run of the one trace that returned, or raised with data of the run."""
    view = evidence.view
    ran = [(run, event) for run in view.runs.values() for event in _due(run, view)]
    return outcome(sites=len(ran), because=_violations(ran, view))


def _due(run: Run, view: View) -> list[GuardrailRan]:
    """The guardrails that have to be listed."""
    ran = [event for event in run.events if isinstance(event, GuardrailRan) and event.error is None]
    if run.returned:
        return ran
    if run.ended is None or run.ended.outcome != "raised":
        return []
    tripped = [event for event in ran if event.tripped and event.guardrail_kind in ("input", "output")]
    if run.ended.error is None or not run.ended.error.type.endswith("TripwireTriggered"):
        tripped = []
    places = {event.seq for event in tripped}
    before_last = view.order.before_any(run.model_calls()[-1:])
    before_tripped = view.order.before_all(tripped)

    def is_due(event: GuardrailRan) -> bool:
        # Of several that tripped the first one is told, and which that was is nobody's to say.
        if event.seq in places:
            return len(places) == 1
        return before_last(event) or before_tripped(event)

    return [event for event in ran if _listed(run, event.guardrail_kind) is not None and is_due(event)]


def _violations(ran: list[tuple[Run, GuardrailRan]], view: View) -> Iterator[Finding]:
    times = Counter((run.label, event.guardrail_kind, event.name) for run, event in ran)
    told: set[tuple[str, str, str]] = set()
    names: dict[tuple[str, str], Counter[str]] = {}
    for run, event in ran:
        key = (run.label, event.guardrail_kind, event.name)
        listed = _listed(run, event.guardrail_kind)
        if run.ended is None or listed is None or key in told:
            continue
        told.add(key)
        kind = key[:2]
        if kind not in names:
            names[kind] = Counter(_names_in(listed))
        count = names[kind][event.name]
        if count < times[key]:
            yield make_finding(
                code="not_listed" if run.returned else "not_told",
                events=view.refs(event, run.ended),
                run=run.label,
                subject=f"{event.guardrail_kind.replace('_', ' ')} guardrail {event.name}",
                before=times[key],
                after=count,
            )


def _names_in(listed: list[Any]) -> Iterator[str]:  # Any: values
    for one in listed:
        name = one.get("name") if isinstance(one, dict) else None
        if isinstance(name, str):
            yield name


def _listed(run: Run, kind: str) -> list[Any] | None:  # Any: values
    if run.ended is None:
        return None
    told = run.ended.error.data if run.ended.error is not None else None
    lists = told.get("guardrails") if isinstance(told, dict) else run.ended.guardrails
    listed = lists.get(kind) if isinstance(lists, dict) else None
    return listed if isinstance(listed, list) else None


def explain(finding: Finding) -> str:
    """Which guardrail is missing."""
    listed = {"not_listed": "its result lists", "not_told": "its exception tells"}[finding.code]
    return f"{finding.subject} ran {times(finding.before)} in run {finding.run}; {listed} {finding.after}"
