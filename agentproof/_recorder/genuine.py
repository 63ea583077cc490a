"""The code that the SDK's files hold, to compare with what runs under its names (standard library only).

1. What a file holds is its bytecode as the host compiled it from the verified source, read before the first
   line of the script ran; where there is none, the source is compiled here.
2. Code is compared as the interpreter compares it: arguments, names, constants, lines, instructions as they
   were before they adapted to what they are used for. The file name is not compared.
3. Each function that a module or class defines must lead to that code: itself, or through decorators
   (descriptors, closures, `__wrapped__`). Nothing on the way may be the reproduction's.
4. Other functions there must be the SDK's, an installed package's, or made by `dataclasses` and its like.
5. A name that is given one literal must still have it, unless a function of the module assigns it.
"""

import builtins
import functools
import marshal
import opcode
import os
import re
import sys
import types
from importlib.util import cache_from_source
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from . import patching
from .plan import Plan

Codes = List[types.CodeType]

_LITERALS = (str, int, float, bool, bytes, tuple, type(None))
_MOST = 60
"""Objects looked at on the way from a name to its code."""
_HEADER = 16
"""Bytes before the code in a `.pyc` (PEP 552)."""
_GENERATED = frozenset(
    {
        *(
            "__init__",
            "__repr__",
            "__eq__",
            "__hash__",
            "__lt__",
            "__le__",
            "__gt__",
            "__ge__",
            "__replace__",
        ),
        *("__setattr__", "__delattr__", "__new__", "__getstate__", "__setstate__", "__subclasshook__"),
    }
)
"""What `dataclasses`, `collections` and `typing` write into a class; their code has no file."""
_WITHOUT_FILE = ("<string>", "<frozen ", "<attrs generated ")

_bytecode: Dict[str, bytes] = {}
"""By source path, as it was before the script began."""
_sources: Set[str] = set()
"""The paths of `_bytecode` as it was: no links lead to them or through them."""
_codes: Dict[str, Optional[types.CodeType]] = {}
_places: Dict[str, Dict[Tuple[str, int], Codes]] = {}
_site = ""
_package = ""
_installed: Tuple[str, ...] = ()
_sdk: Tuple[str, ...] = ()


def hold(plan: Plan) -> None:
    """Read the bytecode of the SDK's files; to be called before the script begins."""
    global _site, _package, _installed, _sdk
    _site = os.path.join(os.path.realpath(plan.site_packages), "")
    _package = plan.package
    _installed = (_site, os.path.join(sys.prefix, ""), os.path.join(sys.base_prefix, ""), "<frozen ")
    _sdk = (os.path.join(_site, _package, ""), os.path.join(_site, _package + ".py"))
    if not sys.pycache_prefix:
        return
    top = os.path.join(_site, plan.package)
    for directory, _, names in os.walk(os.path.dirname(cache_from_source(os.path.join(top, "__init__.py")))):
        for name in names:
            stem, _, tag = name.partition(".")
            if not tag.endswith("pyc"):
                continue
            source = os.path.join(os.sep, os.path.relpath(directory, sys.pycache_prefix), stem + ".py")
            with open(os.path.join(directory, name), "rb") as stream:
                _bytecode[source] = stream.read()
    _sources.update(_bytecode)


def is_installed(path: str) -> bool:
    """True for a file of an installed package or of the standard library."""
    return path.startswith(_installed)


def is_source(path: str) -> bool:
    """True for the real path of a file of the SDK's."""
    return path in _sources


def is_sdk_file(path: str) -> bool:
    """True for a path below the SDK's own package."""
    return bool(_sdk) and path.startswith(_sdk)


def of_file(path: str) -> Optional[types.CodeType]:
    """The code of a module of the SDK; None where there is no such file."""
    if path not in _codes:
        _codes[path] = _read(path)
    return _codes[path]


