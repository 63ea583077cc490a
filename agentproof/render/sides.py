"""Two JSON documents beside each other, line by line, with what is equal folded.

The lines are those of the canonical encoding (two-space indent, sorted keys), so that a reader finds them in
the files. Objects are aligned by key and lists by index, as in `models.diff`.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from ..models.diff import ABSENT, Absent, Change, diff
from ..models.text import pretty, visible

Sign = Literal["-", "+", " "]

_FEW = 2
"""Equal parts in a row that are shown one by one."""
_WINDOW = 160
"""Characters shown of a long text, around the first that differs."""


@dataclass(frozen=True)
class SideLine:
    """One line of both documents."""

    mark: Literal["frame", "equal", "changed"]
    """`frame`: a bracket of what holds a change."""
    before: str | None
    """None where the other side has more lines."""
    after: str | None
    pointer: str
    """Of the innermost part that the line belongs to."""


def side_by_side(before: Any, after: Any, *, limit: int = 400) -> tuple[list[SideLine], bool]:  # Any: JSON
    """At most `limit` rows, and whether they are all."""
    rows: list[SideLine] = []
    for row in _gathered(_rows(before, after, _Spot())):
        if len(rows) == limit:
            return rows, False
        rows.append(row)
    return rows, True


def _gathered(rows: Iterable[SideLine]) -> Iterator[SideLine]:
    """Several equal parts in a row as one line."""
    equal: list[SideLine] = []
    for row in rows:
        if row.mark == "equal":
            equal.append(row)
            continue
        yield from _gather(equal)
        equal = []
        yield row
    yield from _gather(equal)


def _gather(equal: list[SideLine]) -> Iterator[SideLine]:
    if len(equal) <= _FEW:
        yield from equal
        return
    first = equal[0].before or ""
    indent = first[: len(first) - len(first.lstrip())]
    line = f"{indent}… {len(equal)} equal"
    yield SideLine("equal", line, line, equal[0].pointer)


def change_lines(change: Change, *, limit: int = 24) -> Iterator[tuple[Sign, str]]:
    """A change as the lines of a small diff, each side cut after `limit` lines."""
    before, after = _windows(change.before, change.after)
    sides: tuple[tuple[Sign, Any], ...] = (("-", before), ("+", after))  # Any: parts of JSON documents
    for sign, part in sides:
        lines = ["(absent)"] if isinstance(part, Absent) else pretty(part).split("\n")
        for line in lines[:limit]:
            yield sign, line
        if len(lines) > limit:
            yield sign, f"… ({len(lines) - limit:,} more lines)"


@dataclass(frozen=True)
class _Spot:
    """Where a part stands in its document, and what is written around it."""

    pointer: str = ""
    indent: str = ""
    head: str = ""
    comma: str = ""

    def inside(self, name: str, *, head: str, last: bool) -> "_Spot":
        escaped = name.replace("~", "~0").replace("/", "~1")
        return _Spot(f"{self.pointer}/{escaped}", self.indent + "  ", head, "" if last else ",")

    def line(self, text: str) -> str:
        return self.indent + self.head + text


def _rows(before: Any, after: Any, spot: _Spot) -> Iterator[SideLine]:  # Any: parts of JSON documents
    if next(diff(before, after), None) is None:
        line = spot.line(_folded(before) + spot.comma)
        yield SideLine("equal", line, line, spot.pointer)
    elif isinstance(before, dict) and isinstance(after, dict):
        yield from _between("{", "}", _in_objects(before, after, spot), spot)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _between("[", "]", _in_lists(before, after, spot), spot)
    else:
        lines = [_lines(side, spot) for side in _windows(before, after)]
        for left, right in zip_longest(*lines):
            yield SideLine("changed", left, right, spot.pointer)


def _between(first: str, last: str, inner: Iterator[SideLine], spot: _Spot) -> Iterator[SideLine]:
    opening, closing = spot.line(first), spot.indent + last + spot.comma
    yield SideLine("frame", opening, opening, spot.pointer)
    yield from inner
    yield SideLine("frame", closing, closing, spot.pointer)


def _in_objects(
    before: dict[str, Any], after: dict[str, Any], spot: _Spot
) -> Iterator[SideLine]:  # Any: JSON
    keys = sorted(before.keys() | after.keys())
    for key in keys:
        head = visible(json.dumps(key, ensure_ascii=False)) + ": "
        inside = spot.inside(key, head=head, last=key == keys[-1])
        yield from _rows(before.get(key, ABSENT), after.get(key, ABSENT), inside)


def _in_lists(before: list[Any], after: list[Any], spot: _Spot) -> Iterator[SideLine]:  # Any: JSON
    length = max(len(before), len(after))
    for index in range(length):
        left = before[index] if index < len(before) else ABSENT
        right = after[index] if index < len(after) else ABSENT
        yield from _rows(left, right, spot.inside(str(index), head="", last=index == length - 1))


def _lines(part: Any, spot: _Spot) -> list[str]:  # Any: a part of a JSON document
    if isinstance(part, Absent):
        return []
    lines = pretty(part).split("\n")
    lines[0] = spot.head + lines[0]
    lines[-1] += spot.comma
    return [spot.indent + line for line in lines]


def _folded(part: Any) -> str:  # Any: a part of a JSON document
    if isinstance(part, dict) and part:
        return f"{{ … {len(part)} equal }}"
    if isinstance(part, list) and part:
        return f"[ … {len(part)} equal ]"
    return visible(json.dumps(_cut(part, 0), ensure_ascii=False))


def _windows(before: Any, after: Any) -> tuple[Any, Any]:  # Any: parts of JSON documents
    """Both parts, long texts in them cut to what is near the first difference."""
    start = 0
    if isinstance(before, str) and isinstance(after, str):
        shared = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)
        start = min(len(before), len(after)) if shared is None else shared
    return _cut(before, start), _cut(after, start)


def _cut(part: Any, near: int) -> Any:  # Any: a part of a JSON document
    if isinstance(part, str) and len(part) > 2 * _WINDOW:
        first = max(0, min(near, len(part)) - _WINDOW // 2)
        shown = part[first : first + _WINDOW]
        left = len(part) - first - len(shown)
        return (
            (f"(… {first:,} characters) " if first else "") + shown + (f" (… {left:,} more)" if left else "")
        )
    if isinstance(part, list):
        return [_cut(item, 0) for item in part]
    if isinstance(part, dict):
        return {key: _cut(item, 0) for key, item in part.items()}
    return part
