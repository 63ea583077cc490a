"""What a tool gave is what the result holds.

Rule: the output with which a function tool, an agent as a tool, a custom tool or a tool of an MCP server
ended is the output of the result's item for that call, value and type. Left out: native tools, whose items
hold it in a form of their own; calls that a tool's output guardrail looked at; ids that the model gave
more than once; and the value, not the type, of an output that is no text or number, where another tool may
have started before the run ended: it is the script's own object, and tools may share one.

Sites: tools that ended in a run that returned with an item for their call.

Not observed: no such tool.

From: no report among those studied; natural, and silent on all of them.

Shown by: a fault seeded into 0.24.0, `tests/seeded/tool-output-delivered.toml`.
"""

from bisect import bisect
from collections.abc import Iterator

from ...models.events import GuardrailRan, ToolEnded, ToolStarted
from ...models.items import Item, call_id_of, items_of, raw_of
from ...models.manifest import Finding
from ...models.text import one_line
from ...models.wire import encode
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome, short
from ..trace.owned import may_change
from ..trace.runs import Run, times_asked

NAME = "tool-output-delivered"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "runs"})

_KINDS = frozenset({"function", "agent", "custom", "mcp"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every run that returned in the one trace."""
    view = evidence.view
    pairs = [pair for run in view.runs.values() if run.returned for pair in _pairs(run)]
    starts = [start.seq for start in view.of(ToolStarted)]
    found = (
        make_finding(
            code="another_output",
            events=view.refs(end, *((run.ended,) if run.ended else ())),
            run=run.label,
            tool=end.tool,
            call_id=end.call_id,
            before=short(end.output),
            after=short(item.get("output")),
        )
        for run, end, item in pairs
        if _is_another(run, end, item, starts, view)
    )
    return outcome(sites=len(pairs), because=found)


def _is_another(run: Run, end: ToolEnded, item: Item, starts: list[int], view: View) -> bool:
    """Whether the item holds something else than what the tool gave; `starts` are those of all tools."""
    told, held = end.output, item.get("output")
    if encode(told) == encode(held):
        return False
    if not may_change(told, end.output_type) or item.get("output_type", end.output_type) != end.output_type:
        return True
    if type(told) is not type(held):
        return True
    until = (run.ended or end).seq
    return not view.is_parallel and bisect(starts, end.seq) == bisect(starts, until)


def _pairs(run: Run) -> Iterator[tuple[Run, ToolEnded, Item]]:
    looked_at = {
        event.call_id
        for event in run.events
        if isinstance(event, GuardrailRan) and event.guardrail_kind == "tool_output"
    }
    if None in looked_at or run.ended is None:
        return
    held: dict[str | None, list[Item]] = {}
    for item in items_of(run.ended.items):
        if item.get("type") == "tool_call_output_item" and "output" in item:
            held.setdefault(call_id_of(raw_of(item)), []).append(item)
    ours = {start.call_id for start in run.tools_started() if start.tool_kind in _KINDS}
    ends: dict[str | None, list[ToolEnded]] = {}
    for end in (end for end in run.tools_ended() if end.call_id in ours):
        ends.setdefault(end.call_id, []).append(end)
    for call, of_call in ends.items():
        items = held.get(call, [])
        if call is None or call in looked_at or len(of_call) != 1 or len(items) != 1:
            continue
        if times_asked([run], call) <= 1:
            yield run, of_call[0], items[0]


def explain(finding: Finding) -> str:
    """What was given and what is held."""
    gave, holds = (one_line(repr(side), 50) for side in (finding.before, finding.after))
    told = f"tool {finding.tool} gave {gave} for {finding.call_id}"
    return f"{told}; the result of run {finding.run} holds {holds}"
