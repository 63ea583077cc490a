"""What this machine, or this run of it, gave names to: paths, ports, generated ids, and what stands for them.

Two recordings of one behaviour differ in these. `record.numbering` writes numbers in their place,
`record.ordering` compares texts without them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from ..errors import RecorderError

RawEvent = Mapping[str, Any]  # Any: JSON as the recorder wrote it
RAW_ONLY = frozenset({"n", "lane", "after", "unanswered"})
"""Fields of a raw event that are no part of the trace's."""
GENERATED = re.compile(
    r"(?<![0-9A-Za-z])(?:"
    r"(?P<trace>trace_[0-9a-f]{32})|(?P<span>span_[0-9a-f]{24})|(?P<group>group_[0-9a-f]{16,32})"
    r"|(?P<uuid>[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"
    r"|(?P<hex>[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15})"
    r")(?![0-9A-Za-z])"
    r"|(?P<at> at 0x[0-9a-f]{6,16})(?![0-9a-f])"
)
TEMPORARY = "<tmp>"
TEMPORARY_NAME = re.compile(
    rf"(?<={TEMPORARY}/)(?P<head>[A-Za-z0-9_.-]*?)(?P<random>[a-z0-9_]{{8}})(?![a-z0-9_])"
)
"""A name as `tempfile` makes it: eight random characters behind a prefix, before a suffix."""
BOUND = "loopback.bound"
_LOOPBACK = r"\b127\.\d+\.\d+\.\d+|\b0\.0\.0\.0|\blocalhost|\[::1?\]"


class StreamBytes(Protocol):
    """The bytes of one stream, as far as they were kept."""

    @property
    def data(self) -> bytes: ...
    @property
    def size(self) -> int: ...
    @property
    def truncated(self) -> bool: ...


class Names:
    """What this machine, or this run of it, gave names to: paths and ports."""

    def __init__(self, paths: Mapping[str, str], ports: frozenset[int], by_nature: Mapping[str, str]) -> None:
        self._ports = ports
        # No part of another number, and no port of another host's.
        spelled = "|".join(map(str, sorted(ports)))
        self._port = (
            re.compile(
                rf"(?:(?<![\w.])(?<![\w\].]:)|(?P<host>(?:{_LOOPBACK}):))(?P<port>{spelled})(?!\w|\.\d)"
            )
            if ports
            else None
        )
        self._by_nature = by_nature
        self._nature = _any_of(by_nature)
        # The longest first; a path ends where a name cannot go on.
        self._paths = [
            (path, re.compile(re.escape(path) + r"(?![A-Za-z0-9_-]|\.[A-Za-z0-9])"), token)
            for path, token in sorted(paths.items(), key=lambda item: -len(item[0]))
        ]

    def without_paths(self, text: str) -> str:
        """Tokens in the place of this machine's paths."""
        for path, whole, token in self._paths:
            if path in text:
                text = whole.sub(token, text)
        return text

    def withports_of(self, text: str, number: Callable[[str], str]) -> str:
        """What `number` gives in the place of each port of the script's own."""
        if self._port is None:
            return text
        return self._port.sub(lambda match: (match["host"] or "") + number(match["port"]), text)

    def with_natures(self, text: str, number: Callable[[str, str], str]) -> str:
        """What `number` gives, for a text and its family, where that is another in each recording."""
        if self._nature is None:
            return text
        return self._nature.sub(lambda match: number(match.group(0), self._by_nature[match.group(0)]), text)

    def family_of_text(self, text: str) -> str | None:
        """What a text is as a whole."""
        return self._by_nature.get(text)

    def family_of(self, number: int) -> str | None:
        """What a number is: a port, or something that is another in each recording."""
        return "port" if number in self._ports else self._by_nature.get(str(number))

    def neutral(self, text: str) -> str:
        """The same text in every recording of one behaviour."""
        text = TEMPORARY_NAME.sub(lambda match: match["head"], self.without_paths(text))
        text = self.with_natures(text, lambda _, family: family)
        text = self.withports_of(text, lambda _: "port")
        return GENERATED.sub(lambda match: str(match.lastgroup), text)


def _any_of(texts: Iterable[str]) -> re.Pattern[str] | None:
    """Finds any of these where it stands by itself, the longest first."""
    found = sorted(map(re.escape, texts), key=len, reverse=True)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(found)})(?![A-Za-z0-9])") if found else None


def ports_of(events: Iterable[RawEvent]) -> frozenset[int]:
    """The loopback ports that the system chose for the script."""
    found: set[int] = set()
    for event in events:
        if event.get("kind") == BOUND:
            ports = event.get("ports")
            if not isinstance(ports, list) or not all(type(port) is int for port in ports):
                raise RecorderError(f"the recorder wrote an event whose `ports` are none: {str(event)[:200]}")
            found.update(ports)
    return frozenset(found)


def generated_ids(
    events: Iterable[RawEvent], *streams: StreamBytes, paths: Mapping[str, str] | None = None
) -> frozenset[str]:
    """Every text of the shape of a generated id in what one recording wrote."""
    found: set[str] = set()
    temporary = sorted((path for path, token in (paths or {}).items() if token == TEMPORARY), key=len)
    known: set[int] = set()
    texts = [text for event in events for text in texts_in(event, known)]
    texts += [stream.data.decode("utf-8", "replace") for stream in streams]
    for text in texts:
        found |= {match.group(0) for match in GENERATED.finditer(text)}
        for path in reversed(temporary):
            if path in text:
                named = text.replace(path, TEMPORARY)
                found |= {match.group(0) for match in TEMPORARY_NAME.finditer(named)}
    return frozenset(found)


def texts_in(part: object, known: set[int]) -> Iterator[str]:
    """Every text in JSON, keys included. In its encoding the letter of an escape would stand before an id.

    A state that several events hold is one object (`isolation.readback`), and is looked at once; `known`
    keeps which were.
    """
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for item in part:
            yield from texts_in(item, known)
    elif isinstance(part, Mapping):
        if part.keys() == {"$state"}:
            if id(part) in known:
                return
            known.add(id(part))
        for key, item in part.items():
            yield key
            yield from texts_in(item, known)
