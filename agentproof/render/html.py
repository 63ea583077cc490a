"""Recordings of one reproduction, or of several, as one HTML file that asks for nothing.

1. The page holds no script; its Content-Security-Policy allows one style sheet, by its hash, and
   nothing else. Links lead inside the page, to the report that the reproduction refers to, and to lines of
   the SDK at its tag.
2. Every value passes `_finalize`: what is not printable is escaped before the template engine escapes
   what is markup. No value is ever marked as safe.
3. Long texts are cut, and the raw JSON has a budget: a page stays below some megabytes whatever the
   bundle holds, and says what it leaves out.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from .. import __version__
from ..claims.judge import BEYOND
from ..models.explanation import Explanation
from ..models.text import clip, one_line, pretty, visible
from .cause import lead, links, place_of, short_file, telling
from .groups import Group
from .overview import Section, name_apart, overview, told_whole
from .page import MAX_TEXT, Budget, Page, change_sides, code_pieces, filter_rules
from .story import mode_words

_RAW_BUDGET = 4_000_000
"""Characters of raw JSON and of states beside each other in one page."""
_PATH = re.compile(r"(?<![^\s('\"])/(?:[^\s/]+/)+")


def render_page(groups: Sequence[Group], *, causes: Mapping[str, Explanation] = MappingProxyType({})) -> str:
    """The page: one reproduction's recordings, or those of several; `causes` are what `explain` found, by
    the bundle id."""
    budget = Budget(_RAW_BUDGET)
    sections = list(_sections(groups, budget, causes))
    environment = _environment()
    style = _style(environment) + filter_rules(
        len(each.values) for page in _alone(sections) for each in page.filters
    )
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template("page.html").render(
        sections=sections,
        overview=overview(sections) if len(sections) > 1 else None,
        style=Markup(style),  # noqa: S704 (our own file, read above)
        style_hash=Markup(f"sha256-{digest}"),  # noqa: S704 (base64)
        version=__version__,
        mode_words=mode_words,
        beyond=BEYOND,
        change_sides=change_sides,
        cause_lead=lead,
        telling=telling,
        cause_links=links,
        place_of=place_of,
        short_file=short_file,
        code_pieces=code_pieces,
        remark_texts=lambda step: list(dict.fromkeys(remark.text for remark in step.remarks)),
        side_by_side=lambda page, look: budget.sides(*page.both(look)),
        event_json=lambda step: budget.spend(pretty(step.event.to_shape())),
    )


def _alone(sections: Iterable[Section]) -> Iterator[Page]:
    return (page for section in sections if section.alone for page in section.pages)


def _sections(
    groups: Sequence[Group], budget: Budget, causes: Mapping[str, Explanation]
) -> Iterator[Section]:
    for number, (group, whole) in enumerate(zip(groups, told_whole(groups), strict=True), start=1):
        anchor = f"r{number}-" if len(groups) > 1 else ""
        alone = len(group.recordings) == 1
        pages = tuple(
            Page(
                each.story,
                prefix=anchor if alone else f"{anchor}{_letters(index)}-",
                file=each.file,
                budget=budget,
                cause=causes.get(each.story.report.bundle_id or ""),
            )
            for index, each in enumerate(group.recordings)
        )
        name_apart(pages)
        yield Section(anchor, group, pages, whole)


def _letters(index: int) -> str:
    """a, b, … z, aa, ab, …"""
    before, last = divmod(index, 26)
    return (_letters(before - 1) if before else "") + chr(97 + last)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("agentproof.render", "templates"),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["line"] = one_line
    environment.filters["without_paths"] = _without_paths
    return environment


def _finalize(value: object) -> object:
    """What the template writes for a value: markup of our own as it is, all else as visible text."""
    if isinstance(value, Markup):
        return value
    return clip(visible(str(value), lines=True), MAX_TEXT)


def _without_paths(text: str) -> str:
    """The text with absolute paths cut to their last part: a page is passed on, the checker's disk is not."""
    return _PATH.sub("", text)


def _style(environment: Environment) -> str:
    loader = environment.loader
    if loader is None:
        raise RuntimeError("the environment has no loader")
    source, _, _ = loader.get_source(environment, "page.css")
    return source
