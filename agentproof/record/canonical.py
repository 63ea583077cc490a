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

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..errors import FormatError, RecorderError
from ..models.events import ScriptWrote
from ..models.printed import settle
from ..models.trace import Mode, Trace
from ..models.wire import Sha256
from .numbering import Numbering
from .ordering import Graph, set_predecessors, without_events
from .secrets import Redactor
from .tokens import Names, RawEvent, StreamBytes, ports_of, texts_in


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
        named = set(texts_in(document["events"], set()))
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
    events = without_events(list(events), settled.left_out)
    names = Names(paths, ports_of(events), settled.by_nature)
    graph = Graph(events, ending, names, settled.loose)
    order = graph.linear_extension()
    writer = Numbering(names, shared_ids, redact)
    shapes = [writer.event(graph.events[node]) for node in order]
    place = {node: index for index, node in enumerate(order, start=1)}
    for shape, node in zip(shapes, order, strict=True):
        shape["seq"] = place[node]
    set_predecessors(shapes, [[place[before] for before in graph.before[node]] for node in order])
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
