"""Values with typed fields, validated by pydantic-core.

Pydantic understands every annotation of Python; what is written here uses a dozen. To import pydantic and
to let it look at our types took a third of a short check, so that its validators are used without it. A
field is one of these, and `tests/unit/test_core.py` holds what is built for them to what pydantic builds:

    str, int, bool, Any          each as it is: strict, without NaN
    Literal[...]                 one of these
    tuple[X, ...]                a list; validation stops at the first wrong item
    X | None                     null, too
    A | B | ...                  models that are told apart by their field `kind`
    a subclass of Model          an object without other keys
    Annotated[X, Limits(...)]    within limits
    Annotated[X, function]       what the function returns; it raises ValueError
"""

import builtins
import functools
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, cast, dataclass_transform, get_args, get_origin

from pydantic_core import PydanticCustomError, SchemaValidator

if TYPE_CHECKING:
    from pydantic_core import CoreSchema
else:
    CoreSchema = dict  # what it is, but for type checkers: see `agentproof.cli.group`


@dataclass(frozen=True)
class Limits:
    """What is demanded of a text, a number or a list beyond its type."""

    pattern: str | None = None
    """A regular expression that finds something in the text."""
    min_length: int | None = None
    max_length: int | None = None
    ge: int | None = None
    le: int | None = None

    def given(self) -> dict[str, Any]:  # Any: numbers and texts
        """Those that are set, under the names that pydantic-core has for them."""
        return {name: limit for name, limit in vars(self).items() if limit is not None}


REQUIRED = object()
"""The default of a field without one."""


@dataclass(frozen=True)
class Field:
    """A field of a model."""

    annotation: Any  # Any: a type expression
    default: Any  # Any: of the field's type, or REQUIRED

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is REQUIRED


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Model:
    """An immutable value; its fields are the annotations of its class and of those above it."""

    # What pydantic-core sets on an instance, under the names that pydantic has for it.
    __slots__ = ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")
    __pydantic_fields_set__: set[str]

    def __init__(self, /, **given: Any) -> None:  # Any: whatever the fields' types are
        """Raises pydantic_core.ValidationError."""
        validator_of(type(self)).validate_python(given, self_instance=self)

    def hold(self) -> None:
        """Demand of the whole what no single field says; raises ValueError."""

    def fields_given(self) -> set[str]:
        """The names of the fields that were given, whether or not they have their default."""
        return self.__pydantic_fields_set__

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: a {type(self).__name__} does not change")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name}: a {type(self).__name__} does not change")

    def __setstate__(
        self, state: tuple[dict[str, Any], dict[str, Any]]
    ) -> None:  # Any: fields, from a pickle
        for part in state:
            for name, value in part.items():
                object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={item!r}' for key, item in self.__dict__.items())})"


_fields: dict[type[Model], Mapping[str, Field]] = {}


def fields_of(model: type[Model]) -> Mapping[str, Field]:
    """The fields of a model by name, those of its bases first."""
    if model in _fields:
        return _fields[model]
    found: dict[str, Field] = {}
    for base in reversed(model.__mro__[: model.__mro__.index(Model)]):
        own = base.__annotations__
        if any(isinstance(each, str) for each in own.values()):
            known = typing.get_type_hints(base, include_extras=True)
            own = {name: known[name] for name in own}
        for name, annotation in own.items():
            origin: Any = get_origin(annotation)  # Any: mypy says that it is never ClassVar
            if origin is not ClassVar:
                found[name] = Field(annotation, vars(base).get(name, REQUIRED))
    return _fields.setdefault(model, found)


def validator_of(model: type[Model]) -> SchemaValidator:
    """What validates this model, built when it is first asked for."""
    found: SchemaValidator | None = vars(model).get("__pydantic_validator__")
    if found is None:
        with _building:
            found = SchemaValidator(_of_model(model))
        # Under these names pydantic-core looks for the validator of a model that is part of another.
        model.__pydantic_validator__ = found  # type: ignore[attr-defined]
        model.__pydantic_complete__ = True  # type: ignore[attr-defined]
    return found


_SCALARS: Mapping[Any, CoreSchema] = {  # Any: type expressions
    str: {"type": "str"},
    int: {"type": "int"},
    bool: {"type": "bool"},
    Any: {"type": "any"},
}
_building = RLock()
_above: list[type[Model]] = []
"""The models whose fields are being looked at."""
_schemas: dict[type[Model], CoreSchema] = {}


