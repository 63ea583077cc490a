"""Two releases: functions that differ, and which of the lines that differ ran. Pure.

A function of the bundle's release differs where its syntax does: comments and docstrings do not count, nor
do the functions inside of it. Its lines that differ are those of a line difference; where lines were only
added, the lines around the gap count as well, for there the old release takes another way.
"""

import difflib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from .located import Line
from .source import Function, Source

_MOST_LINES = 40
"""Of one function, in a result."""


@dataclass(frozen=True)
class Changed:
    """A function that differs between the releases, and what of the difference ran."""

    function: Function
    other: Function | None
    """None: the other release has none of this name in this file."""
    old: frozenset[int]
    """Lines of the bundle's release that differ or stand around an addition, and ran."""
    new: frozenset[int]
    """Lines of the other release that differ and ran."""

    @property
    def ran(self) -> bool:
        """Whether a line that differs ran on either side."""
        return bool(self.old or self.new)


@dataclass(frozen=True)
class DiffLine:
    """A line of a difference, by its number in its own release; and whether it ran."""

    change: Literal["removed", "added", "same"]
    line: int
    ran: bool


def changed_functions(
    old: Source, new: Source, ran_old: Collection[Line], ran_new: Collection[Line]
) -> list[Changed]:
    """Every function of `old` that differs in `new`, in the order of files and lines."""
    before, after = _by_file(ran_old), _by_file(ran_new)
    found: list[Changed] = []
    for name, file in sorted(old.files.items()):
        other = new.files.get(name)
        if other is not None and other.data == file.data:
            continue
        for function in file.functions.values():
            theirs = other.functions.get(function.name) if other is not None else None
            if theirs is not None and theirs.shape == function.shape:
                continue
            removed, added, around = _differing(old, new, function, theirs)
            mine = {line for line in before.get(name, ()) if file.function_at(line) is function}
            his = (
                {line for line in after.get(name, ()) if other.function_at(line) is theirs}
                if other is not None and theirs is not None
                else set()
            )
            found.append(
                Changed(function, theirs, frozenset((removed | around) & mine), frozenset(added & his))
            )
    return found


def difference(
    old: Source, new: Source, changed: Changed, ran_old: Collection[Line], ran_new: Collection[Line]
) -> Iterator[DiffLine]:
    """The hunks of a function of which a line ran, with a line around each."""
    file = changed.function.file
    mine, theirs = _texts(old, changed.function), _texts(new, changed.other)
    start, other_start = changed.function.first, changed.other.first if changed.other else 1
    count = 0
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        removed = [(start + at, (file, start + at) in ran_old) for at in range(i1, i2)]
        added = [(other_start + at, (file, other_start + at) in ran_new) for at in range(j1, j2)]
        beside = [start + at for at in ((i1 - 1, i1) if i1 == i2 else ()) if 0 <= at < len(mine)]
        if not any(ran for _, ran in (*removed, *added)) and not any((file, at) in ran_old for at in beside):
            continue
        shown = [
            DiffLine("same", at, ran=(file, at) in ran_old) for at in range(start + i1 - 1, start + i1) if i1
        ]
        shown += [DiffLine("removed", line, ran=ran) for line, ran in removed]
        shown += [DiffLine("added", line, ran=ran) for line, ran in added]
        for each in shown:
            count += 1
            if count > _MOST_LINES:
                return
            yield each


def _differing(
    old: Source, new: Source, function: Function, other: Function | None
) -> tuple[set[int], set[int], set[int]]:
    mine, theirs = _texts(old, function), _texts(new, other)
    removed: set[int] = set()
    added: set[int] = set()
    around: set[int] = set()
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        removed.update(range(function.first + i1, function.first + i2))
        if other is not None:
            added.update(range(other.first + j1, other.first + j2))
        if i1 == i2:
            around |= {function.first + i1 - 1, function.first + i1}
    return removed, added, around


def _texts(source: Source, function: Function | None) -> list[str]:
    if function is None:
        return []
    return source.files[function.file].lines[function.first - 1 : function.last]


def _by_file(lines: Collection[Line]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for file, line in lines:
        found.setdefault(file, set()).add(line)
    return found
