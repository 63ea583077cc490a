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
        self._in_place = in_place

    def changes(self, before: Any, after: Any, pointer: str) -> Iterator[Change]:  # Any: JSON documents
        if isinstance(before, dict) and isinstance(after, dict):
            for key in sorted(before.keys() | after.keys()):
                one, other = before.get(key, ABSENT), after.get(key, ABSENT)
                if not _is_same(one, other):
                    where = self._at(pointer, key.replace("~", "~0").replace("/", "~1"))
                    yield from self.changes(one, other, where)
        elif isinstance(before, list) and isinstance(after, list) and not self._in_place:
            for one, other in _pairs(before, after):
                at = one if one is not None else other
                sides = (
                    (before[one] if one is not None else ABSENT),
                    (after[other] if other is not None else ABSENT),
                )
                if not _is_same(*sides):
                    yield from self.changes(*sides, self._at(pointer, str(at)))
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


def _pairs(before: list[Any], after: list[Any]) -> Iterator[tuple[int | None, int | None]]:  # Any: JSON
    """Which entry of a list became which: by what they hold, then by their ids, then by their order."""
    keys = [[json.dumps(each, sort_keys=True) for each in side] for side in (before, after)]
    if max(map(len, keys)) > _MAX_ALIGNED:
        yield from zip_longest(range(len(before)), range(len(after)))
        return
    for what, one, one_end, two, two_end in SequenceMatcher(
        None, keys[0], keys[1], autojunk=False
    ).get_opcodes():
        if what == "equal":
            continue
        left, right = list(range(one, one_end)), list(range(two, two_end))
        ids = {_identity(after[at]): at for at in right}
        named = [(at, ids.get(_identity(before[at]))) for at in left if _identity(before[at]) is not None]
        known = {at: other for at, other in named if other is not None}
        others = [at for at in right if at not in known.values()]
        rest = [at for at in left if at not in known]
        yield from sorted(known.items())
        yield from zip_longest(rest, others)


_MAX_ALIGNED = 400


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
