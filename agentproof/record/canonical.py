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
   for a loopback address that the script bound (`127.0.0.1:<port-1>`), and values that differ by nature
   between repeats (`<time-1>`, see `repeats`).
5. Where repeats differ in what the script printed, one text stands for all (`models.printed`).
6. A state's JSON is stored once, in the canonical encoding, under its SHA-256.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol

from ..errors import CannotDoError, FormatError, RecorderError, UsageError
from ..limits import MAX_EVENT_EDGES, MAX_LANE_DEPTH
from ..models.events import ScriptWrote
from ..models.printed import settle
from ..models.trace import Mode, Trace
from ..models.wire import Sha256, encode
from .ready import Ready
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
_LOOPBACK = r"\b127\.\d+\.\d+\.\d+|\b0\.0\.0\.0|\blocalhost|\[::1?\]"


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
    unanswered: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """By place: the fields that the recorder had no answer for."""

    def without(self, dropping: Mapping[int, Set[str]]) -> "Canonical":
        """The same without these fields of the events at these places, nor states that only they named."""
        document = json.loads(self.trace.to_bytes())
        for event in document["events"]:
            for name in dropping.get(event["seq"], ()):
                event.pop(name, None)
        named = set(_texts(document["events"], set()))
        states = {digest: content for digest, content in self.states.items() if digest in named}
        return replace(self, trace=Trace.from_shape(document), states=states)


@dataclass(frozen=True)
class Settled:
    """What is known of a recording from the other ones of the same script (see `repeats.settle`)."""

    loose: frozenset[tuple[str, str]] = frozenset()
    """Kinds of events with fields that say nothing of which lane is which."""
    left_out: frozenset[str] = frozenset()
    """The names of raw events that are left out."""
    by_nature: Mapping[str, str] = field(default_factory=dict)
    """Texts that are another in each recording, with what they are."""


def canonicalise(
    mode: Mode,
    events: Iterable[RawEvent],
    *,
    ending: Mapping[str, Any] | None,  # Any: JSON
    streams: Mapping[Literal["stdout", "stderr"], StreamBytes],
    paths: Mapping[str, str],
    shared_ids: frozenset[str],
    redact: Redactor | None = None,
    settled: Settled = Settled(),
) -> Canonical:
    """The canonical trace of one run.

    `ending` is a `script.ended` body for a process that died before it could write its own;
    `shared_ids` are the ids that this recording shares with its repeat (see `generated_ids`);
    `redact` takes secrets out of a text; `settled` is known from other recordings of the script.

    Raises:
        RecorderError: the events are not what the recorder writes (a cycle, a dangling edge, a
            field outside the vocabulary).
    """
    events = _without(list(events), settled.left_out)
    names = _Names(paths, _ports(events), settled.by_nature)
    graph = _Graph(events, ending, names, settled.loose)
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
    unanswered = {
        place[name]: tuple(event["unanswered"])
        for name, event in graph.events.items()
        if event.get("unanswered")
    }
    return Canonical(trace, writer.states, tuple(place[node] for node in graph.events), unanswered)


def _without(events: list[RawEvent], left_out: frozenset[str]) -> list[RawEvent]:
    """The events without some; what came after one of these comes after what that one came after."""
    if not left_out:
        return events
    before: dict[str, list[str]] = {}
    kept: list[RawEvent] = []
    for event in events:
        after: list[str] = []
        for name in event.get("after", ()):
            after += [other for other in before.get(name, [name]) if other not in after]
        if event["n"] in left_out:
            before[event["n"]] = after
        else:
            kept.append({**event, "after": after})
    return kept


_MOST_LINES = 20
"""Pairs of lines that are told of what was printed otherwise."""


@dataclass(frozen=True)
class Printed:
    """What differed between repeats in nothing but what the script printed."""

    pointers: tuple[str, ...] = ()
    """Into the trace, where the placeholder stands."""
    lines: tuple[tuple[str, str], ...] = ()
    """Each such line, as the first repeat and as another one printed it."""


def settle_printed(repeats: Sequence[Canonical]) -> tuple[list[Canonical], Printed]:
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
        return list(repeats), Printed()
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
    return settled, Printed(pointers, tuple(lines[:_MOST_LINES]))


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
    known: set[int] = set()
    texts = [text for event in events for text in _texts(event, known)]
    texts += [stream.data.decode("utf-8", "replace") for stream in streams]
    for text in texts:
        found |= {match.group(0) for match in _GENERATED.finditer(text)}
        for path in reversed(temporary):
            if path in text:
                named = text.replace(path, _TEMPORARY)
                found |= {match.group(0) for match in _TEMPORARY_NAME.finditer(named)}
    return frozenset(found)


