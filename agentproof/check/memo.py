"""Results of pure functions, kept for the next bundle that has the same part.

Traces and states often are the same in many bundles: one case on several releases, Pythons and machines.
A part is the same when its SHA-256 is, computed from the bytes that were read; nothing else is believed.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Memo(Generic[T]):
    """The results that were asked for last, as many as their weight allows."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._weight = 0
        self._held: dict[Hashable, tuple[int, T]] = {}

    def get(self, key: Hashable, weight: int, compute: Callable[[], T]) -> T:
        """What `compute` gives, or gave for the same key; an error is not kept."""
        held = self._held.pop(key, None)
        if held is None:
            held = (weight, compute())
            self._weight += weight
        self._held[key] = held
        while self._weight > self._limit:
            oldest = next(iter(self._held))
            self._weight -= self._held.pop(oldest)[0]
        return held[1]
