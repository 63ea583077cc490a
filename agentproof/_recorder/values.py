"""Values: the recorder's twin of `agentproof/models/values.py` (standard library only).

1. null, booleans, strings, lists and integers up to 2^53-1 are themselves; dicts with text keys too.
2. All else is an object with one `$` key; real keys that begin with `$` are written with `$$`.
3. Models and dataclasses keep their class and fields; other objects are only named (`$opaque`).
4. Nothing of an unknown object is called: no `repr`, no `str`, no property, no `__iter__` of a subclass.
   What an object is, its type says: a mock or a proxy claims another `__class__`.
5. No value is a fault: what cannot be unfolded is only named.
"""

import contextlib
import dataclasses
import datetime
import decimal
import enum
import gc
import json
import math
import pathlib
import types
import uuid
import weakref
from typing import Any, Callable, Dict, List, Tuple

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 60
MAX_NODES = 200_000
MAX_TEXT = 4096

_models: "weakref.WeakKeyDictionary[type, bool]" = weakref.WeakKeyDictionary()
_special: Dict[type, Callable[[Any], Dict[str, Any]]] = {}


def register(cls: type, fields: Callable[[Any], Dict[str, Any]]) -> None:
    """Write instances of `cls` as `$object` with what `fields` gives."""
    _special[cls] = fields


def encode(value: Any, *, wire: Tuple[str, ...] = ()) -> Any:
    """`value` as plain JSON data in the encoding above; it is copied, so later changes do not show.

    Models whose module begins with one of `wire` are written as mappings: the same item may be held as
    a dict or as a model, and that is no difference.
    """
    return _Encoder(wire).encode(value, 0)


def class_name(cls: type) -> str:
    """A class as `module:Qualname`."""
    module = getattr(cls, "__module__", None)
    name = getattr(cls, "__qualname__", None) or "?"
    text = "{}:{}".format(module if isinstance(module, str) and module else "?", name)
    text = "".join("_" if letter.isspace() else letter for letter in text)
    # The module moved in 3.13; the class did not.
    return text.replace("pathlib._local:", "pathlib:")[:400]


def type_name(value: Any) -> str:
    """The class of `value` as `module:Qualname`."""
    return class_name(type(value))


def text(value: Any, limit: int = MAX_TEXT) -> str:
    """A short text for a name or a code: valid Unicode, at most `limit` characters.

    A name that is longer ends in a digest of the whole, so that it is still the same as itself only.
    """
    found = str.__str__(value) if issubclass(type(value), str) else type_name(value)
    found = found.encode("utf-8", "replace").decode("utf-8")
    if limit < MAX_TEXT or len(found) <= limit:
        return found[:limit]
    import hashlib

    return "{}#{}".format(found[: MAX_TEXT - 17], hashlib.sha256(found.encode("utf-8")).hexdigest()[:16])


def optional_text(value: Any) -> Any:
    """`text` of a string, and None for anything else."""
    return text(value) if issubclass(type(value), str) else None


