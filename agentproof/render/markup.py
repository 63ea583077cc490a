"""Text from a bundle inside GitHub's Markdown, where it stays text.

1. It stands in a code span or a code fence that is longer than any run of backticks in it: no emphasis,
   link, image, mention, HTML or task list comes of it.
2. Outside of code stands only text of our own, and text from a bundle that is plain words.
3. Nothing that is not printable is written as it is (`text.visible`).
"""

import re
from collections.abc import Iterable

from ..models.text import clip, visible

_PLAIN = re.compile(
    r"(?:[A-Za-z0-9 ,;?!%'\"“”…→/()]|\.(?![A-Za-z])|:(?= )|(?<=[A-Za-z0-9]):(?=[A-Za-z])"
    r"|(?<=[A-Za-z0-9])[-_](?=[A-Za-z0-9]))*"
)
_LINKED = re.compile(r"www|http|\bGH-|:[\w+-]+:", re.IGNORECASE)
_BACKTICKS = re.compile(r"`+")


def code(text: str, *, limit: int = 200) -> str:
    """A code span. One that would be empty, or begins or ends with a space, is padded as CommonMark wants."""
    inside = clip(visible(text), limit)
    ticks = "`" * (_longest(inside) + 1)
    pad = " " if not inside.strip() or inside[0] in "` " or inside[-1] in "` " else ""
    return f"{ticks}{pad}{inside or ' '}{pad}{ticks}"


def fence(text: str, language: str = "", *, limit: int = 8000) -> str:
    """A fenced block."""
    inside = clip(visible(text, lines=True).rstrip("\n"), limit)
    ticks = "`" * max(3, _longest(inside) + 1)
    return f"{ticks}{language}\n{inside}\n{ticks}"


def prose(text: str, *, limit: int = 300) -> str:
    """A sentence as it is where it is plain words, else as a code span."""
    if _is_plain(text) and len(text) <= limit:
        return text
    return code(text, limit=limit)


_MAX_SPANS = 6
_WORD = re.compile(
    r"""[("]*"[^"]*(?:"\S*|$)|“[^”]*(?:”\S*|$)|(?:(?<= )|^)'[^']*(?:'\S*|$)|[^ \[{]*[\[{].*[\]}…]\S*|[^ ]+""",
    re.DOTALL,
)
_SPAN = re.compile(r"`(?P<inside>[^`]+)`(?P<after>[.,;:?!]?)")
"""What its author wrote as code."""


def sentence(text: str, *, limit: int = 300) -> str:
    """A sentence whose words stay as they are where they are plain, each run of others in a code span; one
    that is mostly not plain is one code span. What is quoted or in brackets is one word."""
    if len(text) > limit:
        return prose(text, limit=limit)
    groups: list[tuple[bool, list[str]]] = []
    for word in _WORD.findall(text):
        if (own := _SPAN.fullmatch(word)) is not None and own["inside"].strip():
            word = f"{code(own['inside'], limit=limit)}{own['after']}"  # noqa: PLW2901 (a span of its own)
            groups.append((True, [word]))
            continue
        plain = _is_plain(f"{word} ")
        if not groups or groups[-1][0] != plain:
            groups.append((plain, []))
        groups[-1][1].append(word)
    spans = sum(not plain for plain, _ in groups)
    if spans > _MAX_SPANS:
        return prose(text, limit=limit)
    return " ".join(" ".join(part) if plain else _spanned(" ".join(part), limit) for plain, part in groups)


def _spanned(text: str, limit: int) -> str:
    """A code span; the sentence's own comma, colon or semicolon stands behind it."""
    end = text[-1] if text[-1] in ",:;" and text[:-1].strip(",:; ") else ""
    return f"{code(text.removesuffix(end), limit=limit)}{end}"


def listing(texts: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *some, last = texts
    return f"{', '.join(some)} and {last}" if some else last


def _is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and not _LINKED.search(text) and "__" not in text


def length(text: str) -> int:
    """What GitHub counts, at most: UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _longest(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
