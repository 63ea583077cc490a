"""One story of several recordings: told once where they agree, in columns where they do not.

Recordings that tell the same steps share a column. Each column is aligned with the first one (`beside`), so
that a line is a step of the first with what each other one has in its place, or what others have between two.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ..models.trace import Mode
from .beside import beside, tells_the_same
from .page import Page
from .reasons import ClaimLine
from .steps import Step, TraceStory

_FOLDED = 6
"""Equal lines in a row, from which on they are folded."""


@dataclass(frozen=True)
class Column:
    """Recordings that tell the same in one mode; the first of them is shown."""

    pages: tuple[Page, ...]
    telling: TraceStory

    @property
    def page(self) -> Page:
        return self.pages[0]

    @property
    def name(self) -> str:
        return ", ".join(page.build for page in self.pages)


@dataclass(frozen=True)
class Line:
    """A step, or what stands in its place, in each column."""

    cells: tuple[Step | None, ...]
    same: bool


@dataclass(frozen=True)
class Run:
    """Lines in a row that are all the same, or not; long ones of the same are folded at first."""

    lines: tuple[Line, ...]
    same: bool

    @property
    def folded(self) -> bool:
        return (
            self.same and len(self.lines) >= _FOLDED and not any(step and step.remarks for step in self.steps)
        )

    @property
    def steps(self) -> Iterator[Step | None]:
        return (step for line in self.lines for step in line.cells)


@dataclass(frozen=True)
class Told:
    """One mode of all recordings."""

    mode: Mode
    columns: tuple[Column, ...]
    runs: tuple[Run, ...]
    again: bool = False
    """Whether each recording tells the same in the mode before."""

    @property
    def differing(self) -> int:
        return sum(len(run.lines) for run in self.runs if not run.same)


def told_in_columns(pages: Sequence[Page]) -> list[Told]:
    """Each mode that a recording has, over all those that have it."""
    found: list[Told] = []
    for mode in dict.fromkeys(telling.mode for page in pages for telling in page.tellings):
        tellings = [(page, each) for page in pages for each in page.tellings if each.mode == mode]
        columns: list[Column] = []
        for page, telling in tellings:
            for at, column in enumerate(columns):
                if tells_the_same(column.telling, telling):
                    columns[at] = Column((*column.pages, page), column.telling)
                    break
            else:
                columns.append(Column((page,), telling))
        repeated = all(page.tellings[0].mode != mode and page.repeats(telling) for page, telling in tellings)
        found.append(Told(mode, tuple(columns), tuple(_runs(_lines(columns))), repeated and bool(found)))
    return found


def _lines(columns: Sequence[Column]) -> Iterator[Line]:
    first, *others = columns
    if not others:
        yield from (Line((pair.left,), same=True) for pair in beside(first.telling, first.telling))
        return
    # For each other column, by step of the first one: what it has in its place, and what it has before it.
    aligned = [_aligned(first.telling, other.telling) for other in others]
    base = [pair.left for pair in beside(first.telling, first.telling) if pair.left is not None]
    for step in [*base, None]:
        seq = step.seq if step is not None else None
        for between in zip_longest(*(before.get(seq, ()) for _, before in aligned)):
            yield Line((None, *between), same=False)
        if step is not None:
            cells = [places.get(step.seq, (None, False)) for places, _ in aligned]
            # What decides a claim in one of them alone is told in its column.
            same = all(
                same and each is not None and bool(each.remarks) == bool(step.remarks) for each, same in cells
            )
            yield Line((step, *(each for each, _ in cells)), same)


_Places = dict[int, tuple[Step | None, bool]]


def _aligned(first: TraceStory, other: TraceStory) -> tuple[_Places, dict[int | None, list[Step]]]:
    places: _Places = {}
    before: dict[int | None, list[Step]] = {}
    waiting: list[Step] = []
    for pair in beside(first, other):
        if pair.left is None:
            waiting += [pair.right] if pair.right is not None else []
            continue
        places[pair.left.seq] = (pair.right, pair.same)
        if waiting:
            before[pair.left.seq], waiting = waiting, []
    if waiting:
        before[None] = waiting
    return places, before


def _runs(lines: Iterator[Line]) -> Iterator[Run]:
    held: list[Line] = []
    for line in lines:
        if held and held[-1].same != line.same:
            yield Run(tuple(held), held[-1].same)
            held = []
        held.append(line)
    if held:
        yield Run(tuple(held), held[-1].same)


@dataclass(frozen=True)
class Violated:
    """A claim that is violated in some of the recordings."""

    id: str
    told: tuple[tuple[tuple[Page, ...], ClaimLine], ...]
    """Recordings in which it is violated for the same reasons, and the claim of the first of them."""
    others: tuple[tuple[str, str], ...]
    """What it is in the other ones: a status, and their builds."""


def violated_claims(pages: Sequence[Page]) -> list[Violated]:
    """The claims that a recording violates, in the order in which pages tell them."""
    names = dict.fromkeys(claim.id for page in pages for claim in page.claims if claim.status == "violated")
    found = []
    for name in names:
        told: dict[str, list[tuple[Page, ClaimLine]]] = {}
        others: dict[str, list[str]] = {}
        for page in pages:
            claim = next((each for each in page.claims if each.id == name), None)
            if claim is not None and claim.status == "violated":
                told.setdefault(repr([each.text for each in claim.reasons]), []).append((page, claim))
            else:
                status = claim.status.replace("_", " ") if claim is not None else "not judged"
                others.setdefault(status, []).append(page.build)
        found.append(
            Violated(
                name,
                tuple((tuple(page for page, _ in group), group[0][1]) for group in told.values()),
                tuple((status, ", ".join(builds)) for status, builds in others.items()),
            )
        )
    return found


@dataclass(frozen=True)
class Shared:
    """A text that some of the recordings have in common."""

    about: str
    texts: tuple[tuple[str, str], ...]
    """The builds, and their text; without a build where all have it."""


def shared_output(pages: Sequence[Page]) -> list[Shared]:
    """What the script wrote, by stream and mode."""
    found: dict[str, dict[str, list[str]]] = {}
    for stream in ("stdout", "stderr"):
        for page in pages:
            for mode, text, _ in page.wrote(stream):
                found.setdefault(f"{stream}, {mode}", {}).setdefault(text, []).append(page.build)
    return [_shared(about, texts, len(pages)) for about, texts in found.items()]


def shared_environment(pages: Sequence[Page]) -> list[Shared]:
    """What it was recorded on."""
    found: dict[str, dict[str, list[str]]] = {}
    for page in pages:
        for about, text in page.environment:
            found.setdefault(about, {}).setdefault(text, []).append(page.build)
    return [_shared(about, texts, len(pages)) for about, texts in found.items()]


def _shared(about: str, texts: dict[str, list[str]], count: int) -> Shared:
    whole = len(texts) == 1 and all(len(builds) == count for builds in texts.values())
    return Shared(about, tuple(("" if whole else ", ".join(builds), text) for text, builds in texts.items()))
