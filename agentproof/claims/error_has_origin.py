"""An error that leaves a run has an origin.

Rule: what a run raises is one of the SDK's own exceptions, a cancellation, or something that was seen to be
raised during it by the script's own code, a model, a session, a guardrail, a server or a nested run.
A TypeError, KeyError, AttributeError, IndexError, RecursionError, AssertionError or NameError that nobody
outside of the SDK raised is an internal failure of the SDK.

Sites: runs that raised.

Not observed: no run raised, or the script's own functions could not be watched.

From: no report among those studied; natural, and silent on all of them.
"""

from collections.abc import Iterator

from ..models.events import (
    BodyRaised,
    Event,
    Failure,
    GuardrailRan,
    McpCalled,
    ModelFailed,
    SessionUsed,
)
from ..models.manifest import Finding
from ._evidence import Evidence, View
from ._outcome import Outcome, Scope, make_finding, outcome
from ._runs import Run

NAME = "error-has-origin"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"bodies", "guardrails", "models", "runs", "sessions"})

_INTERNAL = frozenset(
    f"builtins:{name}"
    for name in (
        "AssertionError",
        "AttributeError",
        "IndexError",
        "KeyError",
        "NameError",
        "RecursionError",
        "TypeError",
    )
)


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every run that raised in the one trace."""
    view = evidence.view
    failed = [run for run in view.runs.values() if run.ended is not None and run.ended.outcome == "raised"]
    seen = {failure.type for event in view.events for failure in _failures(event)}
    return outcome(sites=len(failed), because=_violations(failed, seen, view))


def _failures(event: Event) -> Iterator[Failure]:
    """What was raised outside of the SDK."""
    match event:
        case BodyRaised() | ModelFailed():
            yield event.error
        case GuardrailRan() | McpCalled() | SessionUsed():
            if event.error is not None:
                yield event.error
        case _:
            pass


def _violations(failed: list[Run], seen: set[str], view: View) -> Iterator[Finding]:
    for run in failed:
        error = run.ended.error if run.ended is not None else None
        if error is None or run.ended is None or error.type not in _INTERNAL or error.type in seen:
            continue
        yield make_finding(code="no_origin", events=view.refs(run.ended), run=run.label, subject=error.type)


def explain(finding: Finding) -> str:
    """Which run raised what."""
    kind = (finding.subject or "").rpartition(":")[2]
    return f"run {finding.run} raised {kind}, which nothing outside of the SDK raised"
