"""Which objects two holders share, and by which statements (standard library only).

A holder is a RunState or a result. Two runs of the script answer two questions:

1. `pointers` (a holder's letter and a JSON pointer of a finding): at each event, the objects along that
   pointer are looked for in the other holders, and in the same one by another path.
2. `slots` (attribute paths by class): at each line of the SDK, what lies at these paths of each instance is
   looked at. A change is put down to the line before, which is told with its stack.

Only parts of holders are kept alive, never a holder.
"""

import sys
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Set, Tuple

if TYPE_CHECKING:
    from .._recorder.adapters.openai_agents import watch
    from .._recorder.patching import original_of
else:  # in the archive, these modules are a package of the recorder's
    from ..adapters.openai_agents import watch
    from ..patching import original_of

_LOOKED_AT = (
    "state.made",
    "state.decided",
    "state.restored",
    "state.observed",
    "result.observed",
    "run.ended",
    "run.started",
)
_MOST_NODES = 3_000
_MOST = 2_000
_DEEPEST = 7
_OTHER_NAMES = {
    "context": ("context_wrapper",),
    "model_responses": ("raw_responses",),
    "generated_items": ("new_items", "_generated_items"),
    "items": ("new_items",),
    "output": ("final_output",),
}
"""What an attribute is called where it is not the JSON's own name with or without an underscore."""
_CLOSED = (
    "agents.agent",
    "agents.tool",
    "agents.models",
    "agents.handoffs",
    "agents.lifecycle",
    "agents.guardrail",
    "agents.tracing",
    "agents.memory",
    "agents.mcp",
    "agents.function_schema",
    "agents.run_config",
    "agents.model_settings",
)
_ATOMS = (str, bytes, int, float, bool, type(None), complex, type)


class Sharing:
    """What is shared, as far as it is asked for."""

    def __init__(self, probe: Any, wanted: Dict[str, Any]) -> None:
        self._probe = probe
        self._pointers: List[Tuple[str, str]] = [tuple(each) for each in wanted.get("pointers", ())]
        self._slots: Dict[str, List[List[str]]] = wanted.get("slots", {})
        self.follows = bool(self._slots)
        self.step = 0
        self.constructors: Dict[Any, str] = {}
        self._holders: List[Tuple[str, Any]] = []
        self._labels: Dict[int, str] = {}
        self._shared: Dict[Any, Dict[str, Any]] = {}
        self._last: Optional[Tuple[int, List[Any]]] = None
        self._now: Dict[Tuple[int, int], Any] = {}
        self._changes: List[Dict[str, Any]] = []
        self._fingers: Dict[int, Any] = {}
        self._writes: List[Dict[str, Any]] = []
        self._kept: Dict[int, Any] = {}
        self._births: List[Dict[str, Any]] = []
        for name in self._slots:
            module, _, qualified = name.partition(":")
            cls = getattr(sys.modules.get(module), qualified, None)
            code = getattr(original_of(getattr(cls, "__init__", None)), "__code__", None) if cls else None
            if code is not None:
                self.constructors[code] = name

    # The first run

    def at_event(self, kind: str) -> None:
        """Look at who shares what."""
        if self.follows:
            self.look()
        if not self._pointers or kind not in _LOOKED_AT or len(self._shared) >= _MOST:
            return
        holders = list(_labelled())
        paths = {label: dict(_walk(found)) for label, found in holders}
        for label, found in holders:
            for letter, pointer in self._pointers:
                if not label.startswith(letter):
                    continue
                for depth, (path, each) in enumerate(_chain(found, pointer)):
                    for other, seen in paths.items():
                        there = seen.get(id(each))
                        if there is not None and (other != label or there[0] != path):
                            self._note(label, pointer, depth, path, other, there[0], each, holders)

    def _note(
        self,
        label: str,
        pointer: str,
        depth: int,
        path: Tuple[str, ...],
        other: str,
        there: Tuple[str, ...],
        each: Any,
        holders: Any,
    ) -> None:
        key = (label, pointer, path, other, there)
        if key in self._shared:
            return
        found = dict(holders)
        self._shared[key] = {
            "holder": label,
            "pointer": pointer,
            "path": list(path),
            "other": other,
            "other_path": list(there),
            "type": type(each).__name__,
            "class": _class(each),
            "depth": depth,
            "classes": [_class(found[label]), _class(found[other])],
            "owner": _class(_parent(found[label], path)),
            "starts": len(self._probe.starts),
        }

    # The second run

    def made(self, frame: Any, name: str) -> None:
        """An instance is about to be made."""
        code = frame.f_code
        instance = frame.f_locals.get(code.co_varnames[0]) if code.co_varnames else None
        if instance is not None:
            self._follow(name, instance)

    def _follow(self, name: str, instance: Any) -> None:
        if any(each() is instance for _, each in self._holders) or len(self._holders) >= 60:
            return
        try:
            self._holders.append((name, weakref.ref(instance)))
        except TypeError:
            return
        step, stack = self._last if self._last is not None else (0, [])
        self._births.append({"object": id(instance), "step": step, "stack": stack})

    def at_line(self, frame: Any, line: int) -> None:
        """A line of the SDK is about to run: what changed, the one before did."""
        self.look()
        self.step += 1
        stack = [(self._probe.file(frame.f_code.co_filename), line)]
        outer = frame.f_back
        while outer is not None and len(stack) < 8:
            if self._probe.is_sdk(outer.f_code):
                stack.append((self._probe.file(outer.f_code.co_filename), outer.f_lineno))
            outer = outer.f_back
        self._last = (self.step, stack)

    def look_outside(self) -> None:
        """The SDK is called: what changed since it last returned, it did not do."""
        if self._last is not None:
            self._last = (self._last[0], [])
            self.look()

    def look(self) -> None:
        """Look at every slot."""
        if self._last is None or len(self._changes) >= _MOST:
            return
        for number, (name, ref) in enumerate(self._holders):
            instance = ref()
            if instance is None:
                continue
            for place, path in enumerate(self._slots[name]):
                found = _at(instance, path)
                before = self._now.get((number, place))
                if found is not before:
                    self._now[(number, place)] = found
                    if found is not None:
                        self._kept[id(found)] = found
                    self._changes.append(
                        {
                            "holder": number,
                            "class": name,
                            "path": path,
                            "object": id(found) if found is not None else None,
                            "step": self._last[0],
                            "stack": self._last[1],
                        }
                    )
        for key, found in self._kept.items():
            finger = _finger(found)
            before = self._fingers.get(key)
            if finger == before:
                continue
            self._fingers[key] = finger
            if before is not None and len(self._writes) < _MOST:
                self._writes.append({"object": key, "step": self._last[0], "stack": self._last[1]})

    def told(self) -> Dict[str, Any]:
        """For the file."""
        names: Dict[str, str] = {}
        for label, found in _labelled():
            for number, (_, ref) in enumerate(self._holders):
                if ref() is found:
                    self._labels[number] = label
        for number, label in self._labels.items():
            names[str(number)] = label
        return {
            "shared": list(self._shared.values()),
            "slots": self._changes,
            "writes": self._writes,
            "births": self._births,
            "names": names,
        }


