"""An error that leaves a run has an origin.

Rule: what a run raises, once it asked its model or started a tool, is one of the SDK's own exceptions, a
cancellation, or something that was seen to be raised during it by the script's own code, a model, a session,
a guardrail, a server or a nested run. A TypeError, KeyError, AttributeError, IndexError, RecursionError,
AssertionError or NameError that nobody outside of the SDK raised is an internal failure of the SDK. Left out:
runs that raised before, which is how a caller's mistake in the arguments ends; and runs in which a tool
started and never ended, for its function may not be the script's own and then nobody saw it raise.

Sites: runs that raised after they had asked their model or started a tool.

Not observed: no such run, or the script's own functions could not be watched.

From: no report among those studied; natural, and silent on all of them.

Shown by: a fault seeded into 0.24.0, `tests/seeded/error-has-origin.toml`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...models.events import (
    BodyRaised,
    Event,
    Failure,
    GuardrailRan,
    McpCalled,
    ModelCalled,
    ModelFailed,
    SessionCalled,
    SessionUsed,
    ToolStarted,
)
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "error-has-origin"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"bodies", "guardrails", "models", "runs", "sessions"})

_INTERNAL = frozenset(
    f"builtins:{name}"
    for name in (
        "AssertionError",
        "AttributeError",
        "IndexError",
        "KeyError",
        "NameError",
        "RecursionError",
        "TypeError",
    )
)


@dataclass
class _Tree:
    """What is known of a run and all runs inside it."""

    raised: set[str] = field(default_factory=set)
    """The types of what was seen to be raised outside of the SDK."""
    open_tools: int = 0
    """Tools that started, less those that ended."""

    def add(self, other: "_Tree") -> None:
        """What is known of a run inside it."""
        self.raised |= other.raised
        self.open_tools += other.open_tools


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every run that raised in the one trace."""
    view = evidence.view
    trees = _trees(view)
    failed = [run for run in view.runs.values() if _is_judged(run, trees[run.label])]
    return outcome(sites=len(failed), because=_violations(failed, trees, view))


def _trees(view: View) -> dict[str, _Tree]:
    trees = {label: _Tree() for label in view.runs}
    for label, run in reversed(list(view.runs.items())):  # a run stands after the one around it
        tree = trees[label]
        tree.raised |= {failure.type for event in run.events for failure in _failures(event)} & _INTERNAL
        tree.open_tools += len(run.tools_started()) - len(run.tools_ended())
        if run.parent is not None:
            trees[run.parent.label].add(tree)
    return trees


def _is_judged(run: Run, tree: _Tree) -> bool:
    """Whether it raised, came so far as to ask a model or to start a tool, and each of its tools ended."""
    if run.ended is None or run.ended.outcome != "raised" or tree.open_tools > 0:
        return False
    return any(isinstance(event, ModelCalled | ToolStarted) for event in run.events)


def _violations(failed: list[Run], trees: dict[str, _Tree], view: View) -> Iterator[Finding]:
    # What a thread of the script's raised may not tell of which run it was part.
    outside = [event for event in view.events if event.run is None and any(_failures(event))]
    for run in failed:
        end = run.ended
        if end is None or end.error is None or end.error.type not in _INTERNAL:
            continue
        types = {failure.type for failure in _chain(end.error)}
        meanwhile = (event for event in outside if _is_during(event, run, end, view))
        if types & trees[run.label].raised or any(
            failure.type in types for event in meanwhile for failure in _failures(event)
        ):
            continue
        yield make_finding(code="no_origin", events=view.refs(end), run=run.label, subject=end.error.type)


def _chain(error: Failure | None) -> Iterator[Failure]:
    """An error and what it was raised from."""
    while error is not None:
        yield error
        error = error.cause


def _is_during(event: Event, run: Run, end: Event, view: View) -> bool:
    return not (view.happens_before(event, run.started) or view.happens_before(end, event))


def _failures(event: Event) -> Iterator[Failure]:
    """What was raised outside of the SDK."""
    match event:
        case BodyRaised() | ModelFailed():
            yield event.error
        case GuardrailRan() | McpCalled() | SessionCalled() | SessionUsed():
            if event.error is not None:
                yield event.error
        case _:
            pass


def explain(finding: Finding) -> str:
    """Which run raised what."""
    kind = (finding.subject or "").rpartition(":")[2]
    return f"run {finding.run} raised {kind}, which nothing outside of the SDK raised"
