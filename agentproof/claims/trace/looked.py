"""What `value-at` claims look at: each place once, and all of them within bounds.

A claim may point at a state of megabytes, and a header has room for thousands of claims.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from ...errors import BundleError
from ...limits import MAX_LOOKED_AT_BYTES
from ...models.diff import Absent
from ...models.wire import compact


@dataclass(frozen=True)
class Looked:
    """What a place holds."""

    value: Callable[[], Any]  # Any: a value, or Absent
    code: bytes | None
    """What values are told apart by; None: there is nothing."""
    size: int
    length: int | None
    """Of a text, list or object."""

    @property
    def is_absent(self) -> bool:
        """Whether the place does not exist."""
        return self.code is None


class Places:
    """The places of one trace that were looked at."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Looked] = {}
        self._left = MAX_LOOKED_AT_BYTES

    def at(self, place: Hashable, value: Callable[[], Any]) -> Looked:  # Any: a value, or Absent
        """What the place holds, which `value` gives.

        Raises:
            BundleError: with all that was looked at before it is too much.
        """
        if place not in self._known:
            self._known[place] = self._look(value)
        return self._known[place]

    def _look(self, value: Callable[[], Any]) -> Looked:  # Any: a value, or Absent
        found = value()
        if isinstance(found, Absent):
            return Looked(value, None, 0, None)
        code = compact(found)
        self.count(len(code))
        length = len(found) if isinstance(found, str | list | dict) else None
        return Looked(value, code, len(code), length)

    def count(self, size: int) -> None:
        """So many bytes are looked at; raises as `at` does."""
        self._left -= size
        if self._left < 0:
            raise BundleError(
                "too_large",
                f"claims look at more than {MAX_LOOKED_AT_BYTES} bytes of values",
                path="traces",
                hint="point at the parts that matter",
            )