def _labelled() -> Iterator[Tuple[str, Any]]:
    for label, ref in list(watch._states.items()):
        found = ref()
        if found is not None:
            yield label, found
    for label, (ref, _) in list(watch._results.items()):
        found = ref()
        if found is not None:
            yield label, found


def _class(found: Any) -> str:
    return "{}:{}".format(type(found).__module__, type(found).__qualname__)


def _parent(found: Any, path: Tuple[str, ...]) -> Any:
    return _at(found, list(path[:-1]))


def _at(found: Any, path: List[str]) -> Any:
    for step in path:
        found = _child(found, step)
        if found is None:
            return None
    return found


def _child(found: Any, step: str) -> Any:
    if isinstance(found, dict):
        return dict.get(found, step)
    if isinstance(found, (list, tuple)):
        return found[int(step)] if step.isdigit() and int(step) < len(found) else None
    fields = getattr(found, "__dict__", None)
    return fields.get(step) if isinstance(fields, dict) else None


def _chain(found: Any, pointer: str) -> Iterator[Tuple[Tuple[str, ...], Any]]:
    """The objects along a JSON pointer; a part that no attribute stands for is passed over."""
    path: Tuple[str, ...] = ()
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if key == "usage" and not path:
            wrapper = _child(found, "context_wrapper")
            if wrapper is not None:
                path, found = (*path, "context_wrapper"), wrapper
        for name in (key, "_" + key, *_OTHER_NAMES.get(key, ())):
            inner = _child(found, name)
            if inner is not None:
                path, found = (*path, name), inner
                if isinstance(found, _ATOMS):
                    return
                yield path, found
                break


def _walk(root: Any) -> Iterator[Tuple[int, Tuple[Tuple[str, ...], Any]]]:
    """Each object below a holder by its id, with the shortest path to it."""
    seen: Set[int] = set()
    waiting: List[Tuple[Tuple[str, ...], Any]] = [((), root)]
    for path, found in waiting:
        if isinstance(found, _ATOMS) or callable(found) or (id(found) in seen) or len(seen) > _MOST_NODES:
            continue
        seen.add(id(found))
        if found is not root:
            module = type(found).__module__ or ""
            if module.startswith(_CLOSED) and not type(found).__name__.endswith("Result"):
                continue
            yield id(found), (path, found)
        if len(path) >= _DEEPEST:
            continue
        if isinstance(found, dict):
            waiting += [
                ((*path, key), each) for key, each in list(found.items())[:200] if isinstance(key, str)
            ]
        elif isinstance(found, (list, tuple)):
            waiting += [((*path, str(place)), each) for place, each in enumerate(found[:200])]
        else:
            fields = getattr(found, "__dict__", None)
            if isinstance(fields, dict):
                waiting += [((*path, key), each) for key, each in list(fields.items())]


def _finger(found: Any, depth: int = 3) -> Any:
    """What tells whether an object was changed in place."""
    if isinstance(found, _ATOMS):
        return found
    if isinstance(found, dict):
        items: Any = list(found.items())[:100]
    elif isinstance(found, (list, tuple)):
        items = list(enumerate(found[:100]))
    else:
        fields = getattr(found, "__dict__", None)
        items = list(fields.items())[:60] if isinstance(fields, dict) else []
    head = (id(found), len(items))
    if not depth:
        return head
    return (
        head,
        tuple((key if isinstance(key, (str, int)) else id(key), _deeper(each, depth)) for key, each in items),
    )


def _deeper(found: Any, depth: int) -> Any:
    if isinstance(found, _ATOMS):
        return found if not isinstance(found, str) or len(found) < 100 else hash(found)
    module = type(found).__module__ or ""
    if (
        callable(found)
        or module.startswith(_CLOSED)
        or (not isinstance(found, (dict, list, tuple)) and not module.startswith("agents"))
    ):
        return id(found)
    return _finger(found, depth - 1)
