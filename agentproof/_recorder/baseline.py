"""What the SDK's import made, in detail, and what is different now (standard library only).

1. Of each function: its code, its defaults, and the functions in its closure. Of each class: its bases, its
   own class, and every descriptor or callable that it holds.
2. The whole is compared at the end. At the moments when the SDK works for the script a glance at the same
   objects by identity finds what is put back before the end.
"""

import operator
import sys
import types
from itertools import chain
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from . import genuine, patching

_PLAIN = (str, int, float, bool, bytes, tuple, frozenset, type(None))
_LAZY = (
    *("__pydantic", "__signature__", "__annotations", "__annotate", "__abstractmethods__", "__doc__"),
    *("_abc_", "__subclasshook__", "__weakref__", "__dict__", "__parameters__", "__type_params__"),
    *("__static_attributes__", "__firstlineno__", "__match_args__", "__dataclass_", "__init_subclass__"),
)
"""What Python and pydantic themselves write into a class later on."""
FUNCTIONAL = (types.FunctionType, staticmethod, classmethod, property)
_MOST_GLANCES = 200


class _Space:
    """What a module or class held at the end of the import."""

    def __init__(self, name: str, place: str, owner: Any) -> None:
        self.module = name
        self.place = place
        self.owner = owner
        self.held = vars(owner)
        self.keys = tuple(self.held)
        self.values = tuple(self.held.values())
        self.bases: Tuple[type, ...] = owner.__bases__ if isinstance(owner, type) else ()
        self.kind = type(owner)

    def is_as_noted(self) -> bool:
        """Whether the same names lead to the very same objects."""
        now = self.held
        return tuple(now) == self.keys and all(map(operator.is_, now.values(), self.values))


noted: List[_Space] = []
"""The SDK's modules, each followed by its classes."""
_functions: List[types.FunctionType] = []
_places: List[Tuple[str, str]] = []
_insides: List[Tuple[Any, List[Any]]] = []
"""What gives a part of a function, and that part of each: the very object."""
_given: List[Tuple[int, Dict[str, Any]]] = []
_closures: List[Tuple[int, Tuple[Any, ...]]] = []
_watched: List[Any] = []
_values: List[Any] = []
_sizes: List[int] = []
_seen: List[List[Any]] = []
_glances = 0

_PARTS = tuple(map(operator.attrgetter, ("__code__", "__defaults__", "__kwdefaults__")))
_VALUES = operator.methodcaller("values")


def note(package: str) -> None:
    """Note what the import made."""
    seen: Set[int] = set()
    for name, module in modules(package):
        for place, owner in spaces(name, module):
            space = _Space(name, place, owner)
            noted.append(space)
            for key, member in zip(space.keys, space.values, strict=True):
                if isinstance(member, FUNCTIONAL):
                    _note_functions(place, key, member, seen)
    _insides[:] = [(part, list(map(part, _functions))) for part in _PARTS]


def _note_functions(place: str, key: str, member: Any, seen: Set[int]) -> None:
    waiting = list(functions_of(member))
    while waiting:
        function = patching.original_of(waiting.pop())
        if id(function) in seen:
            continue
        seen.add(id(function))
        if function.__kwdefaults__:
            _given.append((len(_functions), dict(function.__kwdefaults__)))
        behind = [function.__dict__.get("__wrapped__")]
        if function.__closure__:
            held = tuple(map(_content, function.__closure__))
            _closures.append((len(_functions), held))
            behind += held
        _functions.append(function)
        _places.append((place, key))
        waiting += [each for each in behind if isinstance(each, types.FunctionType)]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # empty


def _functions_changed() -> Iterator[int]:
    """The functions, by number, whose insides are not what the import made."""
    for part, before in _insides:
        for number, is_same in enumerate(map(operator.is_, map(part, _functions), before)):
            if not is_same:
                yield number
    for number, given in _given:
        keywords = _functions[number].__kwdefaults__ or {}
        if keywords.keys() != given.keys() or any(keywords[key] is not given[key] for key in given):
            yield number
    for number, held in _closures:
        for cell, before in zip(_functions[number].__closure__ or (), held, strict=False):
            now = _content(cell)
            if now is not before and any(isinstance(each, types.FunctionType) for each in (now, before)):
                yield number


def functions() -> List[types.FunctionType]:
    """The SDK's functions, those behind decorators too."""
    return _functions


def modules(package: str) -> Iterator[Tuple[str, types.ModuleType]]:
    """The loaded modules of a package."""
    for name, module in list(sys.modules.copy().items()):
        if (name == package or name.startswith(package + ".")) and isinstance(module, types.ModuleType):
            yield name, module


