"""An agent used as a tool gives its run's final output.

Rule: what an agent as a tool without an output extractor gives its caller is the final output of its one
nested run, where that returned a text.

Sites: such tools whose nested run returned a text.

Not observed: no agent was used so.

From: openai/openai-agents-python#2110.

Shown by: `tests/scripts/cases/agent-tool-returns-blank` on 0.6.1.
"""

from collections.abc import Iterator

from ...models.events import ToolEnded, ToolStarted
from ...models.manifest import Finding
from ...models.text import one_line
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "agent-tool-output"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every agent as a tool of the one trace."""
    view = evidence.view
    pairs = [pair for run in view.runs.values() for pair in _pairs(run, view)]
    found = (
        make_finding(
            code="another_output",
            events=view.refs(nested.ended, end),
            run=end.run,
            tool=end.tool,
            call_id=end.call_id,
            before=nested.ended.final_output,
            after=end.output,
        )
        for nested, end in pairs
        if nested.ended is not None and nested.ended.final_output != end.output
    )
    return outcome(sites=len(pairs), because=found)


def _pairs(run: Run, view: View) -> Iterator[tuple[Run, ToolEnded]]:
    """Each nested run that gave a text, with the end of the one tool that it served."""
    served = [(nested, _served_by(nested, run, view)) for nested in run.children]
    for start in run.tools_started():
        if start.tool_kind != "agent" or start.extractor is not False or start.call_id is None:
            continue
        mine = [nested for nested, by in served if by is start]
        ends = [end for end in run.tools_ended() if (end.tool, end.call_id) == (start.tool, start.call_id)]
        if len(mine) == 1 and len(ends) == 1 and _gave_text(mine[0]):
            yield mine[0], ends[0]


def _gave_text(run: Run) -> bool:
    return run.finished and run.ended is not None and isinstance(run.ended.final_output, str)


def _served_by(nested: Run, run: Run, view: View) -> ToolStarted | None:
    """The one agent's tool that was going on when the nested run began; None where it cannot be told."""
    begun = nested.started
    starts = [start for start in run.tools_started() if start.tool_kind == "agent"]
    if begun.call_id is not None:
        mine = [start for start in starts if start.call_id == begun.call_id]
    else:  # old releases do not tell the nested run which call it serves
        over = {end.call_id for end in run.tools_ended() if view.happens_before(end, begun)}
        mine = [s for s in starts if s.call_id not in over and not view.happens_before(begun, s)]
    return mine[0] if len(mine) == 1 else None


def explain(finding: Finding) -> str:
    """What it gave, and what its run gave."""
    gave = f"agent tool {finding.tool} gave {one_line(repr(finding.after), 60)} for {finding.call_id}"
    return f"{gave}; its run's final output is {one_line(repr(finding.before), 60)}"