def _read(path: str) -> Optional[types.CodeType]:
    held = _bytecode.pop(path if path in _sources else os.path.realpath(path), None)
    try:
        if held is not None:
            found = marshal.loads(held[_HEADER:])  # noqa: S302  # the host's, from verified sources
            return found if isinstance(found, types.CodeType) else None
        with open(path, "rb") as stream:
            return compile(stream.read(), path, "exec", dont_inherit=True)
    except (OSError, ValueError, SyntaxError, EOFError, TypeError):
        return None


def is_genuine(code: types.CodeType) -> bool:
    """True for code that the file holds which it names as its own."""
    path = code.co_filename
    if path not in _places:
        places: Dict[Tuple[str, int], Codes] = {}
        top = of_file(path)
        for each in _all(top) if top is not None else ():
            places.setdefault((each.co_name, each.co_firstlineno), []).append(each)
        _places[path] = places
    return any(same(code, each) for each in _places[path].get((code.co_name, code.co_firstlineno), ()))


def _all(code: types.CodeType) -> Iterator[types.CodeType]:
    waiting = [code]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += _nested(one)


def _nested(code: types.CodeType) -> Codes:
    return [each for each in code.co_consts if isinstance(each, types.CodeType)]


def same(one: types.CodeType, other: types.CodeType) -> bool:
    """True for equal code, whatever files are named and however it adapted."""
    if one is other or one == other:
        return True
    plain, second = _parts(one), _parts(other)
    if plain != second or len(one.co_consts) != len(other.co_consts):
        return False
    return all(
        same(mine, its)
        if isinstance(mine, types.CodeType) and isinstance(its, types.CodeType)
        else type(mine) is type(its) and mine == its
        for mine, its in zip(one.co_consts, other.co_consts, strict=True)
    )


