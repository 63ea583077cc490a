"""A coroutine that the SDK is handed is awaited (version 1, which read warnings from stderr).

Rule: (1) the instructions that a model is given, and the output of a function tool, are no coroutine; (2) no
warning of Python's that a coroutine was never awaited names a line of the SDK as the place where it was
dropped: what the script gave as an asynchronous callback did not run. Left out: warnings about lines of the
script and of other packages.

Sites: model calls with instructions, function tools that ended, and such warnings.

Not observed: none of these.

From: openai/openai-agents-python#3211, #3942.
"""

import re
from collections.abc import Iterator
from typing import Any

from ...models.events import ModelCalled, ScriptWrote, ToolEnded
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome

NAME = "callbacks-awaited"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models"})

_DROPPED = re.compile(
    r"^<site-packages>/(?P<file>agents/[^\n]*?\.py):(?P<line>[0-9]+): RuntimeWarning: "
    r"coroutine '(?P<name>[^'\n]*)' was never awaited$",
    re.MULTILINE,
)


def evaluate(evidence: Evidence) -> Outcome:
    """Judge what models and tools gave and were given, and what the script of the one trace wrote."""
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
    for event in view.of(ScriptWrote):
        if event.stream != "stderr" or not isinstance(event.text, str):
            continue
        for match in _DROPPED.finditer(event.text):
            yield make_finding(
                code="never_awaited",
                events=view.refs(event),
                subject=match["name"],
                after=f"{match['file']}:{match['line']}",
            )


def explain(finding: Finding) -> str:
    """Which coroutine did not run."""
    if finding.code == "never_awaited":
        return f"coroutine {finding.subject} was never awaited, and was dropped at {finding.after}"
    of = "the model is given" if finding.tool is None else f"tool {finding.tool} gave for {finding.call_id}"
    return f"the {finding.subject} that {of} in run {finding.run}: a coroutine that nobody awaited"
