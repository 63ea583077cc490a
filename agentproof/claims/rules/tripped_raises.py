"""A guardrail that trips stops its run.

Rule: a run in which an input or output guardrail tripped does not return.

Sites: input and output guardrails that tripped.

Not observed: none tripped.

From: no report among those studied; natural, and silent on all of them.

Shown by: a fault seeded into 0.24.0, `tests/seeded/tripped-raises.toml`.
"""

from ...models.events import GuardrailRan
from ...models.manifest import Finding
from ..trace.evidence import Evidence
from ..trace.outcome import Outcome, Scope, make_finding, outcome

NAME = "tripped-raises"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"guardrails", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every guardrail that tripped in the one trace."""
    view = evidence.view
    tripped = [
        (run, event)
        for run in view.runs.values()
        for event in run.events
        if isinstance(event, GuardrailRan) and event.tripped and event.guardrail_kind in ("input", "output")
    ]
    found = (
        make_finding(
            code="returned",
            events=view.refs(event, run.ended),
            run=run.label,
            subject=f"{event.guardrail_kind} guardrail {event.name}",
        )
        for run, event in tripped
        if run.returned and run.ended is not None
    )
    return outcome(sites=len(tripped), because=found)


def explain(finding: Finding) -> str:
    """Which guardrail stopped nothing."""
    return f"{finding.subject} tripped in run {finding.run}, which returned all the same"
