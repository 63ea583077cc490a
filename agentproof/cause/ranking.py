"""In which order functions are named. Pure.

1. Two releases: the function of whose lines that differ (or stand around an addition) one is run by the
   fewest healthy scenarios; then the one with any such line; then the most lines that none of them runs; then
   the one that was entered last before what went wrong.
2. One release: several orders are fused by reciprocal rank: rarest line, recency, the SDK's stack at the
   rule's events, the rule's words in the function's text, lines that no scenario runs. The stack does not
   count for rules where it misled (`_STACK_MISLEADS`).
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .located import Line, Located
from .source import Function, Source

_STACK_MISLEADS: Final = frozenset({"approval-respected", "call-output-linkage"})
_NEVER: Final = 10**9
_NEAR: Final = 80
"""As far down an order counts."""
_K: Final = 5


@dataclass(frozen=True)
class Ran:
    """A function that ran: how rare it is, and when it was entered last."""

    function: Function
    rarest: int
    """How many scenarios run the line of it that the fewest run."""
    unseen: int
    """Its lines that ran and that no scenario runs."""
    ago: int
    """How many functions were entered since, up to what went wrong."""
    stack: int | None = None
    """How far it is from the top of a stack at the rule's events."""
    words: float = 0.0
    """How well its text fits the rule's words."""


def functions_that_ran(
    source: Source,
    located: Iterable[Located],
    neighbours: Sequence[Collection[Line]],
    *,
    witnesses: Mapping[int, Iterable[int]],
    words: str,
) -> list[Ran]:
    """Every function with a line that ran.

    `witnesses` are the events of the rule's findings by the place of their mode in `located`.
    """
    located = list(located)
    counts = Counter(line for each in neighbours for line in each)
    own: dict[tuple[str, str], list[int]] = {}
    found: dict[tuple[str, str], Function] = {}
    for line in frozenset().union(*(each.lines for each in located)) if located else ():
        function = source.function_at(*line)
        if function is not None and line[1] > function.first:
            found[function.key] = function
            own.setdefault(function.key, []).append(counts[line])
    ago = _ago(source, located, witnesses)
    stack = _stacks(source, located, witnesses)
    texts = {key: _text(source, each) for key, each in found.items()} if words else {}
    fits = bm25(texts, words)
    return [
        Ran(
            function=function,
            rarest=min(own[key]),
            unseen=sum(not count for count in own[key]),
            ago=ago.get(key, _NEVER),
            stack=stack.get(key),
            words=fits.get(key, 0.0),
        )
        for key, function in sorted(found.items())
    ]


def by_rarity(ran: Iterable[Ran], differing: Mapping[tuple[str, str], int] | None = None) -> list[Ran]:
    """The order of rule 1; `differing`: how many scenarios run the rarest of its lines that differ."""
    known = differing or {}

    def key(each: Ran) -> tuple[int, int, int, int]:
        return known.get(each.function.key, _NEVER), each.rarest, -each.unseen, each.ago

    return sorted(ran, key=key)


def rarest_difference(
    differing: Mapping[tuple[str, str], Iterable[int]], neighbours: Sequence[Collection[Line]]
) -> dict[tuple[str, str], int]:
    """How many scenarios run the rarest of the lines, by the file and name of their function."""
    counts = Counter(line for each in neighbours for line in each)
    return {key: min(counts[key[0], line] for line in lines) for key, lines in differing.items() if lines}


def fused(ran: Sequence[Ran], rules: Collection[str]) -> list[Ran]:
    """The order of rule 2."""
    orders = [
        (by_rarity(ran), 1.0),
        (sorted((each for each in ran if each.ago < _NEVER), key=lambda each: each.ago), 1.0),
        (sorted((each for each in ran if each.words), key=lambda each: -each.words), 0.5),
        (sorted((each for each in ran if each.unseen), key=lambda each: -each.unseen), 0.7),
    ]
    if not rules or not set(rules) <= _STACK_MISLEADS:
        stack = [each for each in ran if each.stack is not None]
        orders.append((sorted(stack, key=lambda each: each.stack or 0), 1.0))
    scores = {each.function.key: 0.0 for each in ran}
    for order, weight in orders:
        for rank, each in enumerate(order[:_NEAR], start=1):
            scores[each.function.key] += weight / (_K + rank)
    return sorted(ran, key=lambda each: -scores[each.function.key])


