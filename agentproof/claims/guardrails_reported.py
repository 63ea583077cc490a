"""A result lists the guardrails that ran.

Rule: a run that returned lists each guardrail, of each of the four kinds, at least as often as it ran in
that run without raising.

Sites: guardrails that ran in runs that returned.

Not observed: no guardrail ran in a run that returned.

From: openai/openai-agents-python#4097.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..models.events import GuardrailRan
from ..models.manifest import Finding
from ._evidence import Evidence, View
from ._outcome import Outcome, Scope, make_finding, outcome
from ._runs import Run

NAME = "guardrails-reported"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"guardrails", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every run that returned in the one trace."""
    view = evidence.view
    ran = [(run, event) for run in view.runs.values() if run.returned for event in _ran(run)]
    return outcome(sites=len(ran), because=_violations(ran, view))


def _ran(run: Run) -> list[GuardrailRan]:
    return [event for event in run.events if isinstance(event, GuardrailRan) and event.error is None]


def _violations(ran: list[tuple[Run, GuardrailRan]], view: View) -> Iterator[Finding]:
    times = Counter((run.label, event.guardrail_kind, event.name) for run, event in ran)
    told: set[tuple[str, str, str]] = set()
    for run, event in ran:
        key = (run.label, event.guardrail_kind, event.name)
        listed = _listed(run, event.guardrail_kind)
        if run.ended is None or listed is None or key in told:
            continue
        told.add(key)
        count = sum(1 for one in listed if isinstance(one, dict) and one.get("name") == event.name)
        if count < times[key]:
            yield make_finding(
                code="not_listed",
                events=view.refs(event, run.ended),
                run=run.label,
                subject=f"{event.guardrail_kind.replace('_', ' ')} guardrail {event.name}",
                before=times[key],
                after=count,
            )


def _listed(run: Run, kind: str) -> list[Any] | None:  # Any: values
    lists = run.ended.guardrails if run.ended is not None else None
    listed = lists.get(kind) if isinstance(lists, dict) else None
    return listed if isinstance(listed, list) else None


def explain(finding: Finding) -> str:
    """Which guardrail is missing."""
    return (
        f"{finding.subject} ran {finding.before} times in run {finding.run}; its result lists {finding.after}"
    )
