"""From what the recorder wrote to a trace: one order, numbered names, states under their digests.

Rules:
1. Events keep the order that their `after` edges demand. Among lanes that ran in parallel, an
   ancestor of the lane just written goes on first, then its own children, then the others by agent,
   tool, call id and content, never by time: two recordings of one behaviour give one order. The end of
   the script comes last.
2. `after` keeps only what no chain of other edges already says, and is absent for the event before.
3. Labels are numbered by first appearance. Generated ids (trace, span and group ids, version 4 UUIDs,
   addresses, the random part of names in the temporary directory) keep their shape and get a number
   too, so that equality stays visible. One that both repeats share is the script's own and is left
   alone; addresses are always numbered.
4. Absolute paths of this machine become tokens such as `<work>`, and so do ports that the system chose
   for a loopback address that the script bound (`127.0.0.1:<port-1>`).
5. Where repeats differ in what the script printed, one text stands for all (`models.printed`).
6. A state's JSON is stored once, in the one encoding, under its SHA-256.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

from ..errors import FormatError, RecorderError
from ..models.diff import diff
from ..models.events import ScriptWrote
from ..models.printed import settle
from ..models.trace import Mode, Trace
from ..models.wire import Sha256, encode
from .secrets import Redactor

RawEvent = Mapping[str, Any]  # Any: JSON as the recorder wrote it

_GENERATED = re.compile(
    r"(?<![0-9A-Za-z])(?:"
    r"(?P<trace>trace_[0-9a-f]{32})|(?P<span>span_[0-9a-f]{24})|(?P<group>group_[0-9a-f]{16,32})"
    r"|(?P<uuid>[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"
    r"|(?P<hex>[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15})"
    r")(?![0-9A-Za-z])"
    r"|(?P<at> at 0x[0-9a-f]{6,16})(?![0-9a-f])"
)
_TEMPORARY = "<tmp>"
_TEMPORARY_NAME = re.compile(
    rf"(?<={_TEMPORARY}/)(?P<head>[A-Za-z0-9_.-]*?)(?P<random>[a-z0-9_]{{8}})(?![a-z0-9_])"
)
"""A name as `tempfile` makes it: eight random characters behind a prefix, before a suffix."""
_BOUND = "loopback.bound"
_ADDRESS = re.compile(r"(?P<host>\b127\.\d+\.\d+\.\d+|\blocalhost|\[::1\]):(?P<port>[0-9]{2,5})(?![0-9])")
_MAX_DIFFERENCES = 20


class StreamBytes(Protocol):
    """The bytes of one stream, as far as they were kept."""

    @property
    def data(self) -> bytes: ...
    @property
    def size(self) -> int: ...
    @property
    def truncated(self) -> bool: ...


@dataclass(frozen=True)
class Canonical:
    """A trace with the states that it refers to, and the order in which events really came."""

    trace: Trace
    states: Mapping[Sha256, bytes]
    raw_order: tuple[int, ...]


def canonicalise(
    mode: Mode,
    events: Iterable[RawEvent],
    *,
    ending: Mapping[str, Any] | None,  # Any: JSON
    streams: Mapping[Literal["stdout", "stderr"], StreamBytes],
    paths: Mapping[str, str],
    shared_ids: frozenset[str],
    redact: Redactor | None = None,
) -> Canonical:
    """The canonical trace of one run.

    `ending` is a `script.ended` body for a process that died before it could write its own;
    `shared_ids` are the ids that this recording shares with its repeat (see `generated_ids`);
    `redact` takes secrets out of a text.

    Raises:
        RecorderError: the events are not what the recorder writes (a cycle, a dangling edge, a
            field outside the vocabulary).
    """
    events = list(events)
    names = _Names(paths, _ports(events))
    graph = _Graph(events, ending, names)
    order = graph.linear_extension()
    writer = _Writer(names, shared_ids, redact)
    shapes = [writer.event(graph.events[node]) for node in order]
    place = {node: index for index, node in enumerate(order, start=1)}
    for shape, node in zip(shapes, order, strict=True):
        shape["seq"] = place[node]
    _set_predecessors(shapes, [[place[before] for before in graph.before[node]] for node in order])
    for stream in ("stdout", "stderr"):
        captured = streams[stream]
        if captured.size:
            shapes.append(writer.wrote(stream, captured, seq=len(shapes) + 1))
    document = {"format": "agentproof/trace", "version": 0, "mode": mode, "events": shapes}
    try:
        trace = Trace.from_shape(document)
    except FormatError as error:
        raise RecorderError(f"the recorder wrote an event outside its vocabulary: {error}") from error
    return Canonical(trace, writer.states, tuple(place[node] for node in graph.events))


@dataclass(frozen=True)
class Settled:
    """What differed between repeats in nothing but what the script printed."""

    pointers: tuple[str, ...] = ()
    """Into the trace, where the placeholder stands."""
    lines: tuple[tuple[str, str], ...] = ()
    """Each such line, as the first repeat and as another one printed it."""


def settle_printed(repeats: Sequence[Canonical]) -> tuple[list[Canonical], Settled]:
    """The repeats with one text for what each of them printed; see `models.printed`."""
    texts: dict[str, list[str]] = {}
    for each in repeats:
        for event in each.trace.events:
            if isinstance(event, ScriptWrote) and isinstance(event.text, str):
                texts.setdefault(event.stream, []).append(event.text)
    # A stream of which one repeat wrote nothing differs in more than a text.
    found = {
        stream: settle(printed)
        for stream, printed in texts.items()
        if len(printed) == len(repeats) and len(set(printed)) > 1
    }
    if not found:
        return list(repeats), Settled()
    lines = [
        pair
        for stream in found
        for other in texts[stream][1:]
        for pair in zip(texts[stream][0].split("\n"), other.split("\n"), strict=False)
        if pair[0] != pair[1]
    ]
    settled = [_settled(each, found) for each in repeats]
    pointers = tuple(
        f"/events/{place}/text"
        for place, event in enumerate(settled[0].trace.events)
        if isinstance(event, ScriptWrote) and event.stream in found
    )
    return settled, Settled(pointers, tuple(lines[:_MAX_DIFFERENCES]))


def _settled(each: Canonical, found: Mapping[str, str]) -> Canonical:
    shape = each.trace.to_shape()
    for event in shape["events"]:
        text = found.get(event["stream"]) if event["kind"] == "script.wrote" else None
        if text is not None:
            event["text"] = text
            event["size"] = event["size"] if event["truncated"] else len(text.encode())
    return replace(each, trace=Trace.from_shape(shape))


def generated_ids(
    events: Iterable[RawEvent], *streams: StreamBytes, paths: Mapping[str, str] | None = None
) -> frozenset[str]:
    """Every text of the shape of a generated id in what one recording wrote."""
    found: set[str] = set()
    temporary = sorted((path for path, token in (paths or {}).items() if token == _TEMPORARY), key=len)
    texts = [text for event in events for text in _texts(event)]
    texts += [stream.data.decode("utf-8", "replace") for stream in streams]
    for text in texts:
        found |= {match.group(0) for match in _GENERATED.finditer(text)}
        for path in reversed(temporary):
            if path in text:
                named = text.replace(path, _TEMPORARY)
                found |= {match.group(0) for match in _TEMPORARY_NAME.finditer(named)}
    return frozenset(found)


def _texts(part: object) -> Iterator[str]:
    """Every text in JSON, keys included. In its encoding the letter of an escape would stand before an id."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for item in part:
            yield from _texts(item)
    elif isinstance(part, Mapping):
        for key, item in part.items():
            yield key
            yield from _texts(item)


