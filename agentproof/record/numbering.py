"""Raw events in the wire's shape: labels and ids numbered, paths as tokens, states under their digests."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import UsageError
from ..models.wire import Sha256, encode
from .secrets import Redactor
from .tokens import BOUND, GENERATED, RAW_ONLY, TEMPORARY, TEMPORARY_NAME, Names, RawEvent, StreamBytes

_COUNTS = frozenset({"usage", "frames"})
"""Fields that hold numbers of the SDK's or of ours."""
_SPELLED = frozenset({"$float", "$bytes", "$int"})
"""Values that are written as a text of their own."""
_FIRST = ("run", "parent", "state", "call", "session", "result", "before", "source", "snapshot")


class Numbering:
    """Turns raw events into the wire's shape, numbering what has to be numbered on the way."""

    def __init__(self, names: Names, shared_ids: frozenset[str], redact: Redactor | None) -> None:
        self._names = names
        self._redact = redact
        self.states: dict[Sha256, bytes] = {}
        self._digests: dict[int, Sha256] = {}
        self._labels: dict[str, str] = {}
        self._letters: dict[str, int] = {}
        self._ids: dict[str, str] = {}
        self._families: dict[str, int] = {}
        self._shared = shared_ids

    def event(self, raw: RawEvent) -> dict[str, Any]:  # Any: JSON
        if raw["kind"] == BOUND:
            raw = {**raw, "ports": len(raw["ports"])}
        # A number of the event's own is a count, not a value of the script's.
        return {
            key: raw[key] if type(raw[key]) is int or key in _COUNTS else self._rewrite(raw[key])
            for key in _reading_order(raw)
        }

    def wrote(self, stream: str, captured: StreamBytes, *, seq: int) -> dict[str, Any]:  # Any: JSON
        text = self._text(captured.data.decode("utf-8", "surrogateescape"))
        whole = len(text.encode("utf-8", "surrogateescape"))
        broken = any(0xD800 <= ord(letter) <= 0xDFFF for letter in text)
        return {
            "kind": "script.wrote",
            "seq": seq,
            "stream": stream,
            "text": {"$str": [ord(letter) for letter in text]} if broken else text,
            # The size of what was really written would tell how long this machine's paths are.
            "size": captured.size if captured.truncated else whole,
            "truncated": captured.truncated,
        }

    def _rewrite(self, part: Any) -> Any:  # Any: JSON
        if isinstance(part, str):
            return self._text(part)
        if isinstance(part, list):
            return [self._rewrite(item) for item in part]
        if type(part) is int and (family := self._names.family_of(part)) is not None:
            return self._number_nature(str(part), family)
        return self._rewrite_object(part) if isinstance(part, dict) else part

    def _rewrite_object(self, part: Mapping[str, Any]) -> Any:  # Any: JSON
        if part.keys() == {"$label"}:
            return self._label(str(part["$label"]))
        if part.keys() == {"$state"}:
            if id(part) not in self._digests:
                self._digests[id(part)] = self._state(part["$state"])
            return self._digests[id(part)]
        if len(part) == 1 and part.keys() <= _SPELLED:
            (spelled,) = part.values()
            if isinstance(spelled, str) and (family := self._names.family_of_text(spelled)) is not None:
                return self._number_nature(spelled, family)
        if self._redact is not None and part.keys() in ({"$bytes"}, {"$str"}):
            return self._redact.in_value(part)
        return self._object(part, self._rewrite)

    def _object(self, part: Mapping[str, Any], of: Callable[[Any], Any]) -> dict[str, Any]:  # Any: JSON
        """The object with its keys and values rewritten; no two keys may become one."""
        found: dict[str, Any] = {}
        for key, item in part.items():
            name = self._text(key)
            if name in found:
                raise UsageError(
                    f"the script has an object with two keys that a recording writes as {name[:80]!r}",
                    hint="paths, secrets and generated ids are written in another way: name one of the keys "
                    "otherwise",
                )
            found[name] = of(item)
        return found

    def _label(self, raw: str) -> str:
        if raw not in self._labels:
            letter = raw[:1]
            self._letters[letter] = self._letters.get(letter, 0) + 1
            self._labels[raw] = f"{letter}{self._letters[letter]}"
        return self._labels[raw]

    def _state(self, document: object) -> Sha256:
        raw = encode(self._plain_text(document))
        digest = hashlib.sha256(raw).hexdigest()
        self.states[digest] = raw
        return digest

    def _plain_text(self, part: object) -> object:
        """A state's JSON is the program's own: a key `$label` in it means nothing to us."""
        if isinstance(part, str):
            return self._text(part)
        if isinstance(part, list):
            return [self._plain_text(item) for item in part]
        if isinstance(part, dict):
            return self._object(part, self._plain_text)
        return part

    def _text(self, text: str) -> str:
        if self._redact is not None:
            text = self._redact(text)
        text = self._names.without_paths(text)
        if TEMPORARY in text:
            text = TEMPORARY_NAME.sub(self._number_name, text)
        text = self._names.withports_of(text, lambda port: self._number_nature(port, "port"))
        # A text drawn at random may have the shape of an id in one recording and not in the other.
        return self._names.with_natures(GENERATED.sub(self._number, text), self._number_nature)

    def _number_nature(self, found: str, family: str) -> str:
        key = f"{family} {found}"
        if key not in self._ids:
            number = self._families[family] = self._families.get(family, 0) + 1
            self._ids[key] = f"<{family}-{number}>"
        return self._ids[key]

    def _number_name(self, match: re.Match[str]) -> str:
        found = match.group(0)
        if found in self._shared:
            return found
        if found not in self._ids:
            self._ids[found] = self._next("name", lambda number: f"{match['head']}{number:08d}")
        return self._ids[found]

    def _number(self, match: re.Match[str]) -> str:
        family = str(match.lastgroup)
        found = match.group(0)
        if found in self._shared and family != "at":
            return found
        if found not in self._ids:
            self._ids[found] = self._next(family, lambda number: _shaped(family, found, number))
        return self._ids[found]

    def _next(self, family: str, shaped: Callable[[int], str]) -> str:
        """The next numbered form that is not one which the script itself uses."""
        while True:
            number = self._families[family] = self._families.get(family, 0) + 1
            if shaped(number) not in self._shared:
                return shaped(number)


def _shaped(family: str, found: str, number: int) -> str:
    match family:
        case "uuid":
            return f"00000000-0000-4000-8000-{number:012x}"
        case "hex":
            return f"{'0' * 12}40008000{number:012x}"
        case "at":
            return f" at 0x{number:012x}"  # addresses differ in length between runs
        case _:
            prefix = f"{family}_"
            return f"{prefix}{number:0{len(found) - len(prefix)}x}"


def _reading_order(raw: RawEvent) -> Iterator[str]:
    """The fields in the order in which numbers are given out: names first, then the rest sorted."""
    kept = [key for key in raw if key not in RAW_ONLY]
    yield from (key for key in _FIRST if key in raw)
    yield from sorted(key for key in kept if key not in _FIRST)
