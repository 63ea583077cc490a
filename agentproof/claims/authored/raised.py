"""An exception is raised, or none is.

Rule: an exception of the class `error` (by its name, its module and name, or a package that holds it and its
name), or of one below it, ends the script, one of its tests or one of its runs, whether or not the script
catches it. Without `error`: no exception ends any of them.

Sites: the ends of the script, of its tests and of its runs.

Not observed: the script came to its end without a run, so that an error which it caught itself was not seen;
it was stopped; or it did not come as far as the SDK for a reason of its own (see `script-completed`).

From: the reporter (`--should-raise`, `--should-not-raise`).
"""

from collections.abc import Iterator

from ...models.events import Event, Failure, RunEnded, ScriptEnded, TestEnded
from ...models.manifest import Finding
from ...models.values import text_of
from ...models.wire import Text
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding
from .kind import Arguments

NAME = "raised"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"runs"})


class Raised(Arguments):
    """Which class; absent: none."""

    error: Text | None = None


ARGUMENTS = Raised


def evaluate(evidence: Evidence, arguments: Raised) -> Outcome:
    """Look at every end in the one trace."""
    view = evidence.view
    ends = list(_ends(view))
    raised = [(event, error) for event, error in ends if error is not None]
    if arguments.error is None:
        return _none_raised(view, ends, raised)
    fitting = next(((event, error) for event, error in raised if is_named(error, arguments.error)), None)
    if fitting is not None:
        return Outcome("holds", len(ends), (_finding(view, "raised", *fitting, subject=arguments.error),))
    if not view.runs and not raised:
        return Outcome("not_observed", 0, (_finding(view, "unseen", None, None, subject=arguments.error),))
    instead = (
        raised[-1]
        if raised
        else (next((e for e, _ in reversed(ends) if isinstance(e, RunEnded)), None), None)
    )
    return Outcome("violated", len(ends), (_finding(view, "not_raised", *instead, subject=arguments.error),))


def _none_raised(
    view: View, ends: list[tuple[Event, Failure | None]], raised: list[tuple[Event, Failure]]
) -> Outcome:
    if raised:
        # An error that leaves a run and then the script is one; what left the script says it last.
        event, error = raised[-1]
        return Outcome("violated", len(ends), (_finding(view, "raised_never", event, error),))
    end = view.script_end
    if end is None or end.outcome != "exited":
        return Outcome("not_observed", 0)
    return Outcome("holds", len(ends))


def _ends(view: View) -> Iterator[tuple[Event, Failure | None]]:
    for event in view.of(RunEnded):
        yield event, event.error
    for test in view.of(TestEnded):
        # A test that is to fail, or is skipped, ends by an exception of pytest's that is no failure.
        yield test, test.error if test.outcome in ("failed", "error") else None
    for end in view.of(ScriptEnded):
        yield end, end.error if end.outcome == "raised" else None


def is_named(error: Failure, name: str) -> bool:
    """Whether an exception is of this class: by its name, or with its module or a package that holds it."""
    package, _, own = name.replace(":", ".").rpartition(".")
    for known in (error.type, *error.bases):
        module, _, qualified = known.partition(":")
        if not package and own == qualified.rpartition(".")[2]:
            return True
        dotted = f"{module}.{qualified}"
        if (
            package
            and dotted.endswith(f".{own}")
            and f"{dotted.removesuffix(f'.{own}')}.".startswith(f"{package}.")
        ):
            return True
    return False


def _finding(
    view: View, code: str, event: Event | None, error: Failure | None, *, subject: str | None = None
) -> Finding:
    shown = event or view.script_end
    told = None
    if error is not None:
        name = error.type.rpartition(":")[2]
        message = " ".join(text_of(error.message).split())[:300]
        told = f"{name}: {message}" if message else name
    return make_finding(
        code=code,
        events=view.refs(shown) if shown is not None else (),
        run=event.run if isinstance(event, RunEnded) else None,
        subject=subject,
        after=told,
    )


def wanted(arguments: Raised) -> str:
    """What should happen."""
    return f"{arguments.error or 'No exception'} ends the script or one of its runs."


def explain(finding: Finding) -> str:
    """What was raised, and what was to be."""
    where = "a run" if finding.run is not None else "the script"
    match finding.code:
        case "raised_never":
            return f"{where} raised {finding.after}, and nothing should be raised"
        case "not_raised":
            instead = (
                f"{where} raised {finding.after} instead"
                if finding.after is not None
                else "nothing was raised"
            )
            return f"{finding.subject} should be raised; {instead}"
        case "unseen":
            return (
                f"no run was seen, so that whether the script caught {finding.subject} itself cannot be told"
            )
        case _:
            return f"{where} raised {finding.after}"
