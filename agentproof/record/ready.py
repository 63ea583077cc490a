"""Which of the events that may come next does: the order of parallel lanes, in little time however many.

Lanes form a tree, each below the lane that it was forked from. Next is an event of the shallowest lane
on the way from the root to the current one that has any; else one of the lanes that share most of that way
with it, by the lane's own key; of one lane, the event that was written first.

Each lane has a place in a walk through the tree, in which what lies below a lane is one interval. A tree of
minima over the places finds the best lane of an interval; a sorted list of the lanes that have something
ready finds the smallest interval around the current lane that has any.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable, Mapping
from heapq import heappop, heappush
from typing import Any

_NONE = (1 << 62, 0)


class Ready:
    """Events that wait for nothing any more."""

    def __init__(
        self, parents: Mapping[str, str | None], keys: Mapping[str, Any]
    ) -> None:  # Any: what lanes are compared by, of one type
        """`parents` names each lane's, which stands before it there; `keys` tell lanes apart by content."""
        self._enter, self._leave = _walk(parents)
        self._lanes = sorted(parents, key=self._enter.__getitem__)
        self._up = [-1 if (up := parents[lane]) is None else self._enter[up] for lane in self._lanes]
        ranks = {key: rank for rank, key in enumerate(sorted(set(keys.values())))}
        self._rank = [ranks[keys[lane]] for lane in self._lanes]
        self._waiting: list[list[tuple[int, Hashable]]] = [[] for _ in self._lanes]
        self._places: list[int] = []
        """Of the lanes that have something ready, ascending."""
        self._size = len(self._lanes)
        self._best = [_NONE] * (2 * self._size)
        """A tree of minima of (rank of the lane, when the event was written)."""

    def __bool__(self) -> bool:
        return bool(self._places)

    def add(self, lane: str, written: int, name: str) -> None:
        """Let an event of a lane be chosen from now on; `written` is its place in what was written."""
        place = self._enter[lane]
        if not self._waiting[place]:
            insort(self._places, place)
        heappush(self._waiting[place], (written, name))
        self._update(place)

    def pop(self, current: str | None) -> str:
        """The event that comes next after one of the `current` lane."""
        place = self._choose(None if current is None else self._enter[current])
        waiting = self._waiting[place]
        _, name = heappop(waiting)
        if not waiting:
            del self._places[bisect_left(self._places, place)]
        self._update(place)
        return str(name)

    def _choose(self, current: int | None) -> int:
        if current is None:
            return self._minimum(0, self._size)
        found, at = -1, current
        while at >= 0:
            if self._waiting[at]:
                found = at
            at = self._up[at]
        if found >= 0:
            return found
        index = bisect_left(self._places, current)
        around = [self._places[near] for near in (index - 1, index) if 0 <= near < len(self._places)]
        at = current
        while at >= 0:
            if any(at <= place < self._leave[at] for place in around):
                return self._minimum(at, self._leave[at])
            at = self._up[at]
        return self._minimum(0, self._size)

    def _update(self, place: int) -> None:
        waiting = self._waiting[place]
        at = place + self._size
        self._best[at] = (self._rank[place], waiting[0][0]) if waiting else _NONE
        while at > 1:
            at //= 2
            self._best[at] = min(self._best[2 * at], self._best[2 * at + 1])

    def _minimum(self, low: int, high: int) -> int:
        """The place of the best lane from `low` to before `high`, where one of them has something ready."""
        low, high = low + self._size, high + self._size
        nodes: list[int] = []
        while low < high:
            if low & 1:
                nodes.append(low)
                low += 1
            if high & 1:
                high -= 1
                nodes.append(high)
            low, high = low // 2, high // 2
        node = min(nodes, key=self._best.__getitem__)
        while node < self._size:
            node = min((2 * node, 2 * node + 1), key=self._best.__getitem__)
        return node - self._size


def _walk(parents: Mapping[str, str | None]) -> tuple[dict[str, int], list[int]]:
    """Each lane's place in a walk, parents first, and by place where what lies below it ends."""
    below: dict[str, list[str]] = {lane: [] for lane in parents}
    for lane, parent in parents.items():
        if parent is not None:
            below[parent].append(lane)
    enter: dict[str, int] = {}
    for root in (lane for lane, parent in parents.items() if parent is None):
        todo = [root]
        while todo:
            lane = todo.pop()
            enter[lane] = len(enter)
            todo += reversed(below[lane])
    leave = [place + 1 for place in range(len(enter))]
    for lane in sorted(enter, key=enter.__getitem__, reverse=True):
        parent = parents[lane]
        if parent is not None:
            leave[enter[parent]] = max(leave[enter[parent]], leave[enter[lane]])
    return enter, leave