def _texts(part: object, known: set[int]) -> Iterator[str]:
    """Every text in JSON, keys included. In its encoding the letter of an escape would stand before an id.

    A state that several events hold is one object (`isolation.readback`), and is looked at once; `known`
    keeps which were.
    """
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for item in part:
            yield from _texts(item, known)
    elif isinstance(part, Mapping):
        if part.keys() == {"$state"}:
            if id(part) in known:
                return
            known.add(id(part))
        for key, item in part.items():
            yield key
            yield from _texts(item, known)


_RACING = frozenset({"tool_input_guardrail_results", "tool_output_guardrail_results"})
"""Lists of a state that the SDK appends to as tools that ran side by side come to their ends."""


def loosely(events: Any, states: Mapping[Sha256, bytes]) -> Any:  # Any: JSON
    known: dict[str, str] = {}
    return [in_any_order(event, states, known) for event in events]


def in_any_order(part: Any, states: Mapping[Sha256, bytes], known: dict[str, str]) -> Any:  # Any: JSON
    """The same with the order of racing lists left open, also in the states whose digests it holds.

    `known` keeps what stands for each state, so that one that is referred to often is looked at once.
    """
    if isinstance(part, str) and part in states:
        if part not in known:
            loose = in_any_order(json.loads(states[part]), {}, {})
            known[part] = hashlib.sha256(json.dumps(loose, sort_keys=True).encode()).hexdigest()
        return known[part]
    if isinstance(part, list):
        return [in_any_order(item, states, known) for item in part]
    if isinstance(part, dict):
        found = {key: in_any_order(item, states, known) for key, item in part.items()}
        for key in _RACING & found.keys():
            if isinstance(found[key], list):
                found[key].sort(key=lambda item: json.dumps(item, sort_keys=True))
        return found
    return part


class _Graph:
    """Raw events with their edges, and one linear extension of them."""

    def __init__(
        self,
        events: Iterable[RawEvent],
        ending: Mapping[str, Any] | None,
        names: "_Names",
        loose: frozenset[tuple[str, str]],
    ) -> None:
        self._names = names
        self._loose = loose
        self._states: dict[int, bytes] = {}
        """The neutral JSON of each state, which is one object however many events hold it."""
        self.events: dict[str, RawEvent] = {}
        for event in events:
            self.events[_text(event, "n")] = event
        if ending is not None:
            if "end" in self.events:
                raise RecorderError(
                    "the recorder wrote an event named end, which is the host's name for its own"
                )
            mains = [name for name, event in self.events.items() if event.get("lane") == self._main_lane]
            self.events["end"] = {"n": "end", "lane": self._main_lane, "after": mains[-1:], **ending}
        self.before = {name: _after(event) for name, event in self.events.items()}
        if sum(map(len, self.before.values())) > MAX_EVENT_EDGES:
            raise CannotDoError(
                f"the events wait for one another more than {MAX_EVENT_EDGES} times",
                hint="let fewer tasks wait for as many others",
            )
        for name, earlier in self.before.items():
            for other in earlier:
                if other not in self.events:
                    raise RecorderError(f"event {name} comes after {other}, which was never written")

    @cached_property
    def _main_lane(self) -> str:
        return next((_text(event, "lane") for event in self.events.values()), "main")

    @cached_property
    def _lanes(self) -> dict[str, list[str]]:
        lanes: dict[str, list[str]] = {}
        for name, event in self.events.items():
            lanes.setdefault(_text(event, "lane"), []).append(name)
        return lanes

    @cached_property
    def _parents(self) -> dict[str, str | None]:
        """The lane that each lane was forked from, in the order in which lanes appear."""
        parents: dict[str, str | None] = {}
        depths: dict[str, int] = {}
        for lane, names in self._lanes.items():
            forks = [_text(self.events[other], "lane") for other in self.before[names[0]]]
            parent = next((fork for fork in forks if fork != lane and fork in parents), None)
            parents[lane] = parent
            depths[lane] = depths[parent] + 1 if parent is not None else 1
            if depths[lane] > MAX_LANE_DEPTH:
                raise CannotDoError(
                    f"tasks and threads that start one another more than {MAX_LANE_DEPTH} deep",
                    hint="let the script start them side by side",
                )
        return parents

    @cached_property
    def _lane_keys(self) -> dict[str, tuple[str, str, str, str]]:
        return {lane: self._lane_key([self.events[n] for n in names]) for lane, names in self._lanes.items()}

    def _lane_key(self, events: list[RawEvent]) -> tuple[str, str, str, str]:
        named = next((event for event in events if "tool" in event), events[0])
        digest = hashlib.sha256()
        for event in events:
            digest.update(b"{")
            kind = str(event.get("kind"))
            told = [key for key in sorted(event) if key not in _RAW_ONLY and (kind, key) not in self._loose]
            for number, key in enumerate(told):
                digest.update(f"{', ' if number else ''}{json.dumps(key)}: ".encode())
                digest.update(self._neutral(event[key]))
            digest.update(b"}")
        agent, tool, call = (str(named.get(name, "")) for name in ("agent", "tool", "call_id"))
        return agent, tool, call, digest.hexdigest()

    def _neutral(self, part: Any) -> bytes:  # Any: JSON
        """The JSON of a field of an event, the same in every recording of one behaviour."""
        is_state = isinstance(part, dict) and part.keys() == {"$state"}
        if is_state and id(part) in self._states:
            return self._states[id(part)]
        text = self._names.neutral(json.dumps(_without_labels(part), sort_keys=True)).encode()
        if is_state:
            self._states[id(part)] = text
        return text

    def linear_extension(self) -> list[str]:
        """The order of rule 1."""
        waiting = {name: len(set(earlier)) for name, earlier in self.before.items()}
        followers: dict[str, list[str]] = {name: [] for name in self.events}
        for name, earlier in self.before.items():
            for other in set(earlier):
                followers[other].append(name)
        position = {name: index for index, name in enumerate(self.events)}
        lane_of = {name: _text(event, "lane") for name, event in self.events.items()}
        last = {name for name, event in self.events.items() if event["kind"] == "script.ended"}
        # The script's end comes last, also where it waited for nobody.
        ready, ended = (Ready(self._parents, self._lane_keys) for _ in range(2))

        def add(name: str) -> None:
            (ended if name in last else ready).add(lane_of[name], position[name], name)

        for name, count in waiting.items():
            if not count:
                add(name)
        order: list[str] = []
        current: str | None = None
        while queue := ready if ready else ended:
            chosen = queue.pop(current)
            order.append(chosen)
            current = lane_of[chosen]
            for name in followers[chosen]:
                waiting[name] -= 1
                if not waiting[name]:
                    add(name)
        if len(order) != len(self.events):
            raise RecorderError("the recorder wrote events that each come after the other")
        return order


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

    def with_ports(self, text: str, number: Callable[[str], str]) -> str:
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
        text = _TEMPORARY_NAME.sub(lambda match: match["head"], self.without_paths(text))
        text = self.with_natures(text, lambda _, family: family)
        text = self.with_ports(text, lambda _: "port")
        return _GENERATED.sub(lambda match: str(match.lastgroup), text)


