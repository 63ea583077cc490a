"""Whether two recordings of one script are the same behaviour, and where they are not, what that touches.

Where they differ as they stand, they are settled first (`settle`):
1. A field that one of them could not look at is absent from both.
2. Values that differ by nature are numbered and written as what they are: a moment, an address, a
   ciphertext, something drawn at random. They are told by their shape, and by standing in the same place of
   both recordings with another value, each always beside the same other one.
3. Where the cut fell that ended a run from outside (it was cancelled, or met a time limit) is timing: of
   such a run there stays what happened in every recording, and nothing that came after what did not.

What differs all the same is told by the part of the recorder that saw it; claims that need one of these
parts are not judged (`claims.judge`), the others stand.
"""

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..models.diff import diff
from ..models.wire import Sha256
from .canonical import Canonical, Settled
from .ordering import in_any_order, loosely
from .tokens import RawEvent

MOST_DIFFERENCES = 20
_MOST_ALIGNED = 4000
"""Events of a recording that are aligned by what they are; longer ones are by their places."""

Canonicalise = Callable[[int, Settled], Canonical]
"""The canonical trace of the recording with this number."""

_PARTS = {
    "run": "runs",
    "result": "results",
    "model": "models",
    "tool": "hooks",
    "hook": "hooks",
    "handoff": "hooks",
    "approval": "hooks",
    "state": "states",
    "context": "states",
    "session": "sessions",
    "guardrail": "guardrails",
    "span": "spans",
    "trace": "spans",
    "stream": "streams",
    "body": "bodies",
    "mcp": "mcp",
    "surface": "surfaces",
    "probe": "probe",
    "test": "tests",
    "process": "processes",
    "network": "network",
    "loopback": "network",
}
"""By the first word of an event's kind: the part that saw it, as rules name it in `NEEDS`."""

SCRIPT = "script"
"""The part that no claim can do without: how the script began and ended."""

OUTPUT = "output"
"""What the script printed; no claim needs it."""

_LOOKED_AT = ("session_before", "session_after", "input_list", "snapshot")
_CUT = ("cancelled", "left", "unfinished")
_TELLING = ("kind", "tool", "function", "hook", "operation", "stream", "name", "agent")


def agreement(
    first: Canonical, second: Canonical
) -> tuple[Literal["same", "order", "differ"], tuple[str, ...]]:
    """How two recordings of one script in one mode compare, with pointers where they differ."""
    mine, theirs = _events(first), _events(second)
    if mine == theirs:
        return ("same" if first.raw_order == second.raw_order else "order"), ()
    mine, theirs = (_without_order(events) for events in (mine, theirs))
    if loosely(mine, first.states) == loosely(theirs, second.states):
        return "order", ()
    if _by_runs(mine, first.states) == _by_runs(theirs, second.states):
        return "order", ()  # other workers of a pool took the same work
    pointers = (change.pointer for change in diff(mine, theirs, "/events"))
    return "differ", tuple(pointer for pointer, _ in zip(pointers, range(MOST_DIFFERENCES), strict=False))


def touched(first: Canonical, second: Canonical) -> tuple[str, ...]:
    """The parts of the recorder whose events are not the same in both, in whatever order; sorted."""
    known: dict[str, str] = {}
    counts = [
        Counter(_telling(event, each.states, known) for event in _events(each)) for each in (first, second)
    ]
    return tuple(sorted({part for (part, _), _ in _difference(*counts)}))


def _difference(one: Counter[Any], other: Counter[Any]) -> Iterator[tuple[Any, int]]:
    yield from (one - other).items()
    yield from (other - one).items()


def _telling(
    event: dict[str, Any],
    states: Mapping[Sha256, bytes],
    known: dict[str, str],  # Any: JSON
) -> tuple[str, str]:
    """The part that saw an event, and what it says, without its place and the name of a frame."""
    told = {key: part for key, part in event.items() if key not in ("seq", "after", "frame")}
    return _part_of(event), json.dumps(in_any_order(told, states, known), sort_keys=True)


def _part_of(event: Mapping[str, Any]) -> str:  # Any: JSON
    kind = str(event["kind"])
    if kind == "script.wrote":
        return OUTPUT
    if kind == "recorder.failed":
        return str(event["part"])
    return _PARTS.get(kind.partition(".")[0], SCRIPT)


def _events(canonical: Canonical) -> list[dict[str, Any]]:  # Any: JSON
    found: list[dict[str, Any]] = json.loads(canonical.trace.to_bytes())["events"]
    return found


def _without_order(events: list[dict[str, Any]]) -> list[dict[str, Any]]:  # Any: JSON
    return [{key: part for key, part in event.items() if key != "after"} for event in events]


