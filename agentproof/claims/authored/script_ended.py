"""The script itself ends in this way.

Rule: the script ends with `outcome`: it exits (with `code`, 0 where left out), raises (an `error` of
this class, or of one of its bases), or is stopped. With this claim an end that is not clean does not
make the verdict inconclusive, in the modes that the claim speaks of: `mode = "streamed"` is for a script
that cannot end well once its runs are streamed.

Sites: the one end.

Not observed: its end was not seen.

From: the author of the reproduction.
"""

from typing import Literal

from ...models.events import ScriptEnded
from ...models.manifest import Finding
from ...models.wire import Text
from ..trace.evidence import Evidence
from ..trace.outcome import NOT_OBSERVED, Outcome, Scope, make_finding
from .kind import Arguments
from .run_ended import is_class

NAME = "script-ended"
VERSION = 1
SCOPE: Scope = "each"
NEEDS: frozenset[str] = frozenset()


class ScriptEnds(Arguments):
    """What may be written."""

    outcome: Literal["exited", "raised", "killed", "timed_out", "too_much_output", "out_of_memory"]
    code: int | None = None
    error: Text | None = None


ARGUMENTS = ScriptEnds


def evaluate(evidence: Evidence, arguments: ScriptEnds) -> Outcome:
    """Judge the end of the script in the one trace."""
    view = evidence.view
    end = view.script_end
    if end is None:
        return NOT_OBSERVED
    fits = end.outcome == arguments.outcome
    if arguments.outcome == "exited":
        fits = fits and (end.code or 0) == (arguments.code or 0)
    if arguments.error is not None:
        fits = fits and end.error is not None and is_class(end.error, arguments.error)
    finding = make_finding(
        code="ended_so" if fits else "ended_otherwise",
        events=view.refs(end),
        before=_words(arguments.outcome, arguments.code, arguments.error),
        after=_seen(end),
    )
    return Outcome("holds" if fits else "violated", 1, (finding,))


def _seen(end: ScriptEnded) -> str:
    return _words(end.outcome, end.code, end.error.type.rpartition(":")[2] if end.error else None)


def _words(outcome: str, code: int | None, error: str | None) -> str:
    return " ".join([outcome, *([str(code)] if code is not None else []), *([error] if error else [])])


def explain(finding: Finding) -> str:
    """How it ended, and how it was to."""
    return f"the script ended: {finding.after}; claimed: {finding.before}"
