"""What changed between two JSON documents, as RFC 6901 pointers with both values.

Objects are compared by key, lists by index; where lists differ in length, the surplus items are
additions or removals at the end. The order of the changes is the order of the pointers' segments.
"""

import marshal
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from ..errors import FormatError
from ..limits import MAX_POINTERS


@dataclass(frozen=True)
class Absent:
    """There is no value at this pointer."""


ABSENT = Absent()


@dataclass(frozen=True)
class Change:
    """One difference: `before` or `after` is ABSENT where the pointer does not exist."""

    pointer: str
    before: Any  # Any: a part of a JSON document
    after: Any


def diff(before: Any, after: Any, pointer: str = "") -> Iterator[Change]:  # Any: JSON documents
    """Yield the smallest differences, in a fixed order.

    Raises:
        FormatError: their pointers are too long altogether, as hostile keys make them.
    """
    return _Walk().changes(before, after, pointer)


class _Walk:
    """One comparison, which writes so many letters of pointers and no more."""

    def __init__(self) -> None:
        self._left = MAX_POINTERS

    def changes(self, before: Any, after: Any, pointer: str) -> Iterator[Change]:  # Any: JSON documents
        if isinstance(before, dict) and isinstance(after, dict):
            for key in sorted(before.keys() | after.keys()):
                one, other = before.get(key, ABSENT), after.get(key, ABSENT)
                if not _is_same(one, other):
                    where = self._at(pointer, key.replace("~", "~0").replace("/", "~1"))
                    yield from self.changes(one, other, where)
        elif isinstance(before, list) and isinstance(after, list):
            for index, (one, other) in enumerate(zip_longest(before, after, fillvalue=ABSENT)):
                if not _is_same(one, other):
                    yield from self.changes(one, other, self._at(pointer, str(index)))
        elif type(before) is not type(after) or before != after:
            yield Change(pointer, before, after)

    def _at(self, pointer: str, segment: str) -> str:
        self._left -= len(pointer) + len(segment)
        if self._left < 0:
            raise FormatError("what differs is too much to be told", reason="too_large")
        return f"{pointer}/{segment}"


def _is_same(before: Any, after: Any) -> bool:  # Any: parts of JSON documents
    """Whether two parts are surely the same, found out without walking through them here.

    `==` takes 1, 1.0 and true for equal, marshal does not; it writes equal dictionaries differently
    where their order differs, and then the walk decides.
    """
    return (
        type(before) is type(after)
        and before == after
        and (type(before) not in (dict, list) or marshal.dumps(before, 0) == marshal.dumps(after, 0))
    )
