"""When a run is over, nothing of it goes on.

Rule: before a run ends by returning or raising, all that it began has ended: tools that gave an output,
coroutines of the script that returned, guardrails that came to a result, model calls, and writes to a
session. What the run did not wait for stands beside its end in the partial order, not before it. Left out:
what runs in a thread, which nothing can stop; coroutines that were cancelled or gave nothing; what input
guardrails of streamed runs did; runs that were cancelled or left; and those that an input guardrail stopped,
for the model that races with it may go on.

Sites: runs that returned or raised.

Not observed: no run ended.

From: openai/openai-agents-python#2584, #3239, #3982.

Shown by: `tests/scripts/cases/sibling-tool-lost-after-failure` on 0.10.3.
"""

from collections.abc import Iterator

from ...models.events import (
    BodyReturned,
    BodyStarted,
    Event,
    GuardrailRan,
    ModelCalled,
    SessionUsed,
    ToolEnded,
    ToolStarted,
)
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "nothing-after-end"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models", "runs"})

_NAMES = {
    ToolStarted: "tool_started",
    ToolEnded: "tool_ended",
    ModelCalled: "model_called",
    BodyReturned: "body_returned",
    GuardrailRan: "guardrail_ran",
    SessionUsed: "session_written",
}


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every top-level run that ended by itself in the one trace."""
    view = evidence.view
    ended = [run for run in view.top if _is_judged(run)]
    found = (finding for run in ended for finding in _violations(run, view))
    return outcome(sites=len(ended), because=found)


def _is_judged(run: Run) -> bool:
    end = run.ended
    if end is None or end.outcome not in ("returned", "raised"):
        return False
    return end.error is None or not end.error.type.endswith("InputGuardrailTripwireTriggered")


def _violations(run: Run, view: View) -> Iterator[Finding]:
    if run.ended is None:
        return
    frames = {
        event.frame: event for one in run.tree() for event in one.events if isinstance(event, BodyStarted)
    }
    before_late = view.order.before_any(_late_guardrails(run, view))
    for one in run.tree():
        for event in one.events:
            if not _goes_on(event, frames, one) or view.happens_before(event, run.ended):
                continue
            if not before_late(event):
                yield make_finding(
                    code=_NAMES[type(event)],
                    events=view.refs(run.ended, event),
                    run=run.label,
                    tool=event.tool if isinstance(event, ToolStarted | ToolEnded) else None,
                    call_id=event.call_id if isinstance(event, ToolStarted | ToolEnded) else None,
                    subject=_subject(event),
                )


def _late_guardrails(run: Run, view: View) -> list[GuardrailRan]:
    """Input guardrails of streamed runs that have no edge to the end: such a run looks whether its guardrails
    are done, and waits only for those that are not, so one that was quick enough was not waited for."""
    return [
        event
        for one in run.tree()
        for event in one.events
        if one.started.streamed
        and isinstance(event, GuardrailRan)
        and event.guardrail_kind == "input"
        and run.ended is not None
        and not view.happens_before(event, run.ended)
    ]


def _subject(event: Event) -> str | None:
    match event:
        case BodyReturned():
            return event.function
        case GuardrailRan():
            return f"{event.guardrail_kind.replace('_', ' ')} guardrail {event.name}"
        case _:
            return None


def _goes_on(event: Event, frames: dict[str, BodyStarted], run: Run) -> bool:
    match event:
        case ToolStarted() | ToolEnded() | ModelCalled():
            return True
        case SessionUsed():
            return event.operation != "get_items"
        case GuardrailRan():
            return event.error is None and not (run.started.streamed and event.guardrail_kind == "input")
        case BodyReturned():
            begun = frames.get(event.frame)
            return begun is not None and not begun.thread and event.value is not None
        case _:
            return False


def explain(finding: Finding) -> str:
    """What went on."""
    what = {
        "tool_started": f"tool {finding.tool} started for {finding.call_id}",
        "tool_ended": f"tool {finding.tool} went on for {finding.call_id}",
        "model_called": "a model was called",
        "body_returned": f"{finding.subject} of the script went on",
        "guardrail_ran": f"{finding.subject} went on",
        "session_written": "a session was written",
    }[finding.code]
    return f"run {finding.run} ended without waiting: {what}"
