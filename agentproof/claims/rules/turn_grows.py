"""Each turn of a run builds on the one before.

Rule: within one run a model input holds every call, output and message of the model input before it and of
the answer to that. Left out: conversations that a server manages, runs whose configuration filters items,
and turns with a handoff in between.

Sites: pairs of neighbouring model calls of a run, the first of them answered.

Not observed: no run asked its model twice.

From: no report among those studied; natural, and silent on all of them.

Shown by: a fault seeded into 0.24.0, `tests/seeded/turn-grows.toml`.
"""

from collections.abc import Iterator
from itertools import pairwise

from ...models.events import HandoffMade, ModelAnswered, ModelCalled
from ...models.items import Key, is_call, is_output, items_of, key_of, type_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run, filters_items

NAME = "turn-grows"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every run of the one trace."""
    view = evidence.view
    turns = [turn for run in view.runs.values() if not filters_items(run) for turn in _turns(run)]
    found = (
        make_finding(
            code="forgotten",
            events=view.refs(first, second),
            run=second.run,
            call_id=key[1] if key[0] != "message" else None,
            subject=key[0],
            before=list(key),
        )
        for first, answer, second in turns
        for key in _forgotten(first, answer, second)
    )
    return outcome(sites=len(turns), because=found)


def _turns(run: Run) -> Iterator[tuple[ModelCalled, ModelAnswered, ModelCalled]]:
    answers = {answer.call: answer for answer in run.answers()}
    handoffs = [event.seq for event in run.events if isinstance(event, HandoffMade)]
    for first, second in pairwise(run.model_calls()):
        if first.call in answers and not any(first.seq < seq < second.seq for seq in handoffs):
            yield first, answers[first.call], second


def _forgotten(first: ModelCalled, answer: ModelAnswered, second: ModelCalled) -> list[Key]:
    told = [*items_of(first.input), *items_of(answer.output)]
    held = {key_of(item) for item in items_of(second.input)}
    keys = [key_of(i) for i in told if type_of(i) == "message" or is_call(i) or is_output(i)]
    return [key for key in dict.fromkeys(keys) if key not in held]


def explain(finding: Finding) -> str:
    """What was forgotten."""
    what = f"the {finding.subject}" + (f" of {finding.call_id}" if finding.call_id else "")
    return f"{what} of the turn before is missing in the next model input of run {finding.run}"
