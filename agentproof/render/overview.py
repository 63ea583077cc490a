"""What stands above the recordings of a page: their claims beside each other, and of several reproductions a
table of what became of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..models.manifest import name_of_build
from .beside import beside
from .comparison_table import ComparisonTable, compared
from .groups import Group
from .outcomes import targets_of, words_of
from .page import Page
from .story import mode_words

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
    def comparisons(self) -> list[ComparisonTable]:
        """The first recording beside each other one, in the mode that both have first."""
        return [_across(self.pages[0], other, self.whole) for other in self.pages[1:] if self._fits(other)]

    def _fits(self, other: Page) -> bool:
        first = self.pages[0]
        return bool(first.tellings and other.tellings) and first.tellings[0].mode == other.tellings[0].mode


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


def overview(sections: Sequence[Section]) -> Overview:
    """The table for a page of several reproductions."""
    rows = [section.group.row for section in sections if section.group.row is not None]
    targets = dict.fromkeys(targets_of(rows))
    lines = []
    for section in sections:
        cells = dict(_cells(section))
        targets |= dict.fromkeys(cells)
        lines.append((section, cells))
    return Overview(tuple(targets), tuple(lines))


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


def _across(first: Page, other: Page, linked: bool) -> ComparisonTable:
    one, two = first.tellings[0], other.tellings[0]
    names = [f"{name_of_build(page.manifest.target)}, {mode_words([one.mode])}" for page in (first, other)]
    anchors = [f"{page.prefix}{page.tellings[0].mode}" if linked else "" for page in (first, other)]
    return compared(beside(one, two), names=(names[0], names[1]), prefixes=(anchors[0], anchors[1]))
