"""What the SDK's import made, in detail, and what is different now (standard library only).

1. Of each function: its code, its defaults, and the functions in its closure. Of each class: its bases, its
   own class, and every descriptor or callable that it holds.
2. The whole is compared at the end. At the moments when the SDK works for the script a glance at the same
   objects by identity finds what is put back before the end.
"""

import operator
import sys
import types
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from . import genuine, patching

_PLAIN = (str, int, float, bool, bytes, tuple, frozenset, type(None))
_LAZY = (
    *("__pydantic", "__signature__", "__annotations", "__annotate", "__abstractmethods__", "__doc__"),
    *("_abc_", "__subclasshook__", "__weakref__", "__dict__", "__parameters__", "__type_params__"),
    *("__static_attributes__", "__firstlineno__", "__match_args__", "__dataclass_", "__init_subclass__"),
)
"""What Python and pydantic themselves write into a class later on."""
_MOST_GLANCES = 200


class _Function:
    """A function's insides."""

    def __init__(self, place: str, function: types.FunctionType) -> None:
        self.place = place
        self.function = function
        self.code = function.__code__
        self.defaults = function.__defaults__
        self.keywords = function.__kwdefaults__
        self.given = dict(function.__kwdefaults__ or {})
        self.closure = function.__closure__
        self.held = tuple(map(_content, function.__closure__ or ()))

    def is_changed(self) -> bool:
        now = self.function
        if now.__code__ is not self.code or now.__defaults__ is not self.defaults:
            return True
        keywords = now.__kwdefaults__
        if keywords is not self.keywords or (keywords is not None and not _same_items(keywords, self.given)):
            return True
        for cell, before in zip(now.__closure__ or (), self.held, strict=False):
            content = _content(cell)
            if content is not before and any(
                isinstance(each, types.FunctionType) for each in (content, before)
            ):
                return True
        return False


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # empty


def _same_items(one: Dict[str, Any], other: Dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(one[key] is other[key] for key in one)


_functions: List[_Function] = []
_classes: List[Tuple[str, type, Tuple[type, ...], type, Dict[str, Any]]] = []
_spaces: List[Tuple[Any, Tuple[Any, ...]]] = []
_glances = 0


def note(package: str) -> None:
    """Note what the import made."""
    seen: Set[int] = set()
    for name, module in modules(package):
        for place, owner in spaces(name, module):
            for key, member in list(vars(owner).items()):
                waiting = list(functions_of(member))
                while waiting:
                    function = patching.original_of(waiting.pop())
                    if id(function) not in seen:
                        seen.add(id(function))
                        _functions.append(_Function("{}.{}".format(place, key), function))
                        behind = (
                            function.__dict__.get("__wrapped__"),
                            *map(_content, function.__closure__ or ()),
                        )
                        waiting += [each for each in behind if isinstance(each, types.FunctionType)]
            if isinstance(owner, type):
                _classes.append((place, owner, owner.__bases__, type(owner), dict(vars(owner))))


def modules(package: str) -> Iterator[Tuple[str, types.ModuleType]]:
    """The loaded modules of a package."""
    for name, module in list(sys.modules.items()):
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
    for function in _functions:
        if function.is_changed():
            yield function.place
    own = {(id(owner), name): new for owner, name, new in patching.replaced}
    for place, cls, bases, kind, members in _classes:
        if cls.__bases__ != bases:
            yield place + ".__bases__"
        if type(cls) is not kind:
            yield place + ".__class__"
        held = vars(cls)
        for key in {*members, *held}:
            before, now = members.get(key, _ABSENT), held.get(key, _ABSENT)
            if before is now or own.get((id(cls), key), _ABSENT) is now or key.startswith(_LAZY):
                continue
            value = isinstance(before, _PLAIN) and before != now
            if _acts(before) or _acts(now) or (value and not _is_assigned(cls, key)):
                yield "{}.{}".format(place, key)


_ABSENT = object()


def _acts(member: Any) -> bool:
    """Whether a class behaves by this member: it is a descriptor, or can be called."""
    return member is not _ABSENT and (hasattr(type(member), "__get__") or callable(member))


def _is_assigned(cls: type, key: str) -> bool:
    """Whether the module of a class sets an attribute of this name itself."""
    path = getattr(sys.modules.get(cls.__module__), "__file__", None)
    code: Optional[types.CodeType] = genuine.of_file(path) if isinstance(path, str) else None
    return code is None or key in genuine.attributes_set(code)


def watch(package: str) -> None:
    """From now on `glance` tells what is exchanged: the recorder's own hooks are in place."""
    _spaces.clear()
    for name, module in modules(package):
        _spaces.extend((vars(owner), tuple(vars(owner).values())) for _, owner in spaces(name, module))
    _watched[:] = [function.function for function in _functions]
    _insides[:] = map(_INSIDE, _watched)


def forget() -> None:
    """Let go of all that was noted: nothing is compared after this."""
    _functions.clear()
    _classes.clear()
    _spaces.clear()
    _watched.clear()
    _insides.clear()


_INSIDE = operator.attrgetter("__code__")
_OUTSIDE = operator.attrgetter("__defaults__")
_watched: List[types.FunctionType] = []
_insides: List[types.CodeType] = []


def glance() -> bool:
    """Whether a function, a class or a function's code stands elsewhere than at the last glance."""
    global _glances
    _glances += 1
    if _glances > _MOST_GLANCES or not _spaces:
        return False
    found = False
    if not all(map(operator.is_, map(_INSIDE, _watched), _insides)):
        found = True
        _insides[:] = map(_INSIDE, _watched)
    if not all(map(operator.is_, map(_OUTSIDE, _watched), (each.defaults for each in _functions))):
        found = True
    for index, (space, before) in enumerate(_spaces):
        values = tuple(space.values())
        if len(values) == len(before) and all(map(operator.is_, values, before)):
            continue
        _spaces[index] = (space, values)
        known = set(map(id, before))
        fewer = len(values) < len(before)
        found = found or fewer or any(id(each) not in known and _acts(each) for each in values)
    return found