_LABELS = frozenset(
    {"run", "of_run", "parent", "state", "call", "session", "result", "frame", "process", "span", "trace"}
)
"""Fields that name things, numbered by the order of the whole trace."""


def _by_runs(
    events: list[dict[str, Any]], states: Mapping[Sha256, bytes]
) -> Counter[tuple[str, ...]]:  # Any: JSON
    """Each run as what happened in it, in its order, and each event outside of runs by itself."""
    groups: dict[str, list[str]] = {}
    looked_at: dict[str, str] = {}
    numbers: dict[str, dict[str, str]] = {}
    for place, event in enumerate(events):
        run = str(event.get("run") or event.get("of_run") or f"#{place}")
        known = numbers.setdefault(run, {})
        told: dict[str, Any] = {}  # Any: JSON
        for key, part in event.items():
            if key in _LABELS and isinstance(part, str):
                told[key] = known.setdefault(part, f"{part[:1]}{len(known)}")
            elif key != "seq":
                told[key] = in_any_order(part, states, looked_at)
        groups.setdefault(run, []).append(json.dumps(told, sort_keys=True))
    return Counter(tuple(group) for group in groups.values())


@dataclass
class Settlement:
    """Recordings made comparable."""

    canonical: list[Canonical]
    notes: set[tuple[str, str]] = field(default_factory=set)
    """What was left out of all of them, and why."""
    lost: set[str] = field(default_factory=set)
    """Parts of which something was left out that later events may rest on."""


def settle(
    raw: Sequence[Sequence[RawEvent]], canonicalise: Canonicalise, as_they_are: Sequence[Canonical]
) -> Settlement:
    """Settle recordings that differ; `canonicalise` makes the trace of one of them anew."""
    found = Settlement(list(as_they_are))
    loose = frozenset(
        (str(event["kind"]), str(name))
        for events in raw
        for event in events
        for name in event.get("unanswered", ())
    )
    left_out = _after_cuts(raw, found)
    by_nature = _by_nature(found.canonical) if not any(left_out) else ({},) * len(raw)
    if not loose and not any(left_out) and not any(by_nature):
        return found
    for again in range(2):
        found.canonical = [
            canonicalise(number, Settled(loose, left_out[number], by_nature[number]))
            for number in range(len(raw))
        ]
        more = _by_nature(found.canonical)
        if again or not any(more):
            break  # what was left out, or is in another order now, may have hidden values that stand apart
        by_nature = tuple({**mine, **new} for mine, new in zip(by_nature, more, strict=True))
    if len({len(each.trace.events) for each in found.canonical}) == 1:
        _drop_unlooked(found)
    return found


def _drop_unlooked(found: Settlement) -> None:
    """Rule 1, and for runs that were cut what their ends say of things that went on."""
    dropping: dict[int, set[str]] = {}
    for places in zip(*(each.trace.events for each in found.canonical), strict=True):
        shapes = [place.to_shape() for place in places]
        names = {name for each in found.canonical for name in each.unanswered.get(places[0].seq, ()) if name}
        if shapes[0]["kind"] == "run.ended" and all(each.get("outcome") in _CUT for each in shapes):
            names |= {name for name in shapes[0] if any(each.get(name) != shapes[0][name] for each in shapes)}
            names -= {"outcome"}
        names &= {*_LOOKED_AT, "input_state", "error", "usage", "items", "without_body", "enabled"}
        if names:
            dropping[places[0].seq] = names
    if dropping:
        found.canonical = [each.without(dropping) for each in found.canonical]


def _after_cuts(raw: Sequence[Sequence[RawEvent]], found: Settlement) -> list[frozenset[str]]:
    """Rule 3: of each recording, the names of the events that are left out."""
    # A run's end comes after all that is left out, and stays all the same.
    cut = [_cut_events(events) for events in raw]
    common = Counter(key for _, key in cut[0])
    for other in cut[1:]:
        common &= Counter(key for _, key in other)
    left_out: list[frozenset[str]] = []
    for events, of_cut in zip(raw, cut, strict=True):
        keys = {str(event["n"]): key for event, key in of_cut}
        left = Counter(common)
        gone: set[str] = set()
        for event in events:
            name = str(event["n"])
            if name not in keys:
                continue
            ends = keys[name][2] == "ended"
            if not left[keys[name]] or not (ends or gone.isdisjoint(event.get("after", ()))):
                gone.add(name)
            else:
                left[keys[name]] -= 1
        left_out.append(frozenset(gone))
        found.lost |= {_part_of(e) for e in events if e["n"] in gone and e["kind"] == "session.used"}
    # What follows in one of them on an event that is left out there is left out of all.
    kept = [
        Counter(key for event, key in of_cut if event["n"] not in gone)
        for of_cut, gone in zip(cut, left_out, strict=True)
    ]
    least = kept[0]
    for other_kept in kept[1:]:
        least = least & other_kept
    for number, of_cut in enumerate(cut):
        surplus = kept[number] - least
        more = set(left_out[number])
        for event, key in reversed(of_cut):
            if surplus[key] > 0 and event["n"] not in more:
                surplus[key] -= 1
                more.add(str(event["n"]))
        left_out[number] = frozenset(more)
    if any(left_out):
        found.notes.add(("runs that were cut", "what happened in them in only one of the repeats is absent"))
    return left_out


