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
from typing import Any

from ...models.events import ModelCalled, ToolEnded, WarningRaised
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome

NAME = "callbacks-awaited"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models", "warnings"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge what models and tools gave and were given, and what Python warned of in the one trace."""
    view = evidence.view
    calls = [event for event in view.of(ModelCalled) if event.instructions is not None]
    ends = [event for event in view.of(ToolEnded) if event.output is not None]
    dropped = list(_dropped(view))
    return outcome(
        sites=len(calls) + len(ends) + len(dropped), because=(*_handed_on(calls, ends, view), *dropped)
    )


def _handed_on(calls: list[ModelCalled], ends: list[ToolEnded], view: View) -> Iterator[Finding]:
    for call in calls:
        if _is_coroutine(call.instructions):
            yield make_finding(code="handed_on", events=view.refs(call), run=call.run, subject="instructions")
    for end in ends:
        if _is_coroutine(end.output):
            yield make_finding(
                code="handed_on",
                events=view.refs(end),
                run=end.run,
                tool=end.tool,
                call_id=end.call_id,
                subject="output",
            )


def _is_coroutine(value: Any) -> bool:  # Any: a value
    return isinstance(value, dict) and value.get("$opaque") == "builtins:coroutine"


def _dropped(view: View) -> Iterator[Finding]:
    for event in view.of(WarningRaised):
        if event.raised_in == "sdk" and event.coroutine is not None:
            yield make_finding(
                code="never_awaited",
                events=view.refs(event),
                subject=event.coroutine,
                after=f"{event.file.removeprefix('<site-packages>/')}:{event.line}",
            )


def explain(finding: Finding) -> str:
    """Which coroutine did not run."""
    if finding.code == "never_awaited":
        return f"coroutine {finding.subject} was never awaited, and was dropped at {finding.after}"
    of = "the model is given" if finding.tool is None else f"tool {finding.tool} gave for {finding.call_id}"
    return f"the {finding.subject} that {of} in run {finding.run}: a coroutine that nobody awaited"
