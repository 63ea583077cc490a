"""What stands above the recordings of a page: their claims beside each other, and of several reproductions a
table of what became of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..models.manifest import name_of_build
from ..models.text import one_line
from .columns import (
    Shared,
    Told,
    Violated,
    shared_environment,
    shared_output,
    told_in_columns,
    violated_claims,
)
from .groups import Group
from .outcomes import in_order, words_of
from .page import Page

_TARGET = 60
"""Letters of a target's name in a sentence."""
_MAX_STEPS = 8000
"""A page tells so many steps; reproductions after that are only compared."""


@dataclass(frozen=True)
class Section:
    """One reproduction on the page."""

    anchor: str
    group: Group
    pages: tuple[Page, ...]
    whole: bool
    """Whether its recordings are told step by step."""

    @property
    def title(self) -> str:
        return self.pages[0].title if self.pages else self.group.name

    @property
    def name(self) -> str:
        """What a comparison calls it; files of one folder are called by their release, so by its title."""
        return self.group.name if self.group.row is not None else self.title

    @property
    def unrecorded(self) -> list[tuple[str, str]]:
        """Targets that nothing could be recorded on, and why."""
        cells = self.group.row.cells if self.group.row is not None else ()
        return [(cell.target, cell.failed or "") for cell in cells if cell.recorded is None]

    @property
    def claims(self) -> list[tuple[str, list[str | None]]]:
        """Each claim with its status in each recording; violated ones first."""
        names = dict.fromkeys(
            claim.id
            for status in ("violated", "holds", "not_observed")
            for page in self.pages
            for claim in page.claims
            if claim.status == status
        )
        # Of one that the manifest has and that is judged beyond it as well, the worst comes first.
        by_page = [{claim.id: claim.status for claim in reversed(page.claims)} for page in self.pages]
        return [(name, [found.get(name) for found in by_page]) for name in names]

    @property
    def telling_claims(self) -> list[tuple[str, list[str | None]]]:
        """Those that are violated somewhere, or not the same everywhere."""
        return [each for each in self.claims if "violated" in each[1] or len(set(each[1])) > 1]

    @property
    def quiet_claims(self) -> list[tuple[str, list[str | None]]]:
        """The others."""
        telling = self.telling_claims
        return [each for each in self.claims if each not in telling]

    @property
    def alone(self) -> bool:
        """Whether it is one recording, which is told by itself."""
        return self.whole and len(self.pages) == 1 and not self.unrecorded

    @property
    def outcome(self) -> str:
        """What became of it on each target, those with one outcome together, in their order."""
        row = self.group.row
        cells: list[tuple[str, str]] = []
        if row is None:
            cells += [(page.build, page.verdict.status) for page in self.pages]
        else:
            cells += [(cell.target, words_of(cell, row)) for cell in row.cells]
        found: dict[str, list[str]] = {}
        for target, words in cells:
            found.setdefault(words, []).append(one_line(target, _TARGET))
        return "; ".join(f"{words} on {', '.join(targets)}" for words, targets in found.items())

    @property
    def look(self) -> str:
        """The worst of the words that say how its cells look."""
        looks = {look for _, (_, look) in _cells(self)}
        return next(each for each in ("violated", "inconclusive", "holds") if each in looks)

    @property
    def differs(self) -> bool:
        """Whether its targets do not all look the same."""
        return len({look for _, (_, look) in _cells(self)}) > 1

    @property
    def lead(self) -> str | None:
        """What the first recording that violates something shows."""
        page = next((page for page in self.pages if page.verdict.status == "violated"), None)
        return f"On {page.build}: {page.headline}" if page is not None else None

    @cached_property
    def told(self) -> list[Told]:
        """Each mode step by step; nothing of a single recording, or where the page has no room."""
        if self.alone or not self.whole or not self.pages:
            return []
        told = told_in_columns(self.pages)
        for page in self.pages:
            page.linked = set()
        for mode in told:
            for line in () if mode.again else (line for run in mode.runs for line in run.lines):
                for column, step in zip(mode.columns, line.cells, strict=True):
                    if step is not None and column.page.linked is not None:
                        column.page.linked.add((mode.mode, step.seq))
        return told

    @property
    def violated(self) -> list[Violated]:
        # Which steps have a place on the page must be known, since reasons lead to them.
        return violated_claims(self.pages) if self.told else []

    @property
    def output(self) -> list[Shared]:
        return shared_output(self.pages)

    @property
    def environment(self) -> list[Shared]:
        return shared_environment(self.pages)


def told_whole(groups: Sequence[Group]) -> Iterator[bool]:
    """For each group whether the page has room for its steps; the first one always is told."""
    told = 0
    for index, group in enumerate(groups):
        steps = sum(len(telling.steps) for story in group.stories for telling in story.tellings)
        fits = index == 0 or told + steps <= _MAX_STEPS
        told += steps if fits else 0
        yield fits


@dataclass(frozen=True)
class Overview:
    """Reproductions by targets."""

    targets: tuple[str, ...]
    lines: tuple[tuple[Section, Mapping[str, tuple[str, str]]], ...]
    """For each reproduction and target what became of it, and the word that says how it looks."""

    @property
    def choices(self) -> list[tuple[str, str, int]]:
        """Which lines can be chosen, in words, and how many they are."""
        sections = [section for section, _ in self.lines]
        return [
            ("all", "all", len(sections)),
            ("violated", "violated somewhere", sum(each.look == "violated" for each in sections)),
            ("differing", "not the same on each", sum(each.differs for each in sections)),
        ]


def name_apart(pages: Sequence[Page]) -> None:
    """Give recordings on one build names of their own: their Python, or else their number."""
    held: dict[str, list[Page]] = {}
    for page in pages:
        held.setdefault(page.build, []).append(page)
    for build, same in held.items():
        pythons = [f"CPython {page.manifest.environment.python.version}" for page in same]
        names = pythons if len({*pythons}) == len(same) else [str(at) for at in range(1, len(same) + 1)]
        for page, name in zip(same, names, strict=True):
            page.build = f"{build} ({name})" if len(same) > 1 else build


def overview(sections: Sequence[Section]) -> Overview:
    """The table for a page of several reproductions."""
    lines = tuple((section, dict(_cells(section))) for section in sections)
    return Overview(tuple(in_order(target for _, cells in lines for target in cells)), lines)


_LOOKS = {
    "fixed": "holds",
    "still_holds": "holds",
    "regressed": "violated",
    "still_violated": "violated",
    "inconclusive": "inconclusive",
    "unobservable": "inconclusive",
    "not_recorded": "inconclusive",
}


def _cells(section: Section) -> Iterator[tuple[str, tuple[str, str]]]:
    row = section.group.row
    if row is None:
        for page in section.pages:
            status = page.verdict.status
            yield name_of_build(page.manifest.target), (status, status)
        return
    for cell in reversed(
        row.cells
    ):  # the first of two that have one name is what the others are compared with
        words = words_of(cell, row)
        look = cell.recorded.verdict if cell.recorded is not None and cell.outcome == "baseline" else ""
        yield cell.target, (words, look or _LOOKS[cell.outcome])
