"""Hooks around tools and at an agent's end are called.

Rule: in a run that returned and waits for nothing, each tool that started for a call ended for it as often
(a resumed run may end what an earlier one started); `on_agent_end` was called once, with the final output;
and `on_handoff` as often as the new items hold handoffs. Left out: runs with error handlers, and for
handoffs resumed runs and those that filter items.

Sites: runs that returned and wait for nothing.

Not observed: no such run, or the release has no hooks of its own.

From: no report among those studied; natural, and silent on all of them.

Shown by: a fault seeded into 0.24.0, `tests/seeded/hooks-complete.toml`.
"""

from collections import Counter
from collections.abc import Iterator

from ...models.events import HandoffMade, HookCalled
from ...models.items import items_of
from ...models.manifest import Finding
from ...models.text import one_line, times
from ...models.wire import encode
from ..trace.evidence import Evidence, View
from ..trace.hooks import known_hooks
from ..trace.outcome import Outcome, Scope, make_finding, outcome, short
from ..trace.runs import Run, filters_handoff, filters_items, setting

NAME = "hooks-complete"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every finished run of the one trace."""
    view = evidence.view
    known = known_hooks(view, "run")
    finished = [run for run in view.runs.values() if run.finished and not setting(run, "error_handlers")]
    found = [
        finding
        for run in finished
        for finding in (*_tools(run, view), *_agent_end(run, view), *_handoffs(run, view))
        if _HOOK_OF[finding.code] in known
    ]
    return outcome(sites=len(finished) if known else 0, because=found)


_HOOK_OF = {
    "tool": "on_tool_end",
    "agent_end": "on_agent_end",
    "agent_end_output": "on_agent_end",
    "handoff": "on_handoff",
}


def _tools(run: Run, view: View) -> Iterator[Finding]:
    starts = Counter((start.tool, start.call_id) for start in run.tools_started() if start.call_id)
    ends = Counter((end.tool, end.call_id) for end in run.tools_ended() if end.call_id)
    for tool, call in {**starts, **ends}:
        begun, over = starts[tool, call], ends[tool, call]
        if begun != over and not (run.started.state is not None and over > begun):
            yield make_finding(
                code="tool",
                events=view.refs(run.ended or run.started),
                run=run.label,
                tool=tool,
                call_id=call,
                before=begun,
                after=over,
            )


def _agent_end(run: Run, view: View) -> Iterator[Finding]:
    if run.ended is None:
        return
    told = [event for event in run.events if isinstance(event, HookCalled) and event.scope == "run"]
    last = [event for event in told if event.hook == "on_agent_end"]
    if len(last) != 1:
        yield make_finding(code="agent_end", events=view.refs(run.ended), run=run.label, after=len(last))
    elif encode(last[0].output) != encode(run.ended.final_output):
        yield make_finding(
            code="agent_end_output",
            events=view.refs(last[0], run.ended),
            run=run.label,
            before=short(last[0].output),
            after=short(run.ended.final_output),
        )


def _handoffs(run: Run, view: View) -> Iterator[Finding]:
    if run.ended is None or run.started.state is not None or filters_items(run) or filters_handoff(run):
        return
    held = sum(1 for item in items_of(run.ended.items) if item.get("type") == "handoff_output_item")
    made = sum(1 for event in run.events if isinstance(event, HandoffMade))
    if held != made:
        yield make_finding(
            code="handoff", events=view.refs(run.ended), run=run.label, before=held, after=made
        )


def explain(finding: Finding) -> str:
    """Which hook was missing or told something else."""
    run, due, called = finding.run, finding.before, finding.after
    match finding.code:
        case "tool":
            call = f"tool {finding.tool} for {finding.call_id}"
            return f"run {run}: {due} starts and {called} ends of {call}"
        case "agent_end":
            return f"run {run} finished; on_agent_end was called {times(called)}"
        case "agent_end_output":
            return f"run {run}: on_agent_end was told {one_line(repr(due), 50)}, not the final output"
        case _:
            return f"run {run} holds {due} handoffs; on_handoff was called {times(called)}"
