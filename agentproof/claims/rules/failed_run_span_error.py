"""A run that failed leaves an error on a span.

Rule: where a run raised and wrote spans of its own, at least one of them carries an error (which of them
depends on the error).

Sites: runs that raised and wrote spans.

Not observed: no run raised, or tracing was off.

From: openai/openai-agents-python#4070.

Shown by: `tests/scripts/cases/failed-run-span-without-error` on 0.19.3.
"""

from ...models.events import SpanEnded
from ...models.manifest import Finding
from ..trace.evidence import Evidence
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "failed-run-span-error"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"runs", "spans"})

_NO_FAILURE = ("KeyboardInterrupt", "CancelledError", "GeneratorExit", "SystemExit")


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every run that raised in the one trace."""
    view = evidence.view
    failed = [(run, _spans(run)) for run in view.runs.values() if _has_failed(run)]
    found = (
        make_finding(
            code="no_error",
            events=view.refs(run.ended, *spans),
            run=run.label,
            subject=run.ended.error.type if run.ended.error is not None else None,
            after=len(spans),
        )
        for run, spans in failed
        if spans and run.ended is not None and all(span.error is None for span in spans)
    )
    return outcome(sites=sum(1 for _, spans in failed if spans), because=found)


def _has_failed(run: Run) -> bool:
    end = run.ended
    if end is None or end.outcome != "raised" or end.error is None:
        return False
    return end.error.type.rpartition(":")[2] not in _NO_FAILURE


def _spans(run: Run) -> list[SpanEnded]:
    return [event for event in run.events if isinstance(event, SpanEnded)]


def explain(finding: Finding) -> str:
    """Which run left no trace of its failure."""
    kind = (finding.subject or "").rpartition(":")[2]
    return f"run {finding.run} raised {kind}; none of its {finding.after} spans carries an error"
