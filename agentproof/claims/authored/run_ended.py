"""A run ends in this way.

Rule: top-level run number `run` (the last one where left out) ends with `outcome`; an `interrupted` run
returned and waits for decisions; `error` is the class of what it raised, or of one of its bases.

Sites: the one run.

Not observed: there is no such run, or its end was not seen.

From: the author of the reproduction.
"""

from typing import Literal

from ...models.events import Failure
from ...models.manifest import Finding
from ...models.wire import Text
from ..trace.evidence import Evidence
from ..trace.outcome import NOT_OBSERVED, Outcome, Scope, make_finding
from ..trace.runs import Run
from .kind import Arguments, Number, last_or_chosen

NAME = "run-ended"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"runs"})


class RunEnds(Arguments):
    """What may be written."""

    run: Number | None = None
    outcome: Literal["returned", "interrupted", "raised", "cancelled", "left", "unfinished"]
    error: Text | None = None


ARGUMENTS = RunEnds


def evaluate(evidence: Evidence, arguments: RunEnds) -> Outcome:
    """Judge the end of one run of the one trace."""
    view = evidence.view
    run = last_or_chosen(view, arguments.run)
    if run is None or run.ended is None:
        return NOT_OBSERVED
    wanted = arguments.outcome + (f" {arguments.error}" if arguments.error else "")
    error = run.ended.error
    fits = _outcome(run) == arguments.outcome and (
        arguments.error is None or (error is not None and is_class(error, arguments.error))
    )
    finding = make_finding(
        code="ended_so" if fits else "ended_otherwise",
        events=view.refs(run.ended),
        run=run.label,
        before=wanted,
        after=_outcome(run) + (f" {error.type.rpartition(':')[2]}" if error is not None else ""),
    )
    return Outcome("holds" if fits else "violated", 1, (finding,))


def is_class(error: Failure, name: str) -> bool:
    """Whether an exception is of this class, by its bare name or with its module."""
    return any(name in (known, known.rpartition(":")[2]) for known in (error.type, *error.bases))


def _outcome(run: Run) -> str:
    if run.ended is None:
        return "unfinished"
    return "interrupted" if run.returned and run.ended.interruptions else run.ended.outcome


def explain(finding: Finding) -> str:
    """How it ended, and how it was to."""
    return f"run {finding.run} ended: {finding.after}; claimed: {finding.before}"
