"""Pair the runs and the states of two traces of one reproduction, so that one more of them moves no other.

Rules:
1. Runs that the script itself started are paired in their order: those with the same agent, input and calls
   first; between them those that share a call, then those with the same input, then those of one agent.
   One that resumes a state and one that does not are never a pair.
2. States are paired in their order, by where they come from: the run whose result they were made from, or
   JSON. Runs inside of runs are told by their parents (`align`).
3. What both traces begin or end with is paired without a search, and of the rest at most a bounded number.
"""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final, TypeVar

from ..models.events import RunEnded, RunStarted, StateMade, StateRestored, ToolStarted
from ..models.trace import Trace

_MOST: Final = 200
"""Of what differs between its equal ends; beyond that, order alone pairs."""
_Thing = TypeVar("_Thing")


def pair_runs(before: Trace, after: Trace) -> Mapping[str, str]:
    """The label of a run of `after` → the label of its partner in `before`, for runs that have one."""
    mine, theirs = _runs(before), _runs(after)
    pairs = _pair(mine, theirs, exact=_Run.key, ways=(_Run.shares, _Run.is_asked_the_same, _Run.is_like))
    return {theirs[place].label: mine[other].label for place, other in pairs.items()}


def pair_states(before: Trace, after: Trace, runs: Mapping[str, str]) -> Mapping[str, str]:
    """The same for states; `runs` is what `pair_runs` found."""
    # A label says nothing in the other trace, so one without a partner is no origin there.
    mine = _origins(before, lambda run: run)
    theirs = _origins(after, lambda run: runs.get(run, f"{run} without a partner"))
    pairs = _pair(
        list(mine.values()),
        list(theirs.values()),
        exact=lambda origin: origin,
        ways=(lambda one, other: one[0] == other[0],),
    )
    names, others = list(mine), list(theirs)
    return {others[place]: names[other] for place, other in pairs.items()}


class _Run:
    """A run that the script started, with the calls that it and what it started are about."""

    def __init__(self, event: RunStarted) -> None:
        self.label = event.run or ""
        self.kind = (event.agent, event.state is not None)
        self.input = json.dumps(event.input, sort_keys=True)
        self.calls: set[str] = set()

    def key(self) -> Hashable:
        return self.kind, self.input, frozenset(self.calls)

    def shares(self, other: "_Run") -> bool:
        return self.is_like(other) and not self.calls.isdisjoint(other.calls)

    def is_asked_the_same(self, other: "_Run") -> bool:
        return self.is_like(other) and self.input == other.input

    def is_like(self, other: "_Run") -> bool:
        return self.kind == other.kind


def _runs(trace: Trace) -> list[_Run]:
    found: dict[str, _Run] = {}
    top: dict[str, str] = {}
    for event in trace.events:
        if isinstance(event, RunStarted):
            label = event.run or ""
            top[label] = top.get(event.parent, label) if event.parent is not None else label
            if top[label] == label:
                found[label] = _Run(event)
        run = found.get(top.get(event.run or "", ""))
        if run is None:
            continue
        if isinstance(event, ToolStarted) and event.call_id is not None:
            run.calls.add(event.call_id)
        elif isinstance(event, RunEnded):
            run.calls.update(item.call_id for item in event.interruptions if item.call_id is not None)
    return list(found.values())


def _origins(trace: Trace, name: Callable[[str], str]) -> dict[str, tuple[str, str]]:
    """Each state by its label, with where it comes from in words of the first trace."""
    results: dict[str, str] = {}
    found: dict[str, tuple[str, str]] = {}
    for event in trace.events:
        match event:
            case RunEnded() if event.result is not None and event.run is not None:
                results[event.result] = name(event.run)
            case StateMade():
                found.setdefault(event.state, ("made", results.get(event.result or "", "")))
            case StateRestored():
                found.setdefault(event.state, ("restored", ""))
            case _:
                pass
    return found


def _pair(
    mine: Sequence[_Thing],
    theirs: Sequence[_Thing],
    *,
    exact: Callable[[_Thing], Hashable],
    ways: Sequence[Callable[[_Thing, _Thing], bool]],
) -> dict[int, int]:
    """Places in `theirs` → places in `mine`, in order: equal ones first, others by one way after another."""
    keys, others = list(map(exact, mine)), list(map(exact, theirs))
    begin = 0
    while begin < min(len(keys), len(others)) and keys[begin] == others[begin]:
        begin += 1
    end = 0
    while end < min(len(keys), len(others)) - begin and keys[-1 - end] == others[-1 - end]:
        end += 1
    pairs = {place: place for place in range(begin)}
    pairs |= {len(others) - 1 - place: len(keys) - 1 - place for place in range(end)}
    first, last = range(begin, len(keys) - end), range(begin, len(others) - end)
    if max(len(first), len(last)) > _MOST:
        return pairs | dict(zip(last, first, strict=False))
    matcher = SequenceMatcher(
        None, keys[begin : len(keys) - end], others[begin : len(others) - end], autojunk=False
    )
    for what, low, high, other_low, other_high in matcher.get_opcodes():
        here, there = range(begin + low, begin + high), range(begin + other_low, begin + other_high)
        if what == "equal":
            pairs |= dict(zip(there, here, strict=True))
        else:
            pairs |= _between([(at, mine[at]) for at in here], [(at, theirs[at]) for at in there], ways)
    return pairs


def _between(
    here: Sequence[tuple[int, _Thing]],
    there: Sequence[tuple[int, _Thing]],
    ways: Sequence[Callable[[_Thing, _Thing], bool]],
) -> dict[int, int]:
    """Pairs of what lies between two equal ones, keeping its order; what one way leaves is for the next."""
    if not ways or not here or not there:
        return {}
    pairs: dict[int, int] = {}
    start = 0
    left: list[tuple[int, _Thing]] = []
    for place, thing in here:
        fits = (at for at in range(start, len(there)) if ways[0](thing, there[at][1]))
        found = next(fits, None)
        if found is None:
            left.append((place, thing))
            continue
        pairs |= {there[found][0]: place} | _between(left, there[start:found], ways[1:])
        left, start = [], found + 1
    return pairs | _between(left, there[start:], ways[1:])