def _cut_events(events: Sequence[RawEvent]) -> list[tuple[RawEvent, tuple[str, int, str]]]:
    """The events of runs that were cut; each with the outermost such run, told by how it began and its number
    among those that began so, and with what it says.

    A run's end is one with its start: it stays where that does, whatever it says of the rest.
    """
    starts = {_label(event): event for event in events if event["kind"] == "run.started"}
    ends = {_label(e): str(e.get("outcome")) for e in events if e["kind"] == "run.ended"}
    cut: dict[str, tuple[str, int]] = {}
    seen: Counter[str] = Counter()
    for run, start in starts.items():  # a parent begins before what runs inside of it
        outer = cut.get(_label(start, "parent"))
        if outer is not None:
            cut[run] = outer
        elif ends.get(run, "unfinished") in _CUT:
            told = _content(start)
            cut[run] = told, seen[told]
            seen[told] += 1
    found: list[tuple[RawEvent, tuple[str, int, str]]] = []
    for event in events:
        run = _label(event)
        if run not in cut and event["kind"] != "result.observed":
            run = _label(event, "of_run")
        if run in cut:
            is_end = event["kind"] == "run.ended" and _label(starts[run], "parent") not in cut
            found.append((event, (*cut[run], "ended" if is_end else _content(event))))
    return found


def _label(event: RawEvent, name: str = "run") -> str:
    found = event.get(name)
    return str(found.get("$label")) if isinstance(found, Mapping) else ""


def _content(event: RawEvent) -> str:
    """What a raw event says, without the names of things."""

    def walk(part: Any) -> Any:  # Any: JSON
        if isinstance(part, Mapping):
            if part.keys() == {"$label"}:
                return str(part["$label"])[:1]
            return {key: walk(item) for key, item in part.items() if key not in ("n", "lane", "after")}
        return [walk(item) for item in part] if isinstance(part, list) else part

    told = walk({key: part for key, part in event.items() if key not in (*_LOOKED_AT, "unanswered")})
    return _NAMES.sub("~", json.dumps(told, sort_keys=True))


_NAMES = re.compile(r"0x[0-9a-f]{6,16}|[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[a-z]+_[0-9a-f]{16,32}")

# Values that differ by nature.

_MOMENT = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?|"
    r"\b\d{2}:\d{2}:\d{2}(?:[.,]\d+)?\b"
)
_NUMBER = re.compile(r"(?<![^\W_])(?<!\.)\d{10,19}(?:\.\d+)?(?![\w.])")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
_CIPHERTEXT = re.compile(r"(?<![\w-])gAAAAA[A-Za-z0-9_-]{60,}={0,2}")
"""A Fernet token: version 128, then the moment at which it was made."""
_RANDOM = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_SHAPES = (("ciphertext", _CIPHERTEXT), ("time", _MOMENT), ("time", _NUMBER), ("address", _ADDRESS))
_MOST_APART = 3600.0
"""Seconds between two repeats."""
_NOW = (1.5e9, 5e9)
"""Seconds since 1970 that a clock of these years may show."""


def _by_nature(canonical: Sequence[Canonical]) -> tuple[Mapping[str, str], ...]:
    """Rule 2: of each recording, the texts that are to be numbered, with the family of each."""
    pairs = [_pairs(canonical[0], other) for other in canonical[1:]]
    in_all = set.intersection(*(set(found) for found in pairs)) if pairs else set()
    mine = {text: pairs[0][text][1] for text in in_all}
    others = ({found[text][0]: found[text][1] for text in in_all} for found in pairs)
    return (mine, *others)