def _parts(code: types.CodeType) -> Tuple[Any, ...]:
    return (
        *(code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        *(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_firstlineno),
        getattr(code, "co_exceptiontable", b""),
    )


def differences(name: str, module: types.ModuleType) -> Iterator[str]:
    """The names of this module of the SDK, and inside of it, that are not what its file makes."""
    path = getattr(module, "__file__", None)
    code = of_file(path) if isinstance(path, str) else None
    if code is None:
        if not isinstance(path, str) and hasattr(module, "__path__"):
            return  # a namespace package, which has no code
        yield name
        return
    own = {(id(owner), key): new for owner, key, new in patching.replaced}
    assigned: Optional[Set[str]] = None
    for place, owner, body, inner in _spaces(name, module, code):
        for key in _of_space(place, owner, body, inner, own):
            if owner is module:
                assigned = _assigned(code) if assigned is None else assigned
                if key in assigned:
                    continue
            yield "{}.{}".format(place, key)


Space = Tuple[str, Any, Optional[types.CodeType], Codes]
"""The place of a module or class, the object, its body, and what the body defines."""


def _spaces(name: str, module: types.ModuleType, code: types.CodeType) -> Iterator[Space]:
    waiting: List[Tuple[str, Any, Optional[types.CodeType]]] = [(name, module, code)]
    seen: Set[int] = set()
    while waiting:
        place, owner, body = waiting.pop()
        inner = _inner(body) if body is not None else []
        yield place, owner, body, inner
        bodies: Dict[str, Codes] = {}
        for each in inner:
            if not _is_function(each):
                bodies.setdefault(each.co_name, []).append(each)
        for key, item in list(vars(owner).items()):
            if not isinstance(item, type) or id(item) in seen or item.__module__ != name:
                continue
            if item.__qualname__ != (key if owner is module else "{}.{}".format(owner.__qualname__, key)):
                continue
            seen.add(id(item))
            known = bodies.get(key, ())
            waiting.append(("{}.{}".format(place, key), item, known[0] if len(known) == 1 else None))


def _is_function(code: types.CodeType) -> bool:
    return bool(code.co_flags & 0x1)  # CO_OPTIMIZED: a class body's names are in a dictionary


def _inner(code: types.CodeType) -> Codes:
    """The code of what a module or class defines, through the scopes of type parameters."""
    found: Codes = []
    for each in _nested(code):
        found += _inner(each) if each.co_name.startswith("<generic parameters") else [each]
    return found


def _of_space(
    place: str,
    owner: Any,
    body: Optional[types.CodeType],
    inner: Codes,
    own: Dict[Tuple[int, str], Any],
) -> Iterator[str]:
    """The names that lead elsewhere; what is asked of each first is what most of them pass by."""
    held = dict(vars(owner))
    made = isinstance(owner, type)
    expected: Dict[str, Codes] = {}
    for each in inner:
        if _is_function(each) and not each.co_name.startswith("<"):
            expected.setdefault(_mangled(each.co_name, owner), []).append(each)
    for key, codes in expected.items():
        member = held.get(key, _ABSENT)
        if member is _ABSENT:
            if key not in ("__annotate__", "__annotate_func__") and not _stored(body).get("del " + key):
                yield key
        # Under `if TYPE_CHECKING` a class may declare what is made for it.
        elif not _leads_to(member, codes) and not (
            _is_other(key, body, made) and _is_allowed(place, key, member, made)
        ):
            yield key
    for key, member in held.items():
        if key in expected or (made and not isinstance(member, _FUNCTIONAL)):
            continue
        if not _is_allowed(place, key, member, made) and own.get((id(owner), key), own) is not member:
            yield key
    for key, literal in _literals(body) if body is not None else ():
        member = held.get(_mangled(key, owner), _ABSENT)
        if type(member) not in _LITERALS or key.startswith("__"):
            continue
        if (type(member) is not type(literal) or member != literal) and _stored(body).get(key) == 1:
            yield key


_ABSENT = object()


def _mangled(name: str, owner: Any) -> str:
    if isinstance(owner, type) and name.startswith("__") and not name.endswith("__"):
        return "_{}{}".format(owner.__name__.lstrip("_"), name)
    return name


def _is_other(key: str, body: Optional[types.CodeType], made: bool) -> bool:
    return (made and key in _GENERATED) or _stored(body).get(key, 0) > 1


def _stored(body: Optional[types.CodeType]) -> Dict[str, int]:
    """How often a module or class gives each name a value; `del ` before one that it takes away again."""
    found: Dict[str, int] = {}
    if body is None:
        return found
    for prefix, operation in (("", "STORE_NAME"), ("del ", "DELETE_NAME")):
        for index in _arguments(body, opcode.opmap[operation]):
            name = prefix + body.co_names[index]
            found[name] = found.get(name, 0) + 1
    return found


def _arguments(code: types.CodeType, operation: int) -> Iterator[int]:
    """The argument of each instruction of this kind."""
    written = code.co_code
    operations = written[::2]
    at = operations.find(operation)
    while at >= 0:
        argument, shift, before = written[2 * at + 1], 8, at - 1
        while before >= 0 and operations[before] == _EXTENDED:
            argument |= written[2 * before + 1] << shift
            shift, before = shift + 8, before - 1
        yield argument
        at = operations.find(operation, at + 1)


_EXTENDED = opcode.opmap["EXTENDED_ARG"]


def _leads_to(member: Any, codes: Codes) -> bool:
    """Whether a name leads to one of these codes, and to nothing of the reproduction's on the way."""
    if isinstance(member, types.FunctionType) and member.__code__ == codes[0]:
        return True
    found = False
    waiting: List[Any] = [member]
    seen: Set[int] = set()
    while waiting and len(seen) < _MOST:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, types.FunctionType):
            plain = patching.original_of(one)
            if plain is not one:
                waiting.append(plain)
                continue
            if any(same(one.__code__, code) for code in codes):
                found = True
            elif not _is_known(one.__code__):
                return False
        waiting += _behind(one)
    return found