def signals(each: Ran, *, neighbours: int, rules: Collection[str]) -> list[str]:
    """What speaks for a function, in words."""
    found: list[str] = []
    if neighbours and each.unseen:
        lines = "1 line that" if each.unseen == 1 else f"{each.unseen} lines that"
        found.append(f"{lines} none of {neighbours} healthy scenarios runs")
    elif neighbours and each.rarest < neighbours:
        found.append(f"a line that {each.rarest} of {neighbours} healthy scenarios run")
    if each.stack is not None and not (rules and set(rules) <= _STACK_MISLEADS):
        found.append("on the stack where the rule was violated")
    if each.ago < 25:
        found.append("entered shortly before that")
    if each.words > 4:
        found.append("its text has the rule's words")
    return found or ["ran"]


def _ago(
    source: Source, located: Sequence[Located], witnesses: Mapping[int, Iterable[int]]
) -> dict[tuple[str, str], int]:
    best: dict[tuple[str, str], int] = {}
    owners: dict[Line, Function | None] = {}
    for place, each in enumerate(located):
        ends = sorted({each.events[seq].entered for seq in witnesses.get(place, ()) if seq in each.events})
        for end in ends[:12] or [len(each.entered)]:
            seen: set[Line] = set()
            for back in range(1, end + 1):
                line = each.entered[end - back] if end - back < len(each.entered) else None
                if line is None or line in seen:
                    continue
                seen.add(line)
                if line not in owners:
                    owners[line] = source.function_at(*line)
                function = owners[line]
                if function is not None:
                    best[function.key] = min(best.get(function.key, _NEVER), back)
    return best


def _stacks(
    source: Source, located: Sequence[Located], witnesses: Mapping[int, Iterable[int]]
) -> dict[tuple[str, str], int]:
    best: dict[tuple[str, str], int] = {}
    for place, each in enumerate(located):
        for seq in witnesses.get(place, ()):
            event = each.events.get(seq)
            for depth, line in enumerate(event.sdk if event is not None else ()):
                function = source.function_at(*line)
                if function is not None:
                    best[function.key] = min(best.get(function.key, _NEVER), depth)
    return best


def _text(source: Source, function: Function) -> str:
    lines = source.files[function.file].lines[function.first - 1 : function.last]
    return "\n".join([function.file.replace("/", " "), function.name, function.name, *lines])


_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|[a-z]+")
_COMMON = frozenset(
    ("and", "for", "its", "none", "not", "only", "return", "run", "runs", "self", "that", "the", "then")
)


def _words(text: str) -> list[str]:
    return [
        word.lower().rstrip("s")
        for word in _WORD.findall(text)
        if len(word) > 2 and word.lower() not in _COMMON
    ]


def bm25(texts: Mapping[tuple[str, str], str], query: str) -> dict[tuple[str, str], float]:
    """How well each text fits the words of the query (Okapi BM25, k1 1.2, b 0.75); those that do at all."""
    counted = {key: Counter(_words(text)) for key, text in texts.items()}
    average = sum(sum(each.values()) for each in counted.values()) / max(len(counted), 1)
    spread = Counter(word for each in counted.values() for word in each)
    scores: dict[tuple[str, str], float] = {}
    for key, each in counted.items():
        size = sum(each.values())
        score = 0.0
        for word in sorted(set(_words(query))):
            if each[word]:
                rare = math.log(1 + (len(counted) - spread[word] + 0.5) / (spread[word] + 0.5))
                score += rare * each[word] * 2.2 / (each[word] + 1.2 * (0.25 + 0.75 * size / average))
        if score:
            scores[key] = score
    return scores
