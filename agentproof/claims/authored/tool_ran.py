"""A tool runs, so often, or not at all.

Rule: `tool` starts in some run, nested ones included: exactly `times`, or at least once where left out.

Sites: the one count.

Not observed: no run offered the model a tool of this name and none ran, or the script did not come as far as
the SDK for a reason of its own (see `script-completed`).

From: the reporter (`--should-run`, `--should-not-run`).
"""

import difflib
from typing import Any

from ...models.events import ModelCalled, ToolStarted
from ...models.manifest import Finding
from ...models.wire import Count, Text
from ..trace.evidence import Evidence
from ..trace.outcome import Outcome, Scope, make_finding
from .kind import Arguments

NAME = "tool-ran"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models", "runs"})

_MAX_NAMES = 40


class ToolRan(Arguments):
    """Which tool, and how often; 0: never."""

    tool: Text
    times: Count | None = None


ARGUMENTS = ToolRan


def evaluate(evidence: Evidence, arguments: ToolRan) -> Outcome:
    """Count in the one trace."""
    view = evidence.view
    starts = [event for event in view.of(ToolStarted) if event.tool == arguments.tool]
    offered = sorted({name for call in view.of(ModelCalled) for name in call.tools})
    if not starts and arguments.tool not in offered:
        events = view.refs(view.script_end) if view.script_end is not None else ()
        finding = make_finding(
            code="not_offered", events=events, tool=arguments.tool, after=offered[:_MAX_NAMES]
        )
        return Outcome("not_observed", 0, (finding,))
    fits = bool(starts) if arguments.times is None else len(starts) == arguments.times
    last = view.runs and list(view.runs.values())[-1].started
    finding = make_finding(
        code="ran_as_often" if fits else "ran_otherwise",
        events=view.refs(*starts[:20]) if starts else view.refs(last) if last else (),
        tool=arguments.tool,
        before=arguments.times,
        after=len(starts),
    )
    return Outcome("holds" if fits else "violated", 1, (finding,))


def wanted(arguments: ToolRan) -> str:
    """What should happen."""
    return (
        f"Tool {arguments.tool} runs{f' {_times(arguments.times)}' if arguments.times is not None else ''}."
    )


def explain(finding: Finding) -> str:
    """How often it ran, and how often it was to."""
    if finding.code == "not_offered":
        return _not_offered(finding)
    wanted = "at least once" if finding.before is None else _times(finding.before)
    return f"tool {finding.tool} ran {_times(finding.after)}, and should run {wanted}"


def _times(count: Any) -> str:  # Any: a number
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _not_offered(finding: Finding) -> str:
    names = [str(name) for name in finding.after] if isinstance(finding.after, list) else []
    if not names:
        return f"no run offered a tool {finding.tool}: none offered any"
    close = difflib.get_close_matches(finding.tool or "", names, n=3, cutoff=0.4)
    listed = f"the nearest: {', '.join(close)}" if close else f"offered were {', '.join(names[:8])}"
    return f"no run offered a tool {finding.tool}; {listed}"