def _pairs(first: Canonical, second: Canonical) -> dict[str, tuple[str, str]]:
    """Each text of `first` with the one that always stands beside it in `second`, and its family."""
    seen: dict[str, tuple[str, str]] = {}
    back: dict[str, str] = {}
    broken: set[str] = set()
    for mine, theirs in _aligned(first, second):
        for one, other, family in _unlike(mine, theirs):
            if seen.setdefault(one, (other, family))[0] != other or back.setdefault(other, one) != one:
                broken |= {one, back.get(other, one)}
    return {text: found for text, found in seen.items() if text not in broken}


def _aligned(first: Canonical, second: Canonical) -> Iterator[tuple[Any, Any]]:  # Any: JSON
    mine, theirs = _events(first), _events(second)
    states = {**first.states, **second.states}
    if len(mine) == len(theirs) or max(len(mine), len(theirs)) > _MOST_ALIGNED:
        places = [(i, i) for i in range(min(len(mine), len(theirs)))]
    else:
        a, b = ([tuple(str(e.get(name)) for name in _TELLING) for e in each] for each in (mine, theirs))
        blocks = difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
        places = [(block.a + i, block.b + i) for block in blocks for i in range(block.size)]
    for one, other in places:
        if mine[one] != theirs[other]:
            yield _with_states(mine[one], states), _with_states(theirs[other], states)


def _with_states(event: dict[str, Any], states: Mapping[Sha256, bytes]) -> Any:  # Any: JSON
    return {
        key: json.loads(states[part]) if isinstance(part, str) and part in states else part
        for key, part in event.items()
        if key not in ("seq", "after")
    }


def _unlike(one: Any, other: Any) -> Iterator[tuple[str, str, str]]:  # Any: JSON
    """Two texts and their family for each place at which these differ by nature."""
    if one == other:
        return
    if isinstance(one, str) and isinstance(other, str):
        yield from _unlike_texts(one, other)
    elif isinstance(one, list) and isinstance(other, list):
        for mine, theirs in zip(one, other, strict=False):
            yield from _unlike(mine, theirs)
    elif isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() & other.keys():
            yield from _unlike(one[key], other[key])
        gone, new = ([key for key in a if key not in b] for a, b in ((one, other), (other, one)))
        for mine, theirs in zip(gone, new, strict=False):
            yield from _unlike_texts(mine, theirs)
    elif isinstance(one, int) and isinstance(other, int) and _are_moments(str(one), str(other)):
        yield str(one), str(other), "time"


def _unlike_texts(one: str, other: str) -> Iterator[tuple[str, str, str]]:
    for family, shape in _SHAPES:
        mine, theirs = shape.findall(one), shape.findall(other)
        if len(mine) != len(theirs) or not mine:
            continue
        found = [(a, b) for a, b in zip(mine, theirs, strict=True) if a != b]
        if shape is not _NUMBER or all(_are_moments(a, b) for a, b in found):
            yield from ((a, b, family) for a, b in found)
            one, other = (shape.sub("~", text) for text in (one, other))
    mine, theirs = _RANDOM.findall(one), _RANDOM.findall(other)
    if len(mine) == len(theirs):
        for a, b in zip(mine, theirs, strict=True):
            head = _shared_head(a, b)
            if a != b and _are_drawn(a[head:], b[head:]):
                yield a, b, "random"


def _are_moments(one: str, other: str) -> bool:
    """Whether two numbers are what a clock shows within one recording: seconds, or thousandths of them."""
    for factor in (1.0, 1e3, 1e6, 1e9):
        a, b = float(one) / factor, float(other) / factor
        if _NOW[0] < a < _NOW[1]:
            return abs(a - b) <= _MOST_APART
    return False


def _shared_head(one: str, other: str) -> int:
    """How much of both is a name, such as `call_`."""
    head = 0
    for place, (a, b) in enumerate(zip(one, other, strict=False), start=1):
        if a != b:
            break
        if a in "_-/":
            head = place
    return head


_FEWEST_LETTERS = 12
_ALIKE = 0.4
"""Of two texts that were drawn, so many letters at the most are the same by chance, with room to spare."""


_NUMBERED = re.compile(r"0{12}40008000[0-9a-f]{12}|0{8}-0000-4000-8000-[0-9a-f]{12}")


def _are_drawn(one: str, other: str) -> bool:
    """Whether two texts look drawn at random: long, letters and digits mixed, nothing shared."""
    if min(len(one), len(other)) < _FEWEST_LETTERS or abs(len(one) - len(other)) > 4:
        return False
    if any(_NUMBERED.fullmatch(text) for text in (one, other)):
        return True  # by chance it has the shape of an id
    if not all(re.search(r"\d", text) and re.search(r"[A-Za-z]", text) for text in (one, other)):
        return False
    same = sum(a == b for a, b in zip(one, other, strict=False))
    return same <= _ALIKE * min(len(one), len(other))
