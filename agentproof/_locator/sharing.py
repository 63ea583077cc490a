"""Which objects two holders share, and by which statements (standard library only).

A holder is a RunState or a result. Two runs of the script answer two questions:

1. `pointers` (a holder's letter and a JSON pointer of a finding): at each event, and whenever the SDK returns
   to the script, the objects along that pointer are looked for in the other holders, and in the same one by
   another path. Further holders are what a function of the SDK returned to the script, the script's
   variables with an object of the SDK's that is no part of a holder, and containers of the SDK's modules.
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
        self.asks = bool(self._pointers)
        self._returned: List[Tuple[Dict[str, Any], Any]] = []
        self._looks = 0
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
        if kind in _LOOKED_AT:
            self._compare(sys._getframe(2))

    def returned(self, frame: Any, value: Any) -> None:
        """A function of the SDK returns."""
        caller = frame.f_back
        for _ in range(4):  # between the two there may be hooks of the recorder's
            if caller is None or self._probe.is_sdk(caller.f_code):
                return
            if self._probe.is_script(caller.f_code):
                break
            caller = caller.f_back
        else:
            return
        # Containers alone: a state or result that is kept alive would be looked at for longer.
        kept = isinstance(value, (list, dict, set))
        if kept and len(self._returned) < 200 and not any(each is value for _, each in self._returned):
            place = (self._probe.file(frame.f_code.co_filename), frame.f_lineno)
            script = [caller.f_code.co_filename[len(self._probe.root) :], caller.f_lineno]
            self._returned.append(({"stack": [place], "script": script}, value))
        self._looks += 1
        if self._looks < 200:
            self._compare(caller)

    def _compare(self, frame: Any) -> None:
        holders = list(_labelled())
        if not self.asks or not holders or len(self._shared) >= _MOST:
            return
        paths = {label: _walk(found) for label, found in holders}
        chains = [
            (label, found, pointer, list(_chain(found, pointer)))
            for label, found in holders
            for letter, pointer in self._pointers
            if label.startswith(letter)
        ]
        own = {id(found) for _, found in holders}
        inside = own.union(*(seen for label, seen in paths.items()))
        others: List[Tuple[str, Any, Dict[str, Any]]] = [(label, found, {}) for label, found in holders]
        for number, (about, value) in enumerate(self._returned):
            if id(value) not in own:
                others.append(("returned:{}".format(number), value, about))
        for name, value in self._variables(frame):
            if id(value) not in inside:
                others.append(("variable:" + name, value, {}))
        for label, value, _ in others:
            if label not in paths:
                paths[label] = {**_walk(value), id(value): [()]}
        for name, value in _cached(self._probe.package, own):
            others.append(("module:" + name, value, {}))
            paths["module:" + name] = {**_walk(value), id(value): [()]}
        for label, found, pointer, chain in chains:
            for depth, (path, each) in enumerate([((), found), *chain], start=-1):
                for other, value, about in others:
                    for there in paths[other].get(id(each), ())[:2]:
                        is_module = other.startswith("module:")
                        if other == label and (there == path or _passes(there, path)):
                            continue
                        if path or is_module:
                            self._note(
                                (label, path, found), (other, there, value), pointer, depth, each, about
                            )

    def _variables(self, frame: Any) -> Iterator[Tuple[str, Any]]:
        """The script's variables that hold an object of the SDK's, by name, of the frames up from one."""
        while frame is not None:
            if self._probe.is_script(frame.f_code):
                for name, value in list(frame.f_locals.items())[:200]:
                    if _is_of_the_sdk(value) and not name.startswith("__"):
                        yield name, value
            frame = frame.f_back

    def _note(self, mine: Any, theirs: Any, pointer: str, depth: int, each: Any, about: Any) -> None:
        (label, path, found), (other, there, value) = mine, theirs
        key = (label, pointer, path, other, there)
        if key in self._shared:
            return
        self._shared[key] = {
            "holder": label,
            "pointer": pointer,
            "path": list(path),
            "other": other,
            "other_path": list(there),
            "type": type(each).__name__,
            "class": _class(each),
            "depth": depth,
            "classes": [_class(found), _class(value)],
            "owner": _class(_parent(found, path)),
            "starts": len(self._probe.starts),
            **about,
        }

    # The second run

    def made(self, frame: Any, name: str) -> None:
        """An instance is about to be made."""
        code = frame.f_code
        instance = frame.f_locals.get(code.co_varnames[0]) if code.co_varnames else None
        if instance is not None and _class(instance) == name:
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


def _walk(root: Any) -> Dict[int, List[Tuple[str, ...]]]:
    """Each object below a holder by its id, with the first paths to it, shortest first."""
    found_at: Dict[int, List[Tuple[str, ...]]] = {}
    waiting: List[Tuple[Tuple[str, ...], Any]] = [((), root)]
    for path, found in waiting:
        if isinstance(found, _ATOMS) or callable(found) or len(found_at) > _MOST_NODES:
            continue
        paths = found_at.setdefault(id(found), [])
        if len(paths) < 3:
            paths.append(path)
        if len(paths) > 1:
            continue  # what lies below it is known by the first path
        if found is not root:
            module = type(found).__module__ or ""
            if module.startswith(_CLOSED) and not type(found).__name__.endswith("Result"):
                del found_at[id(found)]
                continue
        if len(path) >= _DEEPEST:
            continue
        waiting += [((*path, key), each) for key, each in _children(found)]
    found_at.pop(id(root), None)
    return found_at


def _children(found: Any) -> List[Tuple[str, Any]]:
    if isinstance(found, dict):
        return [(key, each) for key, each in list(found.items())[:200] if isinstance(key, str)]
    if isinstance(found, (list, tuple)):
        return [(str(place), each) for place, each in enumerate(found[:200])]
    fields = getattr(found, "__dict__", None)
    return list(fields.items()) if isinstance(fields, dict) else []


def _passes(there: Tuple[str, ...], path: Tuple[str, ...]) -> bool:
    """Whether one path is the other with a step that leads to the same object, such as a back reference."""
    return len(there) > len(path) and there[-len(path) :] == path


def _is_of_the_sdk(value: Any) -> bool:
    module = type(value).__module__ or ""
    return module.startswith("agents.") and not module.startswith(_CLOSED) and not callable(value)


def _cached(package: str, own: Set[int]) -> Iterator[Tuple[str, Any]]:
    """What containers that are global in a module of the SDK hold, by the container's name, where that is a
    holder or an object of the SDK's."""
    for name, module in list(sys.modules.items()):
        if not (getattr(module, "__file__", None) or "").startswith(package):
            continue
        for variable, container in list(vars(module).items()):
            if variable.startswith("__") or not isinstance(container, (dict, list, set)):
                continue
            values = list(container.values()) if isinstance(container, dict) else list(container)
            for value in values[:100]:
                if id(value) in own or _is_of_the_sdk(value):
                    yield "{}.{}".format(name, variable), value


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
