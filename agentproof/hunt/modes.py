"""What a user sees of a program, and where it differs from the same program run otherwise.

A log is what `scripts` writes: one entry for each time that a model was asked, a tool or a guardrail ran, a
run came back or raised, and at the end the session. What is called beside each other may come in another
order, so these are compared as multisets; what comes back is compared in order.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from .scripts import Mode

Entry = list[Any]  # Any: JSON
Effects = Mapping[str, Sequence[str]]

_OF_RUNS: Final = ("final", "last_agent", "items", "interruptions", "guardrails", "input_list", "usage")
_UNORDERED: Final = ("asked", "tool", "guard")
_SETTLED: Final = ("final",)
"""What is compared where the rest is a race: which of two failures comes first is one too."""
_ADDRESS: Final = re.compile(r"0x[0-9a-f]+")


def read_log(stdout: bytes) -> list[Entry] | None:
    """The log that a script printed last; None where it did not come to its end."""
    lines = stdout.splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def effects(log: Iterable[Entry], *, is_racing: bool = False, without: Iterable[str] = ()) -> Effects:
    """What a user sees, by category."""
    found: dict[str, list[str]] = {}
    for entry in log:
        kind, *rest = entry
        if kind in ("mark", "held", "state") or (kind == "asked" and rest[0] == "w"):
            continue
        if kind == "run":
            for name, value in zip(_OF_RUNS, rest, strict=False):
                found.setdefault(name, []).append(_text(value))
        else:
            found.setdefault(kind, []).append(_text(rest))
    for name in _UNORDERED:
        found.get(name, []).sort()
    kept = _SETTLED if is_racing else tuple(found)
    return {name: found[name] for name in found if name in kept and name not in without}


def repeats(log: Iterable[Entry]) -> bool:
    """Whether a call waits for a decision after it ran, which the rules are then asked about."""
    ran: set[str] = set()
    for kind, *rest in log:
        if kind == "tool":
            ran.add(str(rest[1]))
        elif kind == "run" and any(each[1] in ran for each in rest[3]):
            return True
    return False


def differing(one: Effects, other: Effects) -> tuple[str, ...]:
    """The categories that differ, sorted."""
    return tuple(sorted(name for name in {*one, *other} if one.get(name, ()) != other.get(name, ())))


def compared(
    mode: Mode, base: Sequence[Entry], changed: Sequence[Entry], *, is_racing: bool
) -> tuple[Effects, Effects]:
    """What is to be equal in a mode: of the program as it is, and run otherwise."""
    if mode in ("siblings", "last-siblings"):
        mark = next((place for place, entry in enumerate(changed) if entry[0] == "mark"), len(changed))
        pause = max((place for place, entry in enumerate(changed) if entry[0] == "held"), default=mark)
        # Both states hold the one context of the run, so that what one of them uses counts for both.
        return (
            effects(changed[pause + 1 : mark], is_racing=is_racing, without=["usage"]),
            effects(changed[mark + 1 :], is_racing=is_racing, without=["usage"]),
        )
    return effects(base, is_racing=is_racing), effects(changed, is_racing=is_racing)


def first_difference(one: Effects, other: Effects) -> tuple[str, str, str] | None:
    """A category that differs, with what the one and the other have there, from where they differ."""
    for name in differing(one, other):
        mine, theirs = one.get(name, ()), other.get(name, ())
        if name in _UNORDERED:
            left, right = Counter(mine) - Counter(theirs), Counter(theirs) - Counter(mine)
            return name, *_apart(list(left.elements()), list(right.elements()))
        for place in range(max(len(mine), len(theirs))):
            if mine[place : place + 1] != theirs[place : place + 1]:
                return name, *_apart(mine[place:], theirs[place:])
    return None


def _apart(one: Sequence[str], other: Sequence[str]) -> tuple[str, str]:
    first = one[0] if one else "nothing"
    second = other[0] if other else "nothing"
    pairs = enumerate(zip(first, second, strict=False))
    same = next((place for place, (mine, theirs) in pairs if mine != theirs), 0) if one and other else 0
    begin = max(same - 40, 0)
    return _short(first, begin), _short(second, begin)


def _short(text: str, begin: int) -> str:
    shown = text[begin : begin + _MOST]
    return ("…" if begin else "") + shown + ("…" if len(text) > begin + _MOST else "")


_MOST: Final = 160


def _text(value: object) -> str:
    return _ADDRESS.sub("0x", json.dumps(value, sort_keys=True))
