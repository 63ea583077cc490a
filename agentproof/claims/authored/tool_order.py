"""Tools start in this order.

Rule: of each two neighbours in `tools`, the first start of the one comes before the first start of the
other, in top-level run number `run` where given. Tools that ran in parallel have no order.

Sites: neighbours that both started, one certainly before the other.

Not observed: fewer than two of the tools started, or they ran in parallel.

From: the author of the reproduction.
"""

from itertools import pairwise
from typing import Annotated

from pydantic import Field

from ...models.events import ToolStarted
from ...models.manifest import Finding
from ...models.wire import ListOf, Text
from ..trace.evidence import Evidence
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from .kind import Arguments, Number, chosen

NAME = "tool-order"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "runs"})


class ToolOrder(Arguments):
    """What may be written."""

    tools: Annotated[ListOf[Text], Field(min_length=2)]
    run: Number | None = None


ARGUMENTS = ToolOrder


def evaluate(evidence: Evidence, arguments: ToolOrder) -> Outcome:
    """Compare first starts in the one trace, by what must come before what."""
    view = evidence.view
    first: dict[str, ToolStarted] = {}
    starts = [s for top in chosen(view, arguments.run) for run in top.tree() for s in run.tools_started()]
    for start in sorted(starts, key=lambda start: start.seq):
        first.setdefault(start.tool, start)
    sites = 0
    found: list[Finding] = []
    for one, other in pairwise(arguments.tools):
        if one not in first or other not in first:
            continue
        if view.happens_before(first[other], first[one]):
            refs = view.refs(first[one], first[other])
            found.append(make_finding(code="started_later", events=refs, tool=one, subject=other))
        elif not view.happens_before(first[one], first[other]):
            continue
        sites += 1
    return outcome(sites=sites, because=found)


def explain(finding: Finding) -> str:
    """Which tool came too late."""
    return f"tool {finding.tool} started after {finding.subject}"
