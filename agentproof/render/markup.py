"""Text from a bundle inside GitHub's Markdown, where it stays text.

1. It stands in a code span or a code fence that is longer than any run of backticks in it: no emphasis,
   link, image, mention, HTML or task list comes of it.
2. Outside of code stands only text of our own, and text from a bundle that is plain words.
3. Nothing that is not printable is written as it is (`text.visible`).
"""

import re

from ..models.text import clip, visible

_PLAIN = re.compile(
    r"(?:[A-Za-z0-9 ,;'\"/()]|\.(?![A-Za-z])|:(?= )|(?<=[A-Za-z0-9]):(?=[A-Za-z])"
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
    if _PLAIN.fullmatch(text) and not _LINKED.search(text) and "__" not in text and len(text) <= limit:
        return text
    return code(text, limit=limit)


def length(text: str) -> int:
    """What GitHub counts, at most: UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _longest(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
