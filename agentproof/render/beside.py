"""Two tellings beside each other: which steps are the same, and where they part.

Compared are the sentences of the steps, without those that matter less (hooks, spans, stream items) and
decide nothing, and without generated ids, which each recording numbers for itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from ..models.projection import GENERATED_ID
from .steps import Step, TraceStory

MAX_STEPS = 1500
"""Of one telling; aligning takes time that grows with the square."""


@dataclass(frozen=True)
class Pair:
    """One line: a step of each side, or of one alone."""

    left: Step | None
    right: Step | None
    same: bool


def beside(left: TraceStory, right: TraceStory) -> list[Pair]:
    """The steps of both, aligned; at most the first `MAX_STEPS` of each."""
    return list(_pairs(*(_compared(each)[:MAX_STEPS] for each in (left, right))))


def tells_the_same(left: TraceStory, right: TraceStory) -> bool:
    """Whether a reader of the one learns nothing from the other: the same steps, and the same decide."""
    one, other = ([(_key(step), bool(step.remarks)) for step in _compared(each)] for each in (left, right))
    return one == other


def _pairs(left: Sequence[Step], right: Sequence[Step]) -> Iterator[Pair]:
    keys = [*map(_key, left)], [*map(_key, right)]
    for tag, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        for one, other in zip_longest(left[a:b], right[c:d]):
            yield Pair(one, other, tag == "equal")


def _compared(telling: TraceStory) -> list[Step]:
    return [step for step in telling.steps if step.tone != "minor" or step.remarks]


def _key(step: Step) -> str:
    return GENERATED_ID.sub("#", step.text)