def _of_model(model: type[Model]) -> CoreSchema:
    if model in _schemas:
        return _schemas[model]
    _above.append(model)
    parts: dict[str, Any] = {}  # Any: here and below, typed dicts of pydantic-core's that cannot be imported
    for name, field in fields_of(model).items():
        part = _of(field.annotation)
        if not field.is_required:
            part = {"type": "default", "schema": part, "default": field.default}
        parts[name] = {"type": "model-field", "schema": part}
    _above.pop()
    schema: CoreSchema = {
        "type": "model",
        "cls": model,
        "schema": {"type": "model-fields", "fields": parts, "model_name": model.__name__},
        # What is parsed holds dicts and lists where a model holds models and tuples.
        "strict": False,
        "config": {"strict": True, "allow_inf_nan": False, "extra_fields_behavior": "forbid"},
    }
    if model.hold is not Model.hold:
        schema = _after(_held, schema)
    return _schemas.setdefault(model, schema)


def _after(function: Callable[[Any], Any], schema: CoreSchema) -> CoreSchema:
    return {"type": "function-after", "function": {"type": "no-info", "function": function}, "schema": schema}


def _plain(function: Callable[[Any], Any]) -> CoreSchema:
    return {"type": "function-plain", "function": {"type": "no-info", "function": function}}


def _held(value: Model) -> Model:
    value.hold()
    return value


@functools.cache
def _of(annotation: Any) -> CoreSchema:  # Any: a type expression
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if annotation in _above:
        # A model that holds itself: its validator is there when the first value is.
        return _plain(lambda value: validator_of(annotation).validate_python(value))
    if _is_model(annotation):
        validator_of(annotation)
        return _of_model(annotation)
    return _of_expression(annotation, get_origin(annotation), get_args(annotation))


# Any: type expressions and what they are made of.
def _of_expression(annotation: Any, origin: Any, arguments: tuple[Any, ...]) -> CoreSchema:
    match origin, arguments:
        case (typing.Annotated, [inner, *_]):
            return functools.reduce(_demanding, annotation.__metadata__, _of(inner))
        case (typing.Literal, [first, *_]):
            # Python says that False is 0, so that being one of these is not enough.
            one_of: CoreSchema = {"type": "literal", "expected": list(arguments)}
            kind = _SCALARS[type(first)]
            return one_of if isinstance(first, str) else {"type": "chain", "steps": [kind, one_of]}
        case (typing.Union | types.UnionType, [inner, types.NoneType]):
            return {"type": "nullable", "schema": _of(inner)}
        case (typing.Union | types.UnionType, _) if all(map(_is_model, arguments)):
            return _plain(_of_kinds(arguments))
        case (builtins.tuple, [inner, builtins.Ellipsis]):
            # Each error costs a kilobyte.
            items = [_of(inner)]
            lax = {"strict": False, "variadic_item_index": 0, "fail_fast": True}
            return cast(CoreSchema, {"type": "tuple", "items_schema": items, **lax})
    raise TypeError(f"no field is of type {annotation!r}")


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Model)


def _demanding(schema: CoreSchema, demand: object) -> CoreSchema:
    if isinstance(demand, Limits):
        return cast(CoreSchema, {**schema, **demand.given()})
    if isinstance(demand, types.FunctionType):
        return _after(demand, schema)
    raise TypeError(f"no field is annotated with {demand!r}")


def _of_kinds(models: tuple[type[Model], ...]) -> Callable[[object], Model]:
    """Reads one of these; only the validators of kinds that occur are built."""
    by_kind = kinds_of(models)

    def read(value: Any) -> Model:  # Any: a part of a JSON document, or a model
        if type(value) in models:
            found: Model = value
            return found
        kind = value.get("kind") if isinstance(value, dict) else None
        model = by_kind.get(kind) if isinstance(kind, str) else None
        if model is None:
            raise PydanticCustomError("unknown_kind", "no event of a known kind")
        parsed: Model = validator_of(model).validate_python(value)
        return parsed

    return read


def kinds_of(models: tuple[type[Model], ...]) -> Mapping[str, type[Model]]:
    """Models by their kind."""
    return {get_args(fields_of(each)["kind"].annotation)[0]: each for each in models}
