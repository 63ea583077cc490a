"""A model that has answered is not asked again without a cause.

Rule: after a response that holds nothing but a message with text, the same run asks the model no more,
unless the next request holds something new that the model did not say: an output, or a message of
another role.

Sites: pairs of neighbouring model calls of a run, the first of them answered.

Not observed: no run asked its model twice.

From: openai/openai-agents-python#3055 (a refusal runs out of turns).

Shown by: `tests/scripts/cases/refusal-runs-out-of-turns` on 0.14.8.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from ...models.events import ModelAnswered, ModelCalled
from ...models.items import Item, items_of, key_of, text_of, type_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "turn-has-cause"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"models", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every run of the one trace."""
    view = evidence.view
    pairs = [pair for run in view.runs.values() for pair in _pairs(run)]
    return outcome(sites=len(pairs), because=_violations(pairs, view))


def _pairs(run: Run) -> Iterator[tuple[ModelCalled, ModelAnswered, ModelCalled]]:
    answers = {answer.call: answer for answer in run.answers()}
    for first, second in pairwise(run.model_calls()):
        if first.call in answers:
            yield first, answers[first.call], second


def _violations(pairs: list[tuple[ModelCalled, ModelAnswered, ModelCalled]], view: View) -> Iterator[Finding]:
    for first, answer, second in pairs:
        said = items_of(answer.output)
        if not said or not all(type_of(item) == "message" for item in said) or not any(map(text_of, said)):
            continue
        if not _is_told_something(first, second):
            yield make_finding(code="asked_again", events=view.refs(answer, second), run=second.run)


def _is_told_something(first: ModelCalled, second: ModelCalled) -> bool:
    """Whether the second request holds an item that the first did not and that no model said."""
    known = Counter(key_of(item) for item in items_of(first.input))
    fresh = Counter(key_of(item) for item in items_of(second.input) if not _is_said(item))
    return bool(fresh - known)


def _is_said(item: Item) -> bool:
    return type_of(item) == "message" and item.get("role") == "assistant"


def explain(finding: Finding) -> str:
    """Which run went on."""
    return f"run {finding.run} asked the model again after it had answered, with nothing new to tell"