def _any_of(texts: Iterable[str]) -> re.Pattern[str] | None:
    """Finds any of these where it stands by itself, the longest first."""
    found = sorted(map(re.escape, texts), key=len, reverse=True)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(found)})(?![A-Za-z0-9])") if found else None


def _ports(events: Iterable[RawEvent]) -> frozenset[int]:
    """The loopback ports that the system chose for the script."""
    found: set[int] = set()
    for event in events:
        if event.get("kind") == _BOUND:
            ports = event.get("ports")
            if not isinstance(ports, list) or not all(type(port) is int for port in ports):
                raise RecorderError(f"the recorder wrote an event whose `ports` are none: {str(event)[:200]}")
            found.update(ports)
    return frozenset(found)


class _Writer:
    """Turns raw events into the wire's shape, numbering what has to be numbered on the way."""

    def __init__(self, names: _Names, shared_ids: frozenset[str], redact: Redactor | None) -> None:
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
        if raw["kind"] == _BOUND:
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
        if _TEMPORARY in text:
            text = _TEMPORARY_NAME.sub(self._number_name, text)
        text = self._names.with_ports(text, lambda port: self._number_nature(port, "port"))
        # A text drawn at random may have the shape of an id in one recording and not in the other.
        return self._names.with_natures(_GENERATED.sub(self._number, text), self._number_nature)

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


_RAW_ONLY = frozenset({"n", "lane", "after", "unanswered"})
"""Fields of a raw event that are no part of the trace's."""
_COUNTS = frozenset({"usage", "frames"})
"""Fields that hold numbers of the SDK's or of ours."""
_SPELLED = frozenset({"$float", "$bytes", "$int"})
"""Values that are written as a text of their own."""
_FIRST = ("run", "parent", "state", "call", "session", "result", "before", "source", "snapshot")


def _reading_order(raw: RawEvent) -> Iterator[str]:
    """The fields in the order in which numbers are given out: names first, then the rest sorted."""
    kept = [key for key in raw if key not in _RAW_ONLY]
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


def _after(event: RawEvent) -> tuple[str, ...]:
    found = event.get("after", [])
    if not isinstance(found, list) or not all(isinstance(other, str) for other in found):
        raise RecorderError(
            f"the recorder wrote an event whose `after` is no list of names: {str(event)[:200]}"
        )
    return tuple(found)


def _text(event: RawEvent, name: str) -> str:
    found = event.get(name)
    if not isinstance(found, str):
        raise RecorderError(f"the recorder wrote an event without {name}: {str(event)[:200]}")
    return found
