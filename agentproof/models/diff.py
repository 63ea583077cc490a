"""What changed between two JSON documents, as RFC 6901 pointers with both values.

Objects are compared by key, lists by index; where lists differ in length, the surplus items are
additions or removals at the end. The order of the changes is the order of the pointers' segments.
"""

import json
import marshal
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
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


def aligned(before: Any, after: Any) -> Iterator[Change]:  # Any: JSON documents
    """As `diff`, for people: an entry that a list lost or got is one change, not one for every place behind.

    What is gone is named by its place before, what came by its place after.

    Raises:
        FormatError: their pointers are too long altogether, as hostile keys make them.
    """
    return _Walk(in_place=False).changes(before, after, "")


class _Walk:
    """One comparison, which writes so many letters of pointers and no more."""

    def __init__(self, *, in_place: bool = True) -> None:
        self._left = MAX_POINTERS
        self._pairs_left = 0 if in_place else _MAX_PAIRS

    def changes(self, before: Any, after: Any, pointer: str) -> Iterator[Change]:  # Any: JSON documents
        if isinstance(before, dict) and isinstance(after, dict):
            for key in sorted(before.keys() | after.keys()):
                one, other = before.get(key, ABSENT), after.get(key, ABSENT)
                if not _is_same(one, other):
                    where = self._at(pointer, key.replace("~", "~0").replace("/", "~1"))
                    yield from self.changes(one, other, where)
        elif isinstance(before, list) and isinstance(after, list):
            if len(before) * len(after) < self._pairs_left:
                self._pairs_left -= len(before) * len(after)
                for at, one, other in _pairs(before, after):
                    yield from self.changes(one, other, self._at(pointer, str(at)))
                return
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


_MAX_PAIRS = 50_000
"""So many pairs of entries are compared to find which became which; of longer lists it is told by place."""


def _pairs(before: list[Any], after: list[Any]) -> Iterator[tuple[int, Any, Any]]:  # Any: JSON
    """Entries that differ, with their place: paired by their ids, then by their order; what holds the same
    in the same order are left out."""
    keys = [[json.dumps(each, sort_keys=True) for each in side] for side in (before, after)]
    matched = SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    for what, one, one_end, two, two_end in matched.get_opcodes():
        if what == "equal":
            continue
        ids = {_identity(after[at]): at for at in range(two, two_end)}
        partners = [
            (at, ids.pop(own, None) if (own := _identity(before[at])) else None) for at in range(one, one_end)
        ]
        yield from ((at, before[at], after[other]) for at, other in partners if other is not None)
        taken = {other for _, other in partners}
        left = [at for at, other in partners if other is None]
        came = [at for at in range(two, two_end) if at not in taken]
        for gone, new in zip_longest(left, came):
            sides = (ABSENT if gone is None else before[gone]), (ABSENT if new is None else after[new])
            yield (new if gone is None else gone), *sides


def _identity(entry: Any) -> tuple[str, str] | None:  # Any: JSON
    """What kind of thing with which id an entry is, of its own or its raw item's."""
    if not isinstance(entry, dict):
        return None
    raw = entry.get("raw_item")
    found = raw if isinstance(raw, dict) else entry
    own = next((found[key] for key in ("call_id", "id") if isinstance(found.get(key), str)), None)
    return None if own is None else (str(found.get("type")), own)


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
