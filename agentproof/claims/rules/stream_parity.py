"""The same script, plain and streamed, comes to the same.

Rule: the top-level runs of both modes are compared in their order, where one was plain and the other
streamed and both were given the same: how they ended, tools with arguments and outputs, handoffs,
interruptions, final output, last agent, guardrail lists, new items, what the models were told, and the
session afterwards. The comparison stops at the first run that differs, or that was given something else, or
in which a model that was asked the same answered something else, or a model was not observed: that is the
model's doing. Left out: usage, generated ids, timing, cancelled runs and streams that the consumer left,
runs that share a session at the same time, runs that were given the same as others at the same time, and
after an input guardrail's tripwire what the model was asked (a race). It says that the modes differ, not
which of them is wrong.

Sites: pairs of runs that were compared.

Not observed: one mode alone was recorded, or no run was plain in one mode and streamed in the other.

From: openai/openai-agents-python#4184, #4160, #4097, #2426, #4070 and whatever nobody thought of.

Shown by: `tests/scripts/cases/blocked-answer-replayed` on 0.19.3.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ...models.events import Event, ModelAnswered, ModelCalled, ModelFailed
from ...models.items import Item, items_of, key_of
from ...models.manifest import Finding
from ...models.wire import encode
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, outcome
from ..trace.parity import comparable, differences, masked
from ..trace.runs import Run

NAME = "stream-parity"
VERSION = 3
SCOPE: Scope = "both"
NEEDS = frozenset({"hooks", "models", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge the two traces side by side."""
    plain, streamed = evidence.views.get("as-written"), evidence.views.get("streamed")
    if plain is None or streamed is None:
        return outcome(sites=0, because=())
    judged = list(_compared(plain, streamed))
    return outcome(sites=len(judged), because=(finding for found in judged for finding in found))


def _compared(plain: View, streamed: View) -> Iterator[list[Finding]]:
    for one, other in comparable(plain, streamed):
        if not _same_answers(one, other):
            return
        found = list(differences(one, other, plain, streamed))
        yield found
        if found:
            return


def _same_answers(one: Run, other: Run) -> bool:
    """Whether each question that both runs put to a model got the same answers, as far as both put it."""
    first, second = _answers(one), _answers(other)
    if bool(first) != bool(second) and one.returned and other.returned:
        return False  # a method that was put on the model's class later is not observed
    return all(
        not (first[asked] - second[asked]) or not (second[asked] - first[asked])
        for asked in first.keys() & second.keys()
    )


def _answers(run: Run) -> dict[bytes, Counter[bytes]]:
    """What the models of the run and those inside of it gave, by what they were told."""
    found: dict[bytes, Counter[bytes]] = {}
    for each in run.tree():
        asked = {call.call: _asked(call) for call in each.model_calls()}
        for event in each.events:
            answer = _answer(event)
            if answer is not None and isinstance(event, ModelAnswered | ModelFailed) and event.call in asked:
                found.setdefault(asked[event.call], Counter())[encode(masked(answer))] += 1
    return found


def _asked(call: ModelCalled) -> bytes:
    return encode(masked([call.model, call.instructions, [_said(item) for item in items_of(call.input)]]))


def _said(item: Item) -> list[Any]:  # Any: values
    """What an item says, whatever form it has."""
    return [
        list(key_of(item)),
        *(item.get(name) for name in ("name", "arguments", "input", "action", "output")),
    ]


def _answer(event: Event) -> Any:  # Any: values
    match event:
        case ModelAnswered():
            return [_said(item) for item in items_of(event.output)]
        case ModelFailed():
            return event.error.type
        case _:
            return None


def explain(finding: Finding) -> str:
    """In what the modes differ."""
    return f"run {finding.run} comes to something else when it is streamed: other {finding.subject}"
