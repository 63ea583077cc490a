"""Text from a bundle for people's eyes: nothing in it moves the cursor, the reading order or the layout.

1. A character that is not printable (control, bidirectional, zero-width, surrogate) is written as its
   escape. Line feeds stay where a text may have lines.
2. What is too long is cut, and says by how much.
3. A value is written as JSON, so that text `1` and number 1 look different.
"""

import json
import re
from typing import Any

_SUSPECT = re.compile(r"[^\x20-\x7e]")


def visible(text: str, *, lines: bool = False) -> str:
    """`text` with all that is not printable escaped; with `lines`, line feeds stay and tabs are widened."""
    if lines:
        text = text.replace("\r\n", "\n").replace("\t", "    ")

    def shown(match: re.Match[str]) -> str:
        letter = match.group()
        if letter.isprintable() or (lines and letter == "\n"):
            return letter
        return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"

    return _SUSPECT.sub(shown, text)


def clip(text: str, limit: int) -> str:
    """The first `limit` characters, and how many are left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def one_line(text: object, limit: int = 120) -> str:
    """A text in one line of at most about `limit` characters."""
    shown = visible(str(text)[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def value_text(value: Any, limit: int = 120) -> str:  # Any: a value, or a part of a state's JSON
    """A value as JSON in one line."""
    return one_line(json.dumps(value, ensure_ascii=False, sort_keys=True), limit)


def pretty(value: Any) -> str:  # Any: a value, or a part of a state's JSON
    """A value as JSON over several lines, as the bundle's files write it."""
    return visible(json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2), lines=True)


def as_text(value: Any) -> str:  # Any: a value
    """What a value says as text: a text itself, one that is not Unicode by its code points, else JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and value.keys() == {"$str"}:
        return "".join(map(chr, value["$str"]))
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def times(count: Any) -> str:  # Any: a value
    """`once`, `0 times`, `2 times`."""
    return "once" if count == 1 else f"{count} times"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `13th`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
