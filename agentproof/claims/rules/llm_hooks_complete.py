"""Hooks around model calls are called.

Rule: where the release has `on_llm_start` and `on_llm_end`, each model call of a run is told to the run's
hooks once before and, if it was answered, once after; and to the agent's own hooks where every agent of
the run has some. Left out: what is missing after a guardrail's tripwire, which may cut in between.

Sites: hooks that must have been called.

Not observed: no run called its model, or the release has no such hooks.

From: openai/openai-agents-python#1619.

Shown by: `tests/scripts/cases/llm-hooks-silent` on 0.2.10.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from ...models.events import HookCalled
from ...models.manifest import Finding
from ...models.text import times
from ...models.wire import encode
from ..trace.evidence import Evidence, View
from ..trace.hooks import known_hooks
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "llm-hooks-complete"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every run of the one trace."""
    view = evidence.view
    known = {scope: known_hooks(view, scope) for scope in ("run", "agent")}
    judged = [one for run in view.runs.values() for one in _counts(run, known)]
    return outcome(sites=len(judged), because=_violations(judged, view))


_Count = tuple[Run, str, str, int, int]
"""A run, a scope, a hook, how often it had to be called at least or, where it was called too often, at most;
and how often it was."""


def _counts(run: Run, known: Mapping[str, frozenset[str]]) -> Iterator[_Count]:
    calls, answers = len(run.model_calls()), len(run.answers())
    again = _tried_again(run)
    if not calls or run.ended is None or run.ended.outcome not in ("returned", "raised"):
        return
    told = [event for event in run.events if isinstance(event, HookCalled)]
    own = {
        event.agent_has_hooks for event in told if event.scope == "run" and event.agent_has_hooks is not None
    }
    for scope in ("run", "agent"):
        if scope == "agent" and own != {True}:
            continue
        for hook, wanted in (("on_llm_start", calls), ("on_llm_end", answers)):
            if hook in known[scope]:
                times = sum(1 for event in told if (event.scope, event.hook) == (scope, hook))
                fewer = again if hook == "on_llm_start" else 0
                yield run, scope, hook, max(wanted - fewer, min(wanted, times)), times


def _tried_again(run: Run) -> int:
    """How many calls of the model failed, or were left, and were made again with the same input."""
    answered = {answer.call for answer in run.answers()}
    return sum(
        1
        for first, second in pairwise(run.model_calls())
        if first.call not in answered and encode(first.input) == encode(second.input)
    )


def _violations(judged: list[_Count], view: View) -> Iterator[Finding]:
    for run, scope, hook, wanted, called in judged:
        if called == wanted or run.ended is None:
            continue
        tripped = run.ended.error is not None and run.ended.error.type.endswith("TripwireTriggered")
        if tripped and called < wanted:
            continue
        yield make_finding(
            code="called_otherwise",
            events=view.refs(run.ended),
            run=run.label,
            subject=f"{hook} of the {scope}'s hooks",
            before=wanted,
            after=called,
        )


def explain(finding: Finding) -> str:
    """Which hook was called how often."""
    due, called = times(finding.before), times(finding.after)
    return f"in run {finding.run}, {finding.subject} was called {called}, where {due} was due"
