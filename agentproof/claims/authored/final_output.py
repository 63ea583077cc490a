"""A run's final output is this.

Rule: the final output of top-level run number `run` (the last one where left out) `equals` a value, or
is a text that `contains` another, or has the Python `type` (its name, or `module:name`).

Sites: the one run.

Not observed: there is no such run, or it did not return.

From: the author of the reproduction.
"""

from typing import Any, Self

from pydantic import model_validator

from ...models.manifest import Finding
from ...models.values import Value
from ...models.wire import Text, encode
from ..trace.evidence import Evidence
from ..trace.outcome import NOT_OBSERVED, Outcome, Scope, make_finding
from .kind import Arguments, Number, last_or_chosen

NAME = "final-output"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"runs"})


class FinalOutput(Arguments):
    """What may be written."""

    run: Number | None = None
    equals: Value | None = None
    contains: Text | None = None
    type: Text | None = None

    @model_validator(mode="after")
    def _comparand(self) -> Self:
        """It says what to compare with."""
        if self.equals is None and self.contains is None and self.type is None:
            raise ValueError("give `equals`, `contains` or `type`")
        return self


ARGUMENTS = FinalOutput


def evaluate(evidence: Evidence, arguments: FinalOutput) -> Outcome:
    """Judge the output of one run of the one trace."""
    view = evidence.view
    run = last_or_chosen(view, arguments.run)
    if run is None or run.ended is None or not run.returned:
        return NOT_OBSERVED
    output = run.ended.final_output
    fits = (
        (arguments.equals is None or encode(output) == encode(arguments.equals))
        and (arguments.contains is None or (isinstance(output, str) and arguments.contains in output))
        and (arguments.type is None or _is_type(run.ended.output_type, arguments.type))
    )
    by_type = arguments.type is not None and arguments.equals is None and arguments.contains is None
    wanted: Any = arguments.equals if arguments.equals is not None else arguments.contains  # Any: a value
    finding = make_finding(
        code="is_it" if fits else "is_another",
        events=view.refs(run.ended),
        run=run.label,
        subject="type" if by_type else "contains" if arguments.equals is None else "equals",
        before=arguments.type if by_type else wanted,
        after=run.ended.output_type if by_type else output,
    )
    return Outcome("holds" if fits else "violated", 1, (finding,))


def _is_type(found: str | None, wanted: str) -> bool:
    return found is not None and wanted in (found, found.rpartition(":")[2])


def explain(finding: Finding) -> str:
    """What it is, and what it was to be."""
    words = {"type": "is of type", "contains": "contains", "equals": "is"}[finding.subject or "equals"]
    return f"final output of run {finding.run}: {finding.after!r}; claimed: {words} {finding.before!r}"
