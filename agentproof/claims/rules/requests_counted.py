"""A request that was answered counts.

Rule: the result of a top-level run counts at least as many requests, beyond those that it began with, as
calls of its models were answered by a provider; whether or not the provider told usage.

Sites: top-level runs that returned, whose usage is told, and in which a provider answered a model's call.

Not observed: no such run.

From: openai/openai-agents-python#4290, #4453.

Shown by: `tests/scripts/cases/chat-requests-not-counted` on 0.19.4.
"""

from typing import Any

from ...models.manifest import Finding
from ..trace.evidence import Evidence
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.providers import asked_in

NAME = "requests-counted"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"models", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every top-level run that returned in the one trace."""
    view = evidence.view
    sites = 0
    found: list[Finding] = []
    for run in view.top:
        counted = _requests(run.ended.usage) if run.ended is not None and run.returned else None
        answered = [asked for asked in asked_in(run) if asked.answered is not None and asked.last is not None]
        if counted is None or not answered or run.ended is None:
            continue
        sites += 1
        counted -= _requests(run.started.usage) or 0
        if counted < len(answered):
            asked = (asked.last for asked in answered)
            events = view.refs(*(each for each in asked if each is not None), run.ended)
            found.append(
                make_finding(
                    code="not_counted", events=events, run=run.label, before=len(answered), after=counted
                )
            )
    return outcome(sites=sites, because=found)


def _requests(usage: Any) -> int | None:  # Any: a value
    found = usage.get("requests") if isinstance(usage, dict) else None
    return found if isinstance(found, int) else None


def explain(finding: Finding) -> str:
    """How many were answered and how many are counted."""
    return (
        f"a provider answered {finding.before} request{'' if finding.before == 1 else 's'} of "
        f"run {finding.run}; its result counts {finding.after}"
    )
