"""Coroutines that were handed on instead of what they come to: for every version of `callbacks-awaited`."""

from collections.abc import Iterator
from typing import Any

from ...models.events import ModelCalled, ToolEnded
from ...models.manifest import Finding
from .evidence import View
from .outcome import Outcome, make_finding, outcome


def judge_awaited(view: View, dropped: list[Finding]) -> Outcome:
    """Judge what models and tools gave and were given, beside the coroutines that the SDK `dropped`."""
    calls = [event for event in view.of(ModelCalled) if event.instructions is not None]
    ends = [event for event in view.of(ToolEnded) if event.output is not None]
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


def explain(finding: Finding) -> str:
    """Which coroutine did not run."""
    if finding.code == "never_awaited":
        return f"coroutine {finding.subject} was never awaited, and was dropped at {finding.after}"
    of = "the model is given" if finding.tool is None else f"tool {finding.tool} gave for {finding.call_id}"
    return f"the {finding.subject} that {of} in run {finding.run}: a coroutine that nobody awaited"
