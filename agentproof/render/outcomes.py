"""What became of a reproduction on another target, in two words, and the order in which targets are shown."""

import re
from collections.abc import Iterable

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
    if cell.outcome in OLDER and is_older(cell, row.cells[0]):
        return OLDER[cell.outcome]
    if recorded is not None and cell.outcome == "baseline":
        return recorded.verdict
    if recorded is not None and cell.outcome == "inconclusive" and recorded.verdict != "inconclusive":
        return recorded.verdict
    return WORDS[cell.outcome]


def targets_of(rows: Iterable[Row]) -> list[str]:
    """Every target once: versions in their order, other names after them."""
    return sorted(dict.fromkeys(cell.target for row in rows for cell in row.cells), key=_version_key)


def _version_key(text: str) -> tuple[int, tuple[int, ...]]:
    parts = re.split(r"[@+]", text, maxsplit=1)[0].split(".")
    if all(part.isdecimal() for part in parts):
        return 0, tuple(int(part) for part in parts)
    return 1, ()