def spaces(name: str, module: types.ModuleType) -> Iterator[Tuple[str, Any]]:
    """A module and every class that it defines, each with its place."""
    waiting: List[Tuple[str, Any]] = [(name, module)]
    seen: Set[int] = set()
    while waiting:
        place, owner = waiting.pop()
        yield place, owner
        for key, item in list(vars(owner).items()):
            if isinstance(item, type) and item.__module__ == name and id(item) not in seen:
                seen.add(id(item))
                waiting.append(("{}.{}".format(place, key), item))


def functions_of(member: Any) -> Iterator[types.FunctionType]:
    """The functions that a name of a module or class stands for, without the recorder's own."""
    waiting = [member]
    while waiting:
        one = waiting.pop()
        if isinstance(one, types.FunctionType):
            yield patching.original_of(one)
        elif isinstance(one, (staticmethod, classmethod)):
            waiting.append(one.__func__)
        elif isinstance(one, property):
            waiting += [each for each in (one.fget, one.fset, one.fdel) if each is not None]


def changed() -> Iterator[str]:
    """The places of functions and classes whose insides are not what the import made."""
    for number in _functions_changed():
        yield "{}.{}".format(*_places[number])
    own = {(id(owner), name): new for owner, name, new in patching.replaced}
    for space in noted:
        cls = space.owner
        if not isinstance(cls, type):
            continue
        if cls.__bases__ != space.bases:
            yield space.place + ".__bases__"
        if type(cls) is not space.kind:
            yield space.place + ".__class__"
        if space.is_as_noted():
            continue
        members, held = dict(zip(space.keys, space.values, strict=True)), dict(space.held)
        for key in {*members, *held}:
            before, now = members.get(key, _ABSENT), held.get(key, _ABSENT)
            if before is now or own.get((id(cls), key), own) is now:
                continue
            if key.startswith(_LAZY) and not any(isinstance(each, FUNCTIONAL) for each in (before, now)):
                continue
            value = isinstance(before, _PLAIN) and before != now
            if _acts(before) or _acts(now) or (value and not _is_assigned(cls, key)):
                yield "{}.{}".format(space.place, key)


_ABSENT = object()


def _acts(member: Any) -> bool:
    """Whether a class behaves by this member: it is a descriptor, or can be called."""
    return member is not _ABSENT and (hasattr(type(member), "__get__") or callable(member))


def _is_assigned(cls: type, key: str) -> bool:
    """Whether the module of a class sets an attribute of this name itself."""
    path = getattr(sys.modules.get(cls.__module__), "__file__", None)
    code: Optional[types.CodeType] = genuine.of_file(path) if isinstance(path, str) else None
    return code is None or key in genuine.attributes_set(code)


def watch() -> None:
    """From now on `glance` tells what is exchanged: the recorder's own hooks are in place."""
    _watched[:] = [space.held for space in noted]
    _seen[:] = [list(before) for _, before in _insides]
    _look_again()


def _look_again() -> None:
    _sizes[:] = map(len, _watched)
    _values[:] = chain.from_iterable(map(_VALUES, _watched))


def forget() -> None:
    """Let go of all that was noted: nothing is compared after this."""
    for held in (noted, _functions, _places, _insides, _given, _closures):
        held.clear()
    for looked_at in (_watched, _values, _sizes, _seen):
        looked_at.clear()


def glance() -> bool:
    """Whether a function, a class or a function's code stands elsewhere than at the last glance."""
    global _glances
    _glances += 1
    if _glances > _MOST_GLANCES or not _watched:
        return False
    found = False
    for (part, _), before in zip(_insides, _seen, strict=True):
        if not all(map(operator.is_, map(part, _functions), before)):
            found = True
            before[:] = map(part, _functions)
    # In one walk over all that they hold, since this is done at each run, model and tool.
    if list(map(len, _watched)) == _sizes and all(
        map(operator.is_, chain.from_iterable(map(_VALUES, _watched)), _values)
    ):
        return found
    begin = 0
    for space, size in zip(_watched, _sizes, strict=True):
        values, before = list(space.values()), _values[begin : begin + size]
        begin += size
        if len(values) == len(before) and all(map(operator.is_, values, before)):
            continue
        known = set(map(id, before))
        found = (
            found
            or len(values) < len(before)
            or any(id(each) not in known and _acts(each) for each in values)
        )
    _look_again()
    return found
