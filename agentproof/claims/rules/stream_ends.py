"""A stream ends when its run does, and says how.

Rule: when the task of a streamed run is over, its consumer gets the end: it is not left waiting until
somebody cancels it, the script is over, or its time limit stops it; and where the task failed the consumer
raises.

Sites: streams that were consumed, but for those that the script's time limit stopped at work.

Not observed: there is no such stream.

From: openai/openai-agents-python#2130.

Shown by: `tests/scripts/cases/failing-session-hangs-stream` on 0.6.1.
"""

from collections.abc import Iterator

from ...models.events import RunTaskEnded, StreamBegan, StreamCancelled, StreamEnded
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "stream-ends"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"runs", "streams"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every consumed stream of the one trace."""
    view = evidence.view
    begun = [event for event in view.of(StreamBegan) if event.of_run in view.runs and _is_told(event, view)]
    return outcome(sites=len(begun), because=_violations(begun, view))


def _is_told(event: StreamBegan, view: View) -> bool:
    run = view.runs[event.of_run]
    return not _is_stopped(view) or run.ended is not None or _task_end(run) is not None


def _is_stopped(view: View) -> bool:
    return view.script_end is not None and view.script_end.outcome == "timed_out"


def _violations(begun: list[StreamBegan], view: View) -> Iterator[Finding]:
    ends = {event.of_run: event for event in view.of(StreamEnded)}
    cancelled = {event.of_run for event in view.of(StreamCancelled)}
    for event in begun:
        run = view.runs[event.of_run]
        over = _task_end(run)
        if over is None or run.label in cancelled:
            continue
        end = ends.get(run.label)
        if end is None:
            unfinished = run.ended is not None and run.ended.outcome == "unfinished"
            # What the consumer does with an item of its own may hang too; a failure is told before any more.
            if unfinished or (_is_stopped(view) and run.ended is None and over.outcome == "raised"):
                yield make_finding(code="never_ended", events=view.refs(event, over), run=run.label)
        elif end.outcome == "cancelled" and end.task_done and view.happens_before(over, end):
            yield make_finding(code="left_waiting", events=view.refs(over, end), run=run.label)
        elif end.outcome == "ended" and over.outcome == "raised":
            yield make_finding(
                code="failed_silently",
                events=view.refs(over, end),
                run=run.label,
                subject=over.error.type if over.error is not None else None,
            )


def _task_end(run: Run) -> RunTaskEnded | None:
    return next((event for event in run.events if isinstance(event, RunTaskEnded)), None)


def explain(finding: Finding) -> str:
    """How the stream failed its consumer."""
    match finding.code:
        case "never_ended":
            return f"run {finding.run} was over; its stream never ended"
        case "left_waiting":
            return f"run {finding.run} was over; its stream went on waiting until it was cancelled"
        case _:
            error = (finding.subject or "an exception").removeprefix("builtins:").replace(":", ".")
            return f"run {finding.run} failed with {error}; its stream ended without saying so"
