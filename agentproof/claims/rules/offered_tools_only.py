"""A tool that runs was offered.

Rule: a function tool that starts for a call was among the tools of the request whose answer made that call.

Sites: starts of function tools whose call is found in an answer of the same run.

Not observed: no such start.

From: no report among those studied; natural, and silent on all of them.

Shown by: a fault seeded into 0.24.0, `tests/seeded/offered-tools-only.toml`.
"""

from collections.abc import Iterator

from ...models.events import ModelCalled, ToolStarted
from ...models.items import call_id_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "offered-tools-only"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models"})

_KINDS = frozenset({"function", "agent", "mcp"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every tool start of the one trace."""
    view = evidence.view
    pairs = [pair for run in view.runs.values() for pair in _pairs(run)]
    found = (
        make_finding(
            code="not_offered",
            events=view.refs(requests[-1], start),
            run=start.run,
            tool=start.tool,
            call_id=start.call_id,
        )
        for start, requests in pairs
        if not any(start.tool in request.tools for request in requests)
    )
    return outcome(sites=len(pairs), because=found)


def _pairs(run: Run) -> Iterator[tuple[ToolStarted, list[ModelCalled]]]:
    """Each start, with the requests whose answers made its call (scripted models use ids again)."""
    requests = {call.call: call for call in run.model_calls()}
    made: dict[tuple[str | None, str], list[ModelCalled]] = {}
    for answer, item in run.asked_calls():
        name = item.get("name")
        if answer.call in requests and isinstance(name, str):
            made.setdefault((call_id_of(item), name), []).append(requests[answer.call])
    for start in run.tools_started():
        if start.tool_kind in _KINDS and (start.call_id, start.tool) in made:
            yield start, made[start.call_id, start.tool]


def explain(finding: Finding) -> str:
    """Which tool was not offered."""
    return (
        f"tool {finding.tool} ran for {finding.call_id}, and was not offered in the request that it answers"
    )
