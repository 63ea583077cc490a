"""A telling's shape on the page: which steps it keeps, which runs open, what each step is to each state."""

from collections.abc import Iterator, Mapping, Sequence

from ..models.events import StateObserved
from .steps import Branch, Look, Step, TraceStory

_MAX_LANES = 8
_MAX_STEPS = 2000
"""Of one telling; of a longer one the small steps are left out, and what then comes after these."""
_MAX_OPEN_STEPS = 60
"""In a longer telling only the runs that decide a claim are unfolded at first."""


def kept_steps(telling: TraceStory) -> set[int] | None:
    """The steps of a very long telling that stay; None where all do."""
    if len(telling.steps) <= _MAX_STEPS:
        return None
    large = [step.seq for step in telling.steps if step.tone != "minor"][:_MAX_STEPS]
    return {*large, *(step.seq for step in telling.steps if step.remarks)}


def only(parts: Sequence[Step | Branch], kept: set[int]) -> Iterator[Step | Branch]:
    """The tree with those steps alone."""
    for part in parts:
        if isinstance(part, Branch):
            inner = list(only(part.parts, kept))
            if inner:
                yield Branch(part.run, inner)
        elif part.seq in kept:
            yield part


def lanes_of(telling: TraceStory) -> Mapping[int, list[str]]:
    """For each step what it is to each state; empty where there are none, or too many."""
    if not 0 < len(telling.states) <= _MAX_LANES:
        return {}
    alive: set[str] = set()
    lanes: dict[int, list[str]] = {}
    for step in telling.steps:
        looks = {look.state: look for look in step.looks}
        lanes[step.seq] = [_lane(state, looks.get(state), step, alive) for state in telling.states]
        alive |= looks.keys()
    return lanes


def _lane(state: str, look: Look | None, step: Step, alive: set[str]) -> str:
    if look is None:
        return "live" if state in alive else "none"
    if state not in alive:
        return "born"
    if not look.changes:
        return "used"
    if any(remark.finding.state == state and remark.finding.pointer is not None for remark in step.remarks):
        return "flagged"
    return "seen" if isinstance(step.event, StateObserved) else "own"


def opens(telling: TraceStory, branch: Branch) -> bool:
    """Whether a run is unfolded at first."""
    return len(telling.steps) <= _MAX_OPEN_STEPS or _decides(branch)


def _decides(branch: Branch) -> bool:
    return any(_decides(part) if isinstance(part, Branch) else bool(part.remarks) for part in branch.parts)
