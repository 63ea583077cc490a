"""The partial order of a trace: which of two events must have come first.

`after` edges are direct; this module answers for chains of them. Every event extends the chain of
one of its predecessors or opens a new one, and carries how far it has seen into the other chains
(a vector clock). Only an event that joins chains makes a new clock, so that an ordinary trace,
one long chain, costs one dictionary.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...errors import BundleError
from ...models.events import Event

_MAX_CLOCK_ENTRIES = 5_000_000
"""What all clocks together may hold: an honest trace of 10,000 events in 20 lanes needs 200,000."""


class Order:
    """Answers `happens_before` in constant time once built."""

    def __init__(self, events: Sequence[Event]) -> None:
        """Raises BundleError: more parallel lanes join than any honest trace has."""
        self._chain: list[int] = []
        self._place: list[int] = []
        self._clock: list[Mapping[int, int]] = []
        ends: list[int] = []  # the last event of each chain
        entries = 0
        for index, event in enumerate(events):
            before = _predecessors(event, index)
            own = next((one for one in before if ends[self._chain[one]] == one), None)
            if own is None:
                chain, place = len(ends), 1
                ends.append(index)
            else:
                chain, place = self._chain[own], self._place[own] + 1
                ends[chain] = index
            if own is not None and len(before) == 1:
                clock = self._clock[own]
            else:
                clock = self._joined(before, without=chain)
                entries += len(clock)
                if entries > _MAX_CLOCK_ENTRIES:
                    raise BundleError("too_parallel", "the trace joins too many parallel lanes")
            self._chain.append(chain)
            self._place.append(place)
            self._clock.append(clock)

    def _joined(self, before: Sequence[int], *, without: int) -> dict[int, int]:
        clock: dict[int, int] = {}
        for one in before:
            for chain, place in (*self._clock[one].items(), (self._chain[one], self._place[one])):
                if chain != without and clock.get(chain, 0) < place:
                    clock[chain] = place
        return clock

    def happens_before(self, first: Event, second: Event) -> bool:
        """Whether `first` must have come before `second`; False for the same event and for parallel ones."""
        a, b = first.seq - 1, second.seq - 1
        if self._chain[a] == self._chain[b]:
            return self._place[a] < self._place[b]
        return self._clock[b].get(self._chain[a], 0) >= self._place[a]

    def before_any(self, events: Iterable[Event]) -> Callable[[Event], bool]:
        """Whether an event must have come before one of these, answered in constant time once built."""
        last = {self._chain[event.seq - 1]: event for event in sorted(events, key=_seq)}
        seen: dict[int, int] = {}
        for event in last.values():
            for chain, place in self._past(event).items():
                seen[chain] = max(place, seen.get(chain, 0))
        return self._within(seen)

    def before_all(self, events: Iterable[Event]) -> Callable[[Event], bool]:
        """The same for each of these; nothing comes before all of none."""
        first = {self._chain[event.seq - 1]: event for event in sorted(events, key=_seq, reverse=True)}
        pasts = [self._past(event) for event in first.values()]
        seen = pasts[0] if pasts else {}
        for past in pasts[1:]:
            seen = {chain: min(place, past[chain]) for chain, place in seen.items() if chain in past}
        return self._within(seen)

    def _past(self, event: Event) -> Mapping[int, int]:
        """How far in each chain everything must have come before."""
        index = event.seq - 1
        return {**self._clock[index], self._chain[index]: self._place[index] - 1}

    def _within(self, seen: Mapping[int, int]) -> Callable[[Event], bool]:
        return lambda event: seen.get(self._chain[event.seq - 1], 0) >= self._place[event.seq - 1]


def _seq(event: Event) -> int:
    return event.seq


def _predecessors(event: Event, index: int) -> Sequence[int]:
    if event.after is None:
        return (index - 1,) if index else ()
    return [seq - 1 for seq in event.after]