def agreement(
    first: Canonical, second: Canonical
) -> tuple[Literal["same", "order", "differ"], tuple[str, ...]]:
    """How two recordings of one script in one mode compare, with pointers where they differ."""
    mine, theirs = (json.loads(each.trace.to_bytes())["events"] for each in (first, second))
    if mine == theirs:
        return ("same" if first.raw_order == second.raw_order else "order"), ()
    for event in (*mine, *theirs):
        event.pop("after", None)
    if _in_any_order(mine, first.states) == _in_any_order(theirs, second.states):
        return "order", ()
    pointers = (change.pointer for change in diff(mine, theirs, "/events"))
    return "differ", tuple(pointer for pointer, _ in zip(pointers, range(_MAX_DIFFERENCES), strict=False))


_RACING = frozenset({"tool_input_guardrail_results", "tool_output_guardrail_results"})
"""Lists of a state that the SDK appends to as tools that ran side by side come to their ends."""


def _in_any_order(part: Any, states: Mapping[Sha256, bytes]) -> Any:  # Any: JSON
    """The same with each state in the place of its digest, and with the order of racing lists left open."""
    if isinstance(part, str) and part in states:
        return _in_any_order(json.loads(states[part]), {})
    if isinstance(part, list):
        return [_in_any_order(item, states) for item in part]
    if isinstance(part, dict):
        found = {key: _in_any_order(item, states) for key, item in part.items()}
        for key in _RACING & found.keys():
            if isinstance(found[key], list):
                found[key].sort(key=lambda item: json.dumps(item, sort_keys=True))
        return found
    return part


