"""Two tellings as the rows of a table: what is equal is folded, each step leads to its place on the page."""

from collections.abc import Sequence
from dataclasses import dataclass

from .beside import Pair
from .steps import Step


@dataclass(frozen=True)
class _Cell:
    """A step in a table of two tellings."""

    seq: int
    text: str
    anchor: str | None


@dataclass(frozen=True)
class _Line:
    left: _Cell | None = None
    right: _Cell | None = None
    same: bool = False
    skipped: int = 0


@dataclass(frozen=True)
class ComparisonTable:
    """Two tellings beside each other."""

    left: str
    right: str
    rows: tuple[_Line, ...]
    equal: int
    other: int

    @property
    def same(self) -> bool:
        return not self.other


def compared(pairs: Sequence[Pair], *, names: tuple[str, str], prefixes: tuple[str, str]) -> ComparisonTable:
    """Pairs as rows; `prefixes` lead to the steps on the page, and are empty where it does not tell them."""
    rows: list[_Line] = []
    run: list[_Line] = []
    for pair in pairs:
        line = _Line(_cell(pair.left, prefixes[0]), _cell(pair.right, prefixes[1]), pair.same)
        if pair.same:
            run.append(line)
            continue
        rows += [*_shortened(run, first=not rows), line]
        run = []
    rows += _shortened(run, first=not rows, last=True)
    equal = sum(pair.same for pair in pairs)
    return ComparisonTable(names[0], names[1], tuple(rows), equal, len(pairs) - equal)


def _shortened(run: list[_Line], *, first: bool, last: bool = False) -> list[_Line]:
    """A run of equal lines, all but its ends folded."""
    head, tail = (0 if first else 2), (0 if last else 2)
    if len(run) <= head + tail + 1:
        return run
    return [*run[:head], _Line(skipped=len(run) - head - tail), *run[len(run) - tail :]]


def _cell(step: Step | None, prefix: str) -> _Cell | None:
    return _Cell(step.seq, step.text, f"{prefix}-{step.seq}" if prefix else None) if step else None
