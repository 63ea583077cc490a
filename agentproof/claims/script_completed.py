"""The script, as it was written, reached its end: no assertion of its own failed.

Rule: an AssertionError that leaves the script with a frame in the reproduction's own files is a
violation. A clean exit holds. Any other end (another exception, a signal, a limit, a failure exit
code) says nothing about the SDK by itself.

Sites: the one end.

Not observed: the script ended in another way, which the finding names; or its end was not seen.

From: reporters' own assertions.
"""

from ..models.events import Failure, ScriptEnded
from ..models.manifest import Finding
from ._evidence import Evidence
from ._outcome import NOT_OBSERVED, Outcome, Scope

NAME = "script-completed"
VERSION = 1
SCOPE: Scope = "as-written"
NEEDS: frozenset[str] = frozenset()


def evaluate(evidence: Evidence) -> Outcome:
    """Judge the one end of the script."""
    view = evidence.view
    end = view.script_end
    if end is None:
        return NOT_OBSERVED
    if is_clean(end):
        return Outcome("holds", 1)
    failed_assertion = end.outcome == "raised" and end.frames and _is_assertion(end.error)
    finding = Finding(
        code="assertion_failed" if failed_assertion else f"script_{end.outcome}",
        events=view.refs(end),
        subject=_told(end),
    )
    return Outcome("violated", 1, (finding,)) if failed_assertion else Outcome("not_observed", 0, (finding,))


def is_clean(end: ScriptEnded) -> bool:
    """Whether the script came to its end by itself, and did not say that it failed."""
    return end.outcome == "exited" and not end.code


def _is_assertion(error: Failure | None) -> bool:
    return error is not None and "builtins:AssertionError" in (error.type, *error.bases)


def _told(end: ScriptEnded) -> str:
    if end.error is None:
        return f"exit code {end.code}" if end.code is not None else end.outcome
    name = end.error.type.rpartition(":")[2]
    message = end.error.message if isinstance(end.error.message, str) else ""
    place = f" at {end.frames[-1].file}:{end.frames[-1].line}" if end.frames else ""
    return f"{name}{place}: {message[:200]}" if message else f"{name}{place}"


def explain(finding: Finding) -> str:
    """How the script ended."""
    if finding.code == "assertion_failed":
        return f"the script's own assertion failed: {finding.subject}"
    return f"the script did not come to its end: {finding.subject}"
