"""What the script itself writes into results and states, by whatever way (standard library only).

1. Outside of all runs the script has its turn. When it begins (a run has ended, an operation on a state is
   done) and each time it ends (code of the SDK begins), what the watched objects hold is compared: no code of
   the SDK ran in between, so what differs was written by the script's own frames.
2. That the SDK begins is told by a profile function, which is there only during such a turn, and only where
   the script has none of its own.
3. The script's own objects are left out: its context, what it gave as input, what its tools and guardrails
   gave, what it shares with the SDK inside of a document (`to_json`, `from_json`), and what a function of the
   SDK put into an object of the script's (`Usage.add`) or returned as a list or dict (`get_interruptions`):
   who writes there need not know that it is shared.
4. Inside of runs nobody is told apart in this way; there the source alone is read (`conduct`).
"""

import gc
import sys
import threading
import types
from typing import Any, Dict, List, Optional, Set, Tuple

from ... import conduct, events, genuine, patching
from . import facts, watch

_UNFOLDED = (
    *("agents.items", "agents.usage", "agents.result", "agents.run_state", "agents.run_context"),
    *(
        "agents.tool_context",
        "agents.run_internal",
        "agents._run_impl",
        "agents.guardrail",
        "agents.model_settings",
    ),
    *("agents.tool_guardrails", "openai.types"),
)
"""Where the classes live whose objects the SDK makes and keeps."""
_SCRIPTS_OWN = frozenset(
    {
        *("context", "input", "_original_input", "original_input", "agent", "_last_agent", "last_agent"),
        *("output", "final_output", "output_info", "_trace_state", "trace", "_trace", "guardrail"),
        *("current_agent", "_current_agent", "agent_output", "_starting_agent", "tool_input"),
    }
)
_PLAIN = (str, int, float, bool, bytes, type(None))
_TURNS = frozenset({"run.ended", "state.made", "state.decided", "state.restored", "state.serialised"})
_MOST_OBJECTS = 4000
_MOST_EVENTS = 300_000
_MOST_LOOKS = 400

_before: Dict[int, "_Held"] = {}
_armed = False
_paused = 0
_thread = threading.get_ident()
"""Turns are told in the thread that imports the SDK."""
_inside = 0
_held_before: Set[int] = set()
_put_there: Set[int] = set()
"""Of what is watched, by identity, what functions of the SDK put into objects of the script's or returned."""
_running: Set[Any] = set()
_events = 0
_looks = 0
_told: Set[str] = set()


def install() -> None:
    """Begin with the first turn."""
    events.on_event.append(_happened)
    watch.on_result.append(_watched)
    events.at_work.append(_pause)
    conduct.written = written


def finish() -> None:
    """The script is over: the last turn ends."""
    if _armed:
        _compare(None)
        _disarm()


def _happened(kind: str, body: Dict[str, Any]) -> None:
    label = (body.get("run") or {}).get("$label")
    if kind == "run.started":
        _running.add(label)
        _disarm()
    elif kind == "run.ended":
        _running.discard(label)
    if kind in _TURNS and not _running:
        _arm()


def _watched() -> None:
    if not _running:
        _arm()


def _arm() -> None:
    global _armed, _inside, _looks
    _looks += 1
    if threading.get_ident() != _thread:
        return
    if _looks > _MOST_LOOKS or _events > _MOST_EVENTS or sys.getprofile() not in (None, _profile):
        _disarm()
        return
    _keep(_holdings())
    _inside = 0
    if not _armed and _before:
        _armed = True
        if not _paused:
            sys.setprofile(_profile)


def _disarm() -> None:
    global _armed
    if _armed:
        _armed = False
        if sys.getprofile() is _profile:
            sys.setprofile(None)


def _pause(begins: bool) -> None:
    """The recorder itself is at work, which needs no watching, or has done it."""
    global _paused
    if threading.get_ident() == _thread:
        _paused = max(0, _paused + (1 if begins else -1))
        if _armed and _paused == (1 if begins else 0) and sys.getprofile() in (None, _profile):
            sys.setprofile(None if begins else _profile)


def _profile(frame: Any, event: str, result: Any) -> None:
    global _inside, _events, _held_before
    try:
        if event == "call":
            _events += 1
            if not _inside and _armed and _is_sdk(frame):
                _compare(frame)
                if patching.is_own(frame.f_back):
                    _disarm()  # an operation that the recorder hooks: a turn begins when it is done
                else:
                    _inside = id(frame)
                    _held_before = _given(frame)
        elif event == "return" and _inside == id(frame):
            _put_there.update(_given(frame) - _held_before)
            if type(result) in (list, dict):
                _put_there.add(id(result))
            _arm()
        elif _events > _MOST_EVENTS:
            _disarm()
        else:
            _events += 1
    except Exception as error:
        _disarm()
        events.journal().failed("conduct", error)


def _is_sdk(frame: Any) -> bool:
    path: str = frame.f_code.co_filename
    if path.startswith("<string>"):
        return frame.f_code.co_name.startswith("__") and facts.is_sdk(frame.f_globals.get("__name__"))
    return genuine.is_sdk_file(path)


