"""A tool runs this often.

Rule: the starts of `tool` (and of `call_id`, and in top-level run number `run`, where given) are exactly
`times`, or between `at_least` and `at_most`.

Sites: the one count.

Not observed: the script ran no agent, or not as many runs.

From: the author of the reproduction.
"""

from typing import Self

from pydantic import model_validator

from ...models.manifest import Finding
from ...models.wire import Count, Text
from ..trace.evidence import Evidence
from ..trace.outcome import NOT_OBSERVED, Outcome, Scope, make_finding
from .kind import Arguments, Number, chosen

NAME = "tool-runs"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "runs"})


class ToolRuns(Arguments):
    """What may be written."""

    tool: Text
    call_id: Text | None = None
    run: Number | None = None
    times: Count | None = None
    at_least: Count | None = None
    at_most: Count | None = None

    @model_validator(mode="after")
    def _frequency(self) -> Self:
        """It says how often."""
        ranged = self.at_least is not None or self.at_most is not None
        if (self.times is not None) == ranged:
            raise ValueError("give either `times`, or `at_least` and/or `at_most`")
        return self


ARGUMENTS = ToolRuns


def evaluate(evidence: Evidence, arguments: ToolRuns) -> Outcome:
    """Count in the one trace."""
    view = evidence.view
    runs = chosen(view, arguments.run)
    if not runs:
        return NOT_OBSERVED
    starts = [
        start
        for top in runs
        for run in top.tree()
        for start in run.tools_started()
        if start.tool == arguments.tool and arguments.call_id in (None, start.call_id)
    ]
    least = arguments.times if arguments.times is not None else arguments.at_least or 0
    most = arguments.times if arguments.times is not None else arguments.at_most
    fits = least <= len(starts) and (most is None or len(starts) <= most)
    finding = make_finding(
        code="ran_as_often" if fits else "ran_otherwise",
        events=view.refs(*starts[:20]) if starts else view.refs(runs[-1].started),
        tool=arguments.tool,
        call_id=arguments.call_id,
        before=_wanted(least, most),
        after=len(starts),
    )
    return Outcome("holds" if fits else "violated", 1, (finding,))


def _wanted(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    return f"{least}" if least == most else f"{least} to {most}"


def explain(finding: Finding) -> str:
    """How often it ran, and how often it was to."""
    what = f"tool {finding.tool}" + (f" for {finding.call_id}" if finding.call_id else "")
    times = "once" if finding.after == 1 else f"{finding.after} times"
    return f"{what} ran {times}; claimed: {finding.before}"
