"""A coroutine that the SDK is handed is awaited.

Rule: (1) the instructions that a model is given, and the output of a function tool, are no coroutine; (2) no
coroutine that was never awaited was dropped by code of the SDK: what the script gave as an asynchronous
callback did not run. Python warns of it, and the recorder notes which code it interrupted; that code must be
what the wheel's file holds. Left out: coroutines that the script or other packages dropped, those that the
garbage collector came across, wherever it did, and whatever is written to stderr.

Sites: model calls with instructions, function tools that ended, and such warnings.

Not observed: none of these, or a Python whose warnings cannot be noted.

From: openai/openai-agents-python#3211, #3942.

Shown by: `tests/scripts/unseen/handoff-callback-not-awaited` on 0.17.0.
"""

from collections.abc import Iterator

from ...models.events import WarningRaised
from ...models.manifest import Finding
from ..trace.coroutines import explain, judge_awaited
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding

__all__ = ["NAME", "NEEDS", "SCOPE", "VERSION", "evaluate", "explain"]

NAME = "callbacks-awaited"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models", "warnings"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge what models and tools gave and were given, and what Python warned of in the one trace."""
    return judge_awaited(evidence.view, list(_dropped(evidence.view)))


def _dropped(view: View) -> Iterator[Finding]:
    for event in view.of(WarningRaised):
        if event.raised_in == "sdk" and event.coroutine is not None:
            yield make_finding(
                code="never_awaited",
                events=view.refs(event),
                subject=event.coroutine,
                after=f"{event.file.removeprefix('<site-packages>/')}:{event.line}",
            )