def _compare(frame: Any) -> None:
    now = _holdings()
    found: Set[str] = set()
    for key, held in now.items():
        before = _before.get(key)
        if before is None or before.kind is not held.kind or before.content == held.content:
            continue
        if key not in _put_there and not (held.is_inside and _is_shared(held.item)):
            found.update(
                "{}, written by the script before {}".format(each, _place(frame))
                for each in held.differing(before)
            )
    _keep(now)
    fresh = found - _told
    if fresh:
        _told.update(fresh)
        events.note("conduct.found", {"changed": sorted(fresh)})


def _keep(now: Dict[int, "_Held"]) -> None:
    for held in now.values():
        held.item = None  # nothing of the script's is kept alive
    _before.clear()
    _before.update(now)
    _put_there.intersection_update(now)


def written() -> List[str]:
    """What was found so far."""
    return sorted(_told)


def _place(frame: Any) -> str:
    while frame is not None:
        path = frame.f_code.co_filename
        if not genuine.is_installed(path) and not path.startswith("<") and not patching.is_own(frame):
            return "{}:{}".format(path.rpartition("/")[2], frame.f_lineno)
        frame = frame.f_back
    return "its end"


class _Held:
    """What one object held when it was looked at: values as they are, all else by identity."""

    __slots__ = ("content", "is_inside", "item", "kind", "told")

    def __init__(self, item: Any, told: str, content: Dict[Any, Any], *, is_inside: bool) -> None:
        self.item = item if is_inside else None
        self.kind = type(item)
        self.told = told
        self.content = content
        self.is_inside = is_inside
        """Inside of a document, where the script may hold the same dict or list by right."""

    def differing(self, before: "_Held") -> List[str]:
        """What differs, by the attribute's name where it is one of an object's."""
        if self.kind in _CONTAINERS:
            return [self.told]
        names = {*self.content, *before.content}
        return [
            "{}.{}".format(self.kind.__name__, each)
            for each in names
            if self.content.get(each, _ABSENT) != before.content.get(each, _ABSENT)
        ]


_CONTAINERS = (list, tuple, dict)
_ABSENT = object()


def _token(item: Any) -> Any:
    kind = type(item)
    return (kind, item) if kind in _PLAIN else id(item)


def _given(frame: Any) -> Set[int]:
    """What is inside of the objects of the SDK's classes that a call was given, but for watched ones."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    held = [frame.f_locals.get(name) for name in names]
    tops = [each for each in held if _is_unfolded(type(each)) and id(each) not in _before]
    return set(_within([(each, "", False) for each in tops])).difference(map(id, tops))


def _holdings() -> Dict[int, _Held]:
    """What each watched object holds, and those inside of it, by identity."""
    waiting: List[Tuple[Any, str, bool]] = []
    watched = [(name, ref()) for name, ref in list(watch._states.items())]
    watched += [(name, held[0]()) for name, held in list(watch._results.items())]
    for name, top in watched:
        if top is not None and name not in watch._running:
            waiting.append((top, type(top).__name__, False))
    return _within(waiting)


def _within(waiting: List[Tuple[Any, str, bool]]) -> Dict[int, _Held]:
    found: Dict[int, _Held] = {}
    while waiting and len(found) < _MOST_OBJECTS:
        item, told, is_inside = waiting.pop()
        if id(item) in found:
            continue
        kind = type(item)
        if kind is list or kind is tuple:
            content: Dict[Any, Any] = dict(enumerate(map(_token, item)))
            inner = [(each, told, True) for each in item]
        elif kind is dict:
            content = {key: _token(each) for key, each in item.items() if type(key) is str}
            inner = [(each, told, True) for each in item.values()]
        elif _is_unfolded(kind):
            fields = _fields(item, kind)
            # What is the script's own may change inside, but not be exchanged for another.
            content = {name: _token(each) for name, each in fields.items()}
            inner = [
                (each, "{}.{}".format(kind.__name__, name), False)
                for name, each in fields.items()
                if name not in _SCRIPTS_OWN
            ]
        else:
            continue
        found[id(item)] = _Held(item, told, content, is_inside=is_inside and kind in _CONTAINERS)
        waiting += [each for each in inner if type(each[0]) not in _PLAIN]
    return found


_kinds: Dict[type, Optional[List[Tuple[str, Any]]]] = {}
"""The slots of each class that is unfolded; None for the others."""


def _is_unfolded(kind: type) -> bool:
    if kind not in _kinds:
        _kinds[kind] = (
            [
                (name, member)
                for base in kind.__mro__
                for name, member in vars(base).items()
                if isinstance(member, types.MemberDescriptorType) and not name.startswith("__")
            ]
            if kind.__module__.startswith(_UNFOLDED)
            else None
        )
    return _kinds[kind] is not None


def _fields(item: Any, kind: type) -> Dict[str, Any]:
    held = getattr(item, "__dict__", None)
    fields = dict(held) if type(held) is dict else {}
    for name, member in _kinds[kind] or ():
        try:
            fields[name] = member.__get__(item, kind)
        except AttributeError:
            continue  # nothing in it
    return fields


def _is_shared(item: Any) -> bool:
    """Whether a list or dict inside of a document is also held by another that is not the SDK's."""
    holders = [each for each in gc.get_referrers(item) if type(each) in (dict, list)]
    return sum(1 for each in holders if "__builtins__" not in each) > 1
