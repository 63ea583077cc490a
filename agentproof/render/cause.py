"""What `explain` found, in a terminal of 80 columns and as Markdown. With one release, no word says cause."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

import click

from ..models.explanation import Explanation, FunctionPlace, QuotedLine, SharedObject, Side, Statement
from ..models.text import visible
from .markup import code, fence, prose, sentence

WIDTH = 80

MEASURED_ONE = (
    "On 45 known bugs such a list had a function that the fix changed among the first 3 in 25, among all 10 "
    "in 33."
)
"""docs/explain.md has the cases; change both together."""
MEASURED_TWO = (
    "On 53 known bugs the first of such a list was one that the fix changed in 43, one of the first 5 in 51."
)
_NO_PLACE = "No place is named: no function of the SDK was seen that something speaks for."
_SIGN = {"removed": "-", "added": "+", "same": " "}
_MAX_SHOWN = 12
_MAX_LINKS = 3


def render_explanation(told: Explanation) -> Iterator[str]:
    """For a terminal."""
    version = told.version_of("bundle")
    for shared in told.shared:
        yield from _shared(told, shared)
        yield ""
    if told.kind == "two_releases":
        yield click.style(f"What differs in {told.version_of('other')} and ran", bold=True)
        yield f"{told.ran} of {told.changed} changed functions ran, of {told.executed} that ran at all."
        yield from _wrapped(MEASURED_TWO if told.functions else "No line that differs between the two ran.")
    else:
        yield click.style(f"Where to look in {version}", bold=True)
        listed = f"A list of places, by what speaks for each; {told.executed} functions ran. {MEASURED_ONE}"
        yield from _wrapped(listed if told.functions else _NO_PLACE)
    for number, each in enumerate(told.functions, start=1):
        yield ""
        yield from _function(told, number, each)
    if told.commits:
        yield ""
        yield click.style("Commits between the two that changed these functions", bold=True)
        for commit in told.commits:
            yield from _wrapped(f"{commit.id[:10]} {commit.subject}", indent="  ", hang="    ")
    for note in told.notes:
        yield ""
        yield from _wrapped(f"note: {note}")


def telling(shared: SharedObject) -> Statement | None:
    """Of the statements by which an object came to be held twice, the one to read first: where the object is
    given as an argument that the callee stores as it is, the caller's."""
    if not shared.held:
        return None
    stored, *callers = shared.held
    name = _STORED.search(stored.text)
    given = callers[0] if callers else stored
    return given if name is not None and f"{name[1]}=" in given.text else stored


_STORED = re.compile(r"[^=]= (\w+)$")


def head_line(told: Explanation) -> str | None:
    """As Markdown, for the head of an issue: the line by which an object came to be held twice."""
    for shared in told.shared[:1]:
        line = telling(shared)
        if line is not None:
            names = " and ".join(map(code, shared.paths[:2]))
            return f"{_linked(told, line)}: {code(line.text.strip())}; {names} are one {code(shared.type)}"
    return None


def _shared(told: Explanation, shared: SharedObject) -> Iterator[str]:
    line = telling(shared)
    where = f" at {short_file(line.file)}:{line.line}" if line is not None else ""
    yield click.style(f"One object, held twice{where}", bold=True) + f"  ({shared.claim})"
    first, *others = shared.paths
    yield from _wrapped(
        f"{first} and {' and '.join(others[:2])} are one {shared.type}", indent="  ", hang="    "
    )
    yield from _wrapped(f"(the finding is at {shared.pointer})", indent="  ", hang="    ")
    for number, each in enumerate(shared.held):
        yield from _statement(told, "held twice" if not number else "called from", each)
    for each in shared.written:
        yield from _statement(told, "written", each)
    if shared.outside:
        yield f"  {'written':<12}by the script, while no code of the SDK ran"
    elif not shared.written:
        yield f"  {'written':<12}by no line of the SDK that was seen"
    if shared.made is not None:
        yield from _statement(told, "made", shared.made)


def _statement(told: Explanation, label: str, each: Statement) -> Iterator[str]:
    yield "  " + _cut(f"{label:<12}{short_file(each.file)}:{each.line} in {each.function}", WIDTH - 2)
    yield f"  {'':<12}  {_cut(each.text.strip(), WIDTH - 16)}"
    url = told.link(each)
    if url is not None:
        yield f"  {'':<4}{url}"


def _function(told: Explanation, number: int, each: FunctionPlace) -> Iterator[str]:
    yield f"{number:>2}. {click.style(visible(each.function), bold=True)}"
    yield f"    {short_file(each.file)}:{each.first}-{each.last}"
    yield from _wrapped("; ".join(each.signals), indent="    ", hang="    ")
    shown = [line for line in each.lines if line.ran or line.change != "same"]
    for line in shown[:_MAX_SHOWN]:
        ran = "*" if line.ran else " "
        text = f"{ran}{_SIGN[line.change]}{line.line:>5} {line.text.rstrip()}"
        yield "    " + click.style(_cut(text, WIDTH - 4), fg={"-": "red", "+": "green"}.get(text[1]))
    if len(shown) > _MAX_SHOWN:
        yield f"      … {len(shown) - _MAX_SHOWN} more lines in the file of --output"
    for url in links(told, each):
        yield f"    {url}"
    yield f"    git blob {each.blob}"


