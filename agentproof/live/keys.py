"""The spellings of a key in what a program writes, and its removal from what comes in."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final
from urllib.parse import quote, quote_plus

_NESTED: Final = 3
"""JSON within JSON within JSON: a tool's arguments in a body in an event."""
_SHORTEST: Final = 8
"""Of a spelling: a shorter one would be found by chance."""


@cache
def spellings(value: str) -> tuple[str, ...]:
    """A value as it is, as it stands in JSON, in JSON within JSON and so on, and in a URL."""
    quoted = [each(value, safe="", errors="surrogateescape") for each in (quote, quote_plus)]
    found = [value, *quoted]
    for ascii_only in (False, True):
        spelled = value
        for _ in range(_NESTED):
            spelled = json.dumps(spelled, ensure_ascii=ascii_only)[1:-1]
            found.append(spelled)
    return tuple(dict.fromkeys(found))


@cache
def key_spellings(key: str) -> tuple[bytes, ...]:
    """Every spelling of a key that is looked for: those of `spellings`, reversed, in hexadecimal, and what
    base64 makes of it wherever it stands in a longer text."""
    plain = key.encode("utf-8", "surrogateescape")
    found = [each.encode("utf-8", "surrogateescape") for each in spellings(key)]
    found += [plain[::-1], plain.hex().encode(), plain.hex().upper().encode()]
    for offset in range(3):
        found += _base64(plain, offset)
    return tuple(
        sorted({each for each in found if len(each) >= _SHORTEST}, key=lambda each: (-len(each), each))
    )


def _base64(plain: bytes, offset: int) -> Iterator[bytes]:
    """The letters that base64 makes of `plain` alone, where `offset` bytes stand before it in its group."""
    first = (offset * 8 + 5) // 6
    last = ((offset + len(plain)) * 8) // 6
    for encoder in (base64.b64encode, base64.urlsafe_b64encode):
        yield encoder(bytes(offset) + plain)[first:last]


def find_key(data: bytes, keys: Mapping[str, str]) -> str | None:
    """The variable whose key stands in `data` in some spelling; None where none does."""
    return next(
        (name for name, key in keys.items() if any(each in data for each in key_spellings(key))), None
    )


class KeyRemover:
    """Replaces each key, in all its spellings, by its placeholder, also where it comes in pieces."""

    def __init__(self, placeholders: Mapping[str, str]) -> None:
        """Of each key its placeholder."""
        self._found = {
            spelled: text.encode() for key, text in placeholders.items() for spelled in key_spellings(key)
        }
        longest_first = sorted(self._found, key=lambda each: (-len(each), each))
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first))) if longest_first else None
        self._longest = max(map(len, longest_first), default=0)
        self._first = {each[0] for each in longest_first}

    def whole(self, data: bytes) -> bytes:
        """`data` without keys."""
        return self._pattern.sub(lambda match: self._found[match.group()], data) if self._pattern else data

    def text(self, text: str) -> str:
        """`text` without keys."""
        return self.whole(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def pieces(self) -> "Pieces":
        """A remover for one stream."""
        return Pieces(self)

    def held(self, data: bytes) -> int:
        """How many bytes at the end of `data` may be the beginning of a key."""
        tail = data[-(self._longest - 1) :] if self._longest > 1 else b""
        for at, byte in enumerate(tail):
            if byte in self._first and any(each.startswith(tail[at:]) for each in self._found):
                return len(tail) - at
        return 0


class Pieces:
    """One stream on its way in: what may be the beginning of a key waits for what follows it."""

    def __init__(self, remover: KeyRemover) -> None:
        self._remover = remover
        self._waiting = b""

    def feed(self, data: bytes) -> bytes:
        """What of the stream can be let through now."""
        data = self._remover.whole(self._waiting + data)
        held = self._remover.held(data)
        self._waiting = data[len(data) - held :]
        return data[: len(data) - held]

    def end(self) -> bytes:
        """What was still waiting."""
        rest, self._waiting = self._waiting, b""
        return rest
