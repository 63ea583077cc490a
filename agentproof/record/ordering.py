"""One order for events that ran side by side, whenever they came; see rules 1 and 2 of `record.canonical`."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from ..errors import CannotDoError, RecorderError
from ..limits import MAX_EVENT_EDGES, MAX_LANE_DEPTH
from ..models.wire import Sha256
from .ready import Ready
from .tokens import RAW_ONLY, Names, RawEvent


class Graph:
    """Raw events with their edges, and one linear extension of them."""

    def __init__(
        self,
        events: Iterable[RawEvent],
        ending: Mapping[str, Any] | None,
        names: "Names",
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
            told = [key for key in sorted(event) if key not in RAW_ONLY and (kind, key) not in self._loose]
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


def without_events(events: list[RawEvent], left_out: frozenset[str]) -> list[RawEvent]:
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


def set_predecessors(shapes: list[dict[str, Any]], before: list[list[int]]) -> None:  # Any: JSON
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
