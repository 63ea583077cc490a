"""What became of a reproduction on another target, in two words, and the order in which targets are shown."""

import re
from collections.abc import Iterable

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
CHANGES = {"gone": "no longer:", "new": "new:", "changed": "changed:", "moved": "moved:"}
"""What a difference between two traces is called."""


def words_of(cell: Cell) -> str:
    """Its outcome; the first cell of a row is a plain verdict, and so is one that has nothing to compare."""
    recorded = cell.recorded
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
