"""What differs between the repeats in what a script prints, and nowhere else: a placeholder stands for it.

Rules:
1. Lines end at LF. Where the repeats have as many lines, line is compared with line. Where not, the lines at
   the beginning and at the end that are the same but for their varying words are, and what lies between
   becomes one line that is the placeholder.
2. A line that differs is cut into words and what stands between them; a word is a date with its time of day,
   or letters, digits and underscores, joined by `.`, `,`, `:`, `/` or `-` before a digit. Where all repeats
   have as many parts, and all that differ are words that hold a digit (or begin with `tmp`) in each repeat,
   the placeholder stands for each of these; else it is the whole line.

So a time, a duration, a process id or a random name has one spelling, and two recordings of one behaviour
are the same bytes.
"""

import re
from collections.abc import Sequence
from typing import Final

VARIES: Final = "<varies>"
"""The placeholder."""

_PART = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\w+(?:[.,:/-](?=\d)\w+)*"
    r"|\W",
    re.ASCII,
)


def settle(texts: Sequence[str]) -> str:
    """The one text that stands for those of all repeats."""
    first, *others = [text.split("\n") for text in texts]
    if all(len(lines) == len(first) for lines in others):
        return "\n".join(map(_line, zip(first, *others, strict=True)))
    shortest = min(map(len, (first, *others)))
    head = _shared([first, *others], shortest)
    tail = _shared([lines[::-1] for lines in (first, *others)], shortest - head)
    every = [first, *others]
    begin = [_line(lines) for lines in zip(*(lines[:head] for lines in every), strict=True)]
    end = [_line(lines) for lines in zip(*(lines[len(lines) - tail :] for lines in every), strict=True)]
    return "\n".join([*begin, VARIES, *end])


def _shared(every: Sequence[Sequence[str]], limit: int) -> int:
    """How many lines at the beginning are the same but for their varying words."""
    for number in range(limit):
        if len({mask(lines[number]) for lines in every}) > 1:
            return number
    return limit


def _line(lines: tuple[str, ...]) -> str:
    if len(set(lines)) == 1:
        return lines[0]
    split = [_PART.findall(line) for line in lines]
    if len({len(parts) for parts in split}) > 1:
        return VARIES
    settled: list[str] = []
    for parts in zip(*split, strict=True):
        same = len(set(parts)) == 1
        if not same and not all(map(_is_varying, parts)):
            return VARIES
        settled.append(parts[0] if same else VARIES)
    return "".join(settled)


def _is_varying(word: str) -> bool:
    return word.startswith("tmp") or any(letter in "0123456789" for letter in word)


def mask(text: str) -> str:
    """The text with the placeholder for each word that may vary."""
    return "".join(VARIES if _is_varying(part) else part for part in _PART.findall(text))


def may_hold(line: str, text: str) -> bool:
    """Whether a line with placeholders may have held a text in one of the repeats."""
    if VARIES not in line:
        return False
    # A text that ends in the middle of a number ends before its next part.
    ends = {text, text.rstrip(".,:/-")}
    return line.strip() == VARIES or any(mask(end) in mask(line) for end in ends)
