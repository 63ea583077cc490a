"""What changed between two JSON documents, as RFC 6901 pointers with both values.

Objects are compared by key, lists by index; where lists differ in length, the surplus items are
additions or removals at the end. The order of the changes is the order of the pointers' segments.
"""

import marshal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


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
    """Yield the smallest differences, in a fixed order."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            where = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            if key not in after:
                yield Change(where, before[key], ABSENT)
            elif key not in before:
                yield Change(where, ABSENT, after[key])
            elif not _is_same(before[key], after[key]):
                yield from diff(before[key], after[key], where)
    elif isinstance(before, list) and isinstance(after, list):
        shared = min(len(before), len(after))
        for index in range(shared):
            if not _is_same(before[index], after[index]):
                yield from diff(before[index], after[index], f"{pointer}/{index}")
        for index in range(shared, len(before)):
            yield Change(f"{pointer}/{index}", before[index], ABSENT)
        for index in range(shared, len(after)):
            yield Change(f"{pointer}/{index}", ABSENT, after[index])
    elif type(before) is not type(after) or before != after:
        yield Change(pointer, before, after)


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