class _Encoder:
    def __init__(self, wire: Tuple[str, ...]) -> None:
        self._wire = wire
        self._nodes = 0
        self._path: List[int] = []

    def encode(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return _string(value)
        if kind is int:
            return _integer(value)
        if kind is float:
            return {"$float": float.__repr__(value)}
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES or id(value) in self._path:
            return {"$opaque": class_name(kind)}
        self._path.append(id(value))
        try:
            return self._compound(value, kind, depth + 1)
        except Exception:
            return {"$opaque": class_name(kind)}
        finally:
            self._path.pop()

    def _compound(self, value: Any, kind: type, depth: int) -> Any:
        if kind is list:
            return [self.encode(item, depth) for item in list(value)]
        if issubclass(kind, dict):
            return self._mapping(value, depth)
        for base in kind.__mro__:
            if base in _special:
                return self._object(kind, _special[base](value), depth)
        if issubclass(kind, enum.Enum):
            return self._object(kind, {name: _held(value)["_{}_".format(name)] for name in _OF_ENUM}, depth)
        if issubclass(kind, str):
            return _string(str.__str__(value))
        if issubclass(kind, int):
            return _integer(int.__index__(value))
        if issubclass(kind, float):
            return {"$float": float.__repr__(value)}
        for plain in (bytes, bytearray):
            if issubclass(kind, plain):
                return {"$bytes": plain.hex(value)}
        if issubclass(kind, tuple):
            items = list(tuple.__iter__(value))
            names = next((vars(base)["_fields"] for base in kind.__mro__ if "_fields" in vars(base)), None)
            if isinstance(names, tuple) and len(names) == len(items):
                return self._object(kind, dict(zip(names, items, strict=True)), depth)
            return self._object(kind, {"items": items}, depth)
        if issubclass(kind, list):
            return self._object(kind, {"items": list(list.__iter__(value))}, depth)
        for unordered in (set, frozenset):
            if issubclass(kind, unordered):
                found = [self.encode(item, depth) for item in list(unordered.__iter__(value))]
                found.sort(key=lambda item: json.dumps(item, sort_keys=True))
                return {"$object": class_name(kind), "fields": {"items": found}}
        fields = _fields(value, kind)
        if fields is not None and self._wire and kind.__module__.startswith(self._wire):
            return self._mapping(fields, depth)
        return {"$opaque": class_name(kind)} if fields is None else self._object(kind, fields, depth)

    def _mapping(self, value: Dict[Any, Any], depth: int) -> Any:
        items = list(dict.items(value))
        if all(type(key) is str for key, _ in items) and all(_is_unicode(key) for key, _ in items):
            return {
                (f"${key}" if key.startswith("$") else key): self.encode(item, depth) for key, item in items
            }
        pairs = [[self.encode(key, depth), self.encode(item, depth)] for key, item in items]
        return {"$object": class_name(type(value)), "fields": {"items": pairs}}

    def _object(self, kind: type, fields: Dict[str, Any], depth: int) -> Any:
        return {
            "$object": class_name(kind),
            "fields": {
                (f"${name}" if name.startswith("$") else name): self.encode(item, depth)
                for name, item in fields.items()
            },
        }


_OF_ENUM = ("name", "value")


def _held(value: Any) -> Dict[str, Any]:
    """The attributes that an object itself holds, by no code of its class."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return held if type(held) is dict else {}


def _slot(value: Any, kind: type, name: str) -> Any:
    """What is in a slot; raises AttributeError where there is none, or nothing in it."""
    for base in kind.__mro__:
        found = vars(base).get(name)
        if isinstance(found, types.MemberDescriptorType):
            return found.__get__(value, kind)
    raise AttributeError(name)


def _fields(value: Any, kind: type) -> Any:
    """The fields of a model, dataclass, exception or well-known object; None for anything else."""
    if _is_model(kind):
        return _model_fields(value, kind)
    if dataclasses.is_dataclass(kind) and not issubclass(kind, type):
        return _dataclass_fields(value, kind)
    if issubclass(kind, BaseException):
        return {"args": list(_ARGUMENTS(value))}
    for base, name, told in _TOLD_BY:
        if issubclass(kind, base):
            return {name: told(value)}
    if issubclass(kind, type):
        return {"name": class_name(value)}
    if kind is types.MappingProxyType:
        return _proxied(value)
    return None


_ARGUMENTS: Callable[[Any], Any] = vars(BaseException)["args"].__get__
_TOLD_BY: Tuple[Tuple[Any, str, Callable[[Any], Any]], ...] = (
    (datetime.datetime, "iso", datetime.datetime.isoformat),
    (datetime.date, "iso", datetime.date.isoformat),
    (datetime.time, "iso", datetime.time.isoformat),
    (datetime.timedelta, "seconds", datetime.timedelta.total_seconds),
    (uuid.UUID, "text", uuid.UUID.__str__),
    (decimal.Decimal, "text", decimal.Decimal.__str__),
    (pathlib.PurePath, "text", pathlib.PurePath.__str__),
)
"""Well-known classes, each with what tells of its objects whatever a subclass makes of them."""


def _dataclass_fields(value: Any, kind: type) -> Dict[str, Any]:
    held = _held(value)
    fields: Dict[str, Any] = {}
    for name in [field.name for field in dataclasses.fields(kind)]:
        if name in held:
            fields[name] = held[name]
        else:
            with contextlib.suppress(AttributeError):
                fields[name] = _slot(value, kind, name)
    return fields


def _proxied(value: Any) -> Any:
    """What a `mappingproxy` shows, where that is a plain dict."""
    for found in gc.get_referents(value):
        if type(found) is dict:
            return {"items": dict(found)}
    return None


def _is_model(kind: type) -> bool:
    """True for a class of pydantic's models, told by its own marks (the recorder imports no pydantic)."""
    known = _models.get(kind)
    if known is None:
        known = _models[kind] = any("__pydantic_fields_set__" in vars(base) for base in kind.__mro__)
    return known


def _model_fields(value: Any, kind: type) -> Any:
    held = _held(value)
    given = _model_part(value, kind, "__pydantic_fields_set__")
    given = given if isinstance(given, (set, frozenset)) else frozenset(held)
    # A field that nobody set and that is None tells the version of the model, not what happened.
    fields = {name: item for name, item in list(held.items()) if name in given or item is not None}
    extra = _model_part(value, kind, "__pydantic_extra__")
    if type(extra) is dict:
        fields.update({name: item for name, item in extra.items() if type(name) is str})
    return fields


def _model_part(value: Any, kind: type, name: str) -> Any:
    try:
        return _slot(value, kind, name)
    except AttributeError:
        return _held(value).get(name)


def _is_unicode(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _string(value: str) -> Any:
    return value if _is_unicode(value) else {"$str": [ord(letter) for letter in value]}


def _integer(value: int) -> Any:
    if -MAX_INTEGER <= value <= MAX_INTEGER:
        return value
    if value.bit_length() > 14_000:  # int() and str() refuse more than 4,300 digits
        return {"$opaque": "builtins:int"}
    return {"$int": str(value)}


def freeze_state(document: Any) -> Any:
    """A state's JSON as it is, copied at once: what `to_json` gives shares lists with the live state.

    What JSON cannot hold (objects in the caller's context, NaN, broken text) is written as a value.
    """
    return _freeze(document, 0)


def _freeze(document: Any, depth: int) -> Any:
    kind = type(document)
    if document is None or kind is bool or kind is int:
        return document
    if kind is str:
        return _string(document)
    if kind is float:
        return document if math.isfinite(document) else {"$float": float.__repr__(document)}
    if depth > 150:
        return {"$opaque": class_name(kind)}
    if kind is list or kind is tuple:
        return [_freeze(item, depth + 1) for item in document]
    if issubclass(kind, dict):
        return {_key(key): _freeze(item, depth + 1) for key, item in list(dict.items(document))}
    return encode(document)


def _key(key: Any) -> str:
    if type(key) is str and _is_unicode(key):
        return key
    return json.dumps(encode(key), sort_keys=True)


_MOST_CAUSES = 3


def failure(error: BaseException, depth: int = 0) -> Dict[str, Any]:
    """An exception as a `Failure` of the event vocabulary, without `data`."""
    kind = type(error)
    found: Dict[str, Any] = {"type": class_name(kind), "message": _message(error)}
    bases = [class_name(base) for base in kind.__mro__[1:] if base is not object]
    if bases:
        found["bases"] = bases
    if error.__cause__ is not None and depth < _MOST_CAUSES:
        found["cause"] = failure(error.__cause__, depth + 1)
    return found


def _message(error: BaseException) -> Any:
    owner = next((base for base in type(error).__mro__ if "__str__" in vars(base)), BaseException)
    plain: Tuple[type, ...] = (str, int, float, bool, type(None), bytes)
    given = _ARGUMENTS(error)
    try:
        # `__str__` of the script's own classes is the script's code: it is not run by an observer.
        if owner.__module__ != "__main__" and all(type(item) in plain for item in given):
            return encode(str(error))
    except Exception:
        pass
    return encode(given[0] if len(given) == 1 else list(given))