def links(told: Explanation, each: FunctionPlace) -> list[str]:
    """To a function, one for each side: the first line that differs and ran; of one release the start."""
    if not each.lines:
        url = told.link_to("bundle", each.file, each.first)
        return [url] if url is not None else []
    sides: tuple[Side, ...] = ("bundle", "other")
    found = []
    for side in sides:
        line = _first(each, side)
        url = told.link(line) if line is not None else None
        if url is not None:
            found.append(url)
    return found[:_MAX_LINKS]


def _first(each: FunctionPlace, side: Side) -> QuotedLine | None:
    mine = [line for line in each.lines if line.side == side]
    changed = [line for line in mine if line.change != "same"] or mine
    return next((line for line in changed if line.ran), changed[0] if changed else None)


def render_cause(told: Explanation, *, lines: bool = True) -> Iterator[str]:
    """As a section of an issue in Markdown, with the lines that differ or without."""
    yield ""
    yield "### Where in the SDK"
    for number, shared in enumerate(told.shared):
        yield ""
        if number == 1:
            yield f"<details><summary>{len(told.shared) - 1} more held twice</summary>"
            yield ""
        names = " and ".join(map(code, shared.paths[:3]))
        made = f", made in {_linked(told, shared.made)}" if shared.made is not None else ""
        yield f"{names} are one {code(shared.type)}{made}."
        for step, line in enumerate(shared.held[:2]):
            how = "called from" if step else "held twice by"
            yield f"- {how} {_linked(told, line)}: {code(line.text.strip())}"
        for line in shared.written:
            yield f"- written by {_linked(told, line)}: {code(line.text.strip())}"
        if shared.outside:
            yield "- written by the script, while no code of the SDK ran"
    if len(told.shared) > 1:
        yield ""
        yield "</details>"
    yield ""
    yield prose(lead(told))
    yield ""
    for number, each in enumerate(told.functions, start=1):
        name = code(f"{place_of(each)} {each.function}")
        url = next(iter(links(told, each)), None)
        place = f"[{name}]({url})" if url is not None else name
        yield f"{number}. {place}, git blob {code(each.blob[:10])}: {sentence('; '.join(each.signals))}"
    first = next((each for each in told.functions if each.lines), None)
    if first is not None and lines:
        yield ""
        yield fence("\n".join(_diff(first)), "diff", limit=3000)
    for commit in told.commits:
        yield f"- commit {code(commit.id[:10])}: {sentence(commit.subject)}"
    for note in told.notes:
        yield f"- {sentence(note)}"


def place_of(each: FunctionPlace) -> str:
    """The first line of a function that differs and ran, else where it begins."""
    line = _first(each, "bundle")
    return f"{short_file(each.file)}:{line.line if line is not None else each.first}"


def _diff(each: FunctionPlace) -> Iterator[str]:
    before: QuotedLine | None = None
    for line in each.lines:
        if (
            before is None
            or line.change == "same"
            or (line.side == before.side and line.line != before.line + 1)
        ):
            yield f"@@ {short_file(each.file)}:{line.line} @@"
        yield f"{_SIGN[line.change]}{line.text}"
        before = line


def lead(told: Explanation) -> str:
    """What the list of functions is, and how far to trust it."""
    if told.kind == "one_release":
        listed = f"Where to look, which is no cause: {told.executed} functions ran. {MEASURED_ONE}"
        return listed if told.functions else _NO_PLACE
    older, other = told.version_of("bundle"), told.version_of("other")
    count = f"Of {told.changed} functions that differ between {older} and {other}, {told.ran} ran."
    return f"{count} {MEASURED_TWO}" if told.functions else count


@dataclass(frozen=True)
class Place:
    """Where an event came from: the script's line that led to it, and the innermost one of the SDK."""

    script: str | None
    sdk: str | None
    url: str | None
    """Of the line of the SDK."""

    @property
    def text(self) -> str:
        """`repro.py:41 → run_internal/turn_resolution.py:612`."""
        return " \N{RIGHTWARDS ARROW} ".join(filter(None, (self.script, self.sdk)))


def places(told: Explanation) -> dict[tuple[str, int], Place]:
    """Of each event, by mode and number, where it came from, as far as that is known."""
    return {
        (event.mode, event.seq): Place(
            script=event.script,
            sdk=f"{short_file(event.sdk.file)}:{event.sdk.line}" if event.sdk is not None else None,
            url=told.link(event.sdk) if event.sdk is not None else None,
        )
        for event in told.events
        if event.script is not None or event.sdk is not None
    }


def _linked(told: Explanation, each: Statement) -> str:
    name = code(f"{short_file(each.file)}:{each.line}")
    url = told.link(each)
    return f"{f'[{name}]({url})' if url is not None else name} ({code(each.function)})"


def short_file(file: str) -> str:
    """A file's path without the package that all of them begin with."""
    return file.partition("/")[2] or file


def _wrapped(text: str, *, indent: str = "", hang: str = "") -> list[str]:
    return textwrap.wrap(
        visible(text), WIDTH, initial_indent=indent, subsequent_indent=hang, break_long_words=False
    )


def _cut(text: str, width: int) -> str:
    shown = visible(text)
    return shown if len(shown) <= width else shown[: width - 1] + "…"