def _behind(one: Any) -> List[Any]:
    """What a decorator's object stands for."""
    if isinstance(one, types.FunctionType):
        behind = [one.__dict__.get("__wrapped__")]
        for cell in one.__closure__ or ():
            try:
                behind.append(cell.cell_contents)
            except ValueError:
                continue  # empty
        return [each for each in behind if _may_lead(each)]
    if isinstance(one, (staticmethod, classmethod, types.MethodType)):
        return [one.__func__]
    if isinstance(one, property):
        return [each for each in (one.fget, one.fset, one.fdel) if each is not None]
    if isinstance(one, (functools.partial, functools.cached_property, functools.partialmethod)):
        return [one.func]
    held = getattr(one, "__dict__", None)
    if isinstance(held, dict) and not isinstance(one, (type, types.ModuleType)):
        return [each for each in held.values() if _may_lead(each)]
    slots = [
        getattr(one, name, None) for name in getattr(type(one), "__slots__", ()) if isinstance(name, str)
    ]
    return [each for each in slots if _may_lead(each)]


def _may_lead(item: Any) -> bool:
    plain = (type(None), type, types.ModuleType, str, int, float, dict, list, tuple, set, frozenset)
    return not isinstance(item, plain)


def _is_known(code: types.CodeType) -> bool:
    """Whether code is the SDK's own, or an installed package's."""
    if is_sdk_file(code.co_filename):
        return is_genuine(code)
    return (
        is_installed(code.co_filename)
        or code.co_filename.startswith(_WITHOUT_FILE)
        or patching.is_own_code(code)
    )


_FUNCTIONAL = (
    *(types.FunctionType, staticmethod, classmethod, property),
    *(functools.partial, functools.partialmethod, functools.cached_property),
)


def _is_allowed(place: str, key: str, member: Any, made: bool) -> bool:
    """Whether a function that the file does not define under this name may stand there."""
    waiting = [member] if isinstance(member, _FUNCTIONAL) else []
    while waiting:
        one = waiting.pop()
        if isinstance(one, types.FunctionType):
            one = patching.original_of(one)
            if one.__code__.co_filename.startswith("<string>") and not (made and key in _GENERATED):
                return False
            if not _is_known(one.__code__):
                return False
        elif isinstance(one, _FUNCTIONAL):
            waiting += _behind(one)
    if made or key.startswith("__") or not hasattr(builtins, key):
        return True
    # The SDK finds it before the builtin of that name.
    return member is getattr(builtins, key) or (
        isinstance(member, types.ModuleType) and member.__name__ == "{}.{}".format(place, key)
    )


def _assigned(code: types.CodeType) -> Set[str]:
    """The globals that a module's own functions may assign."""
    store = opcode.opmap["STORE_GLOBAL"]
    return {each.co_names[index] for each in _all(code) for index in _arguments(each, store)}


_ONE_LITERAL = re.compile(
    re.escape(bytes([opcode.opmap["LOAD_CONST"]]))
    + b"(.)"
    + re.escape(bytes([opcode.opmap["STORE_NAME"]]))
    + b"(.)",
    re.DOTALL,
)


def _literals(body: types.CodeType) -> Iterator[Tuple[str, Any]]:
    """The names that a module or class gives a literal."""
    written = body.co_code
    for match in _ONE_LITERAL.finditer(written):
        at = match.start()
        if at % 2 or (at and written[at - 2] == _EXTENDED):
            continue
        name, literal = body.co_names[match[2][0]], body.co_consts[match[1][0]]
        if isinstance(literal, _LITERALS):
            yield name, literal


def attributes_set(code: types.CodeType) -> Set[str]:
    """The attributes that a module's code sets, of whatever object."""
    store = opcode.opmap["STORE_ATTR"]
    return {each.co_names[index] for each in _all(code) for index in _arguments(each, store)}