class _Graph:
    """Raw events with their edges, and one linear extension of them."""

    def __init__(self, events: Iterable[RawEvent], ending: Mapping[str, Any] | None, names: "_Names") -> None:
        self._names = names
        self.events: dict[str, RawEvent] = {}
        for event in events:
            self.events[_text(event, "n")] = event
        if ending is not None:
            mains = [name for name, event in self.events.items() if event["lane"] == self._main_lane]
            self.events["end"] = {"n": "end", "lane": self._main_lane, "after": mains[-1:], **ending}
        self.before = {name: tuple(event.get("after", ())) for name, event in self.events.items()}
        for name, earlier in self.before.items():
            for other in earlier:
                if other not in self.events:
                    raise RecorderError(f"event {name} comes after {other}, which was never written")

    @cached_property
    def _main_lane(self) -> str:
        return next((str(event["lane"]) for event in self.events.values()), "main")

    @cached_property
    def _lanes(self) -> dict[str, list[str]]:
        lanes: dict[str, list[str]] = {}
        for name, event in self.events.items():
            lanes.setdefault(_text(event, "lane"), []).append(name)
        return lanes

    @cached_property
    def _ancestors(self) -> dict[str, tuple[str, ...]]:
        """Each lane's chain of lanes from the root to itself."""
        chains: dict[str, tuple[str, ...]] = {}
        for lane, names in self._lanes.items():
            forks = [self.events[other]["lane"] for other in self.before[names[0]]]
            parent = next((fork for fork in forks if fork != lane and fork in chains), None)
            chains[lane] = (*(chains[parent] if parent else ()), lane)
        return chains

    @cached_property
    def _lane_keys(self) -> dict[str, tuple[str, str, str, str]]:
        return {lane: self._lane_key([self.events[n] for n in names]) for lane, names in self._lanes.items()}

    def _lane_key(self, events: list[RawEvent]) -> tuple[str, str, str, str]:
        named = next((event for event in events if "tool" in event), events[0])
        digest = hashlib.sha256()
        for event in events:
            body = {key: item for key, item in event.items() if key not in {"n", "lane", "after"}}
            text = json.dumps(_without_labels(body), sort_keys=True)
            digest.update(self._names.neutral(text).encode())
        agent, tool, call = (str(named.get(name, "")) for name in ("agent", "tool", "call_id"))
        return agent, tool, call, digest.hexdigest()

    def linear_extension(self) -> list[str]:
        """The order of rule 1."""
        waiting = {name: len(set(earlier)) for name, earlier in self.before.items()}
        followers: dict[str, list[str]] = {name: [] for name in self.events}
        for name, earlier in self.before.items():
            for other in set(earlier):
                followers[other].append(name)
        ready = {name for name, count in waiting.items() if not count}
        order: list[str] = []
        current: tuple[str, ...] = ()
        position = {name: index for index, name in enumerate(self.events)}
        last = {name for name, event in self.events.items() if event["kind"] == "script.ended"}
        while ready:
            # The script's end comes last, also where it waited for nobody.
            chosen = min(ready, key=lambda name: (name in last, self._rank(name, current), position[name]))
            ready.remove(chosen)
            order.append(chosen)
            current = self._ancestors[self.events[chosen]["lane"]]
            for name in followers[chosen]:
                waiting[name] -= 1
                if not waiting[name]:
                    ready.add(name)
        if len(order) != len(self.events):
            raise RecorderError("the recorder wrote events that each come after the other")
        return order

    def _rank(self, name: str, current: tuple[str, ...]) -> tuple[int, int, tuple[str, str, str, str]]:
        lane = self.events[name]["lane"]
        chain = self._ancestors[lane]
        if lane in current:
            return 0, len(chain), self._lane_keys[lane]
        shared = sum(1 for mine, theirs in zip(chain, current, strict=False) if mine == theirs)
        return 1, -shared, self._lane_keys[lane]


