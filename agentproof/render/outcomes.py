"""What became of a reproduction on another target, in two words, and the order in which targets are shown."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from ..diff.rows import is_older
from ..models.comparison import Cell, Row

WORDS = {
    "fixed": "fixed",
    "regressed": "REGRESSED",
    "still_violated": "still violated",
    "still_holds": "still holds",
    "inconclusive": "inconclusive",
    "unobservable": "unobservable",
    "not_recorded": "not recorded",
}
OLDER = {
    "fixed": "holds",
    "regressed": "violated",
    "still_violated": "violated",
    "still_holds": "holds",
}
"""For a release that is older than the one that it is compared with: nothing became of anything there."""
CHANGES = {"gone": "no longer:", "new": "new:", "changed": "changed:", "moved": "moved:"}
"""What a difference between two traces is called."""


def place_of(pointer: str) -> str:
    """Where a fact changed, for people; of a change in a state the place in its JSON, and its side."""
    _, *parts = pointer.split("/")
    if parts[:1] != ["changes"] or len(parts) < 2:
        return pointer
    place = parts[1].replace("~1", "/").replace("~0", "~")
    if len(parts) == 2:
        return place
    return f"{'/'.join((place, *parts[3:]))} ({parts[2]})"


def words_of(cell: Cell, row: Row) -> str:
    """Its outcome. What has nothing to compare is a plain verdict: the first cell of a row, older releases,
    all cells where the first one is inconclusive."""
    recorded = cell.recorded
    if cell.visible is not None:
        return f"not as on {row.cells[0].target}"
    if cell.outcome in OLDER and is_older(cell, row.cells[0]):
        return OLDER[cell.outcome]
    if recorded is not None and cell.outcome == "baseline":
        return recorded.verdict
    if recorded is not None and cell.outcome == "inconclusive" and recorded.verdict != "inconclusive":
        return recorded.verdict
    return WORDS[cell.outcome]


def targets_of(rows: Iterable[Row]) -> list[str]:
    """Every target once: versions in their order, other names after them."""
    return in_order(cell.target for row in rows for cell in row.cells)


def in_order(targets: Iterable[str]) -> list[str]:
    """Each once, in the same order."""
    return sorted(dict.fromkeys(targets), key=_version_key)


def _version_key(text: str) -> tuple[int, tuple[int, ...]]:
    parts = re.split(r"[@+ ]", text, maxsplit=1)[0].split(".")
    if all(part.isdecimal() for part in parts):
        return 0, tuple(int(part) for part in parts)
    return 1, ()


_SEEN: Final[Mapping[str, tuple[str, str]]] = {
    "printed": ('it printed "{0}"', 'it prints "{0}"'),
    "ended": ("the script {0}", "it {0}"),
    "tools": ("the tool that ran was {0}", "it is {0}"),
    "output": ('a run gave "{0}"', 'it gives "{0}"'),
    "state": ("{where} is {0}", "it is {0}"),
    "model": ("{where} is {0}", "it is {0}"),
}
"""What a user sees where it worked, and elsewhere."""


def visible_words(cell: Cell, row: Row) -> str | None:
    """How a recording is not as where it worked, with both values; None where it is, or nobody asked."""
    seen = cell.visible
    if seen is None:
        return None
    good, here = _SEEN[seen.about]
    where = seen.where or ""
    return (
        f"on {row.cells[0].target} {good.format(seen.before, where=where)}, "
        f"on {cell.target} {here.format(seen.after, where=where)}"
    )