def _set_predecessors(shapes: list[dict[str, Any]], before: list[list[int]]) -> None:  # Any: JSON
    """Write `after` by rule 2. Sets of places are integers with one bit a place."""
    reach = [0]
    for seq, (shape, earlier) in enumerate(zip(shapes, before, strict=True), start=1):
        kept: list[int] = []
        covered = 0
        for other in sorted(set(earlier), reverse=True):
            if not covered >> other & 1:
                kept.append(other)
                covered |= reach[other]
        reach.append(covered | 1 << seq)
        if kept != ([seq - 1] if seq > 1 else []):
            shape["after"] = sorted(kept)


class _Names:
    """What this machine, or this run of it, gave names to: paths and ports."""

    def __init__(self, paths: Mapping[str, str], ports: frozenset[int]) -> None:
        self._ports = ports
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

    def with_ports(self, text: str, number: Callable[[re.Match[str]], str]) -> str:
        """What `number` gives in the place of each address of the script's own."""
        if not self._ports or ":" not in text:
            return text
        return _ADDRESS.sub(
            lambda match: number(match) if int(match["port"]) in self._ports else match.group(0), text
        )

    def neutral(self, text: str) -> str:
        """The same text in every recording of one behaviour."""
        text = _TEMPORARY_NAME.sub(lambda match: match["head"], self.without_paths(text))
        text = self.with_ports(text, lambda match: match["host"])
        return _GENERATED.sub(lambda match: str(match.lastgroup), text)


def _ports(events: Iterable[RawEvent]) -> frozenset[int]:
    """The loopback ports that the system chose for the script."""
    return frozenset(port for event in events if event.get("kind") == _BOUND for port in event["ports"])


class _Writer:
    """Turns raw events into the wire's shape, numbering what has to be numbered on the way."""

    def __init__(self, names: _Names, shared_ids: frozenset[str], redact: Redactor | None) -> None:
        self._names = names
        self._redact = redact
        self.states: dict[Sha256, bytes] = {}
        self._labels: dict[str, str] = {}
        self._letters: dict[str, int] = {}
        self._ids: dict[str, str] = {}
        self._families: dict[str, int] = {}
        self._shared = shared_ids

    def event(self, raw: RawEvent) -> dict[str, Any]:  # Any: JSON
        if raw["kind"] == _BOUND:
            raw = {**raw, "ports": len(raw["ports"])}
        return {key: self._rewrite(raw[key]) for key in _reading_order(raw)}

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
        return self._rewrite_object(part) if isinstance(part, dict) else part

    def _rewrite_object(self, part: Mapping[str, Any]) -> Any:  # Any: JSON
        if part.keys() == {"$label"}:
            return self._label(str(part["$label"]))
        if part.keys() == {"$state"}:
            return self._state(part["$state"])
        if self._redact is not None and part.keys() in ({"$bytes"}, {"$str"}):
            return self._redact.in_value(part)
        return {self._text(key): self._rewrite(item) for key, item in part.items()}

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
            return {self._text(key): self._plain_text(item) for key, item in part.items()}
        return part

    def _text(self, text: str) -> str:
        if self._redact is not None:
            text = self._redact(text)
        text = self._names.without_paths(text)
        if _TEMPORARY in text:
            text = _TEMPORARY_NAME.sub(self._number_name, text)
        text = self._names.with_ports(text, self._number_port)
        return _GENERATED.sub(self._number, text)

    def _number_port(self, match: re.Match[str]) -> str:
        key = f"port {match['port']}"
        if key not in self._ids:
            number = self._families["port"] = self._families.get("port", 0) + 1
            self._ids[key] = f"<port-{number}>"
        return f"{match['host']}:{self._ids[key]}"

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


_FIRST = ("run", "parent", "state", "call", "session", "result", "before", "source", "snapshot")


def _reading_order(raw: RawEvent) -> Iterator[str]:
    """The fields in the order in which numbers are given out: names first, then the rest sorted."""
    kept = [key for key in raw if key not in {"n", "lane", "after"}]
    yield from (key for key in _FIRST if key in raw)
    yield from sorted(key for key in kept if key not in _FIRST)


def _without_labels(part: object) -> object:
    if isinstance(part, list):
        return [_without_labels(item) for item in part]
    if isinstance(part, dict):
        if part.keys() == {"$label"}:
            return str(part["$label"])[:1]
        return {key: _without_labels(item) for key, item in part.items()}
    return part


def _text(event: RawEvent, name: str) -> str:
    found = event.get(name)
    if not isinstance(found, str):
        raise RecorderError(f"the recorder wrote an event without {name}: {str(event)[:200]}")
    return found
