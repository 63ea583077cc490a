"""Builds the validators of wire types, in a fifth of the time that pydantic takes for them.

Pydantic understands every annotation of Python; a wire type uses a dozen. A short check spent a tenth
of its time on that difference. What is built here is, but for pydantic's own notes in it, what pydantic
builds (`tests/unit/test_wire.py` compares them for every wire type); a type that uses anything else is
left to pydantic.
"""

import builtins
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

import annotated_types
from pydantic import AfterValidator, BaseModel, StringConstraints, WithJsonSchema
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

_CONFIG: Mapping[str, Any] = {  # Any: the values of a ConfigDict
    "extra": "forbid",
    "frozen": True,
    "strict": True,
    "allow_inf_nan": False,
    "defer_build": True,
}
"""What every wire type has; one with another configuration is left to pydantic."""

_BOUNDS = {
    annotated_types.Ge: "ge",
    annotated_types.Le: "le",
    annotated_types.MinLen: "min_length",
    annotated_types.MaxLen: "max_length",
}


_SCALARS: Mapping[Any, Callable[[], CoreSchema]] = {  # Any: type expressions
    str: core_schema.str_schema,
    int: core_schema.int_schema,
    bool: core_schema.bool_schema,
    Any: core_schema.any_schema,
}


class _OtherError(Exception):
    """An annotation that only pydantic understands."""


def build_schema(model: type[BaseModel]) -> CoreSchema | None:
    """The core schema of a wire type; None where pydantic must build it."""
    builder = _Builder()
    try:
        schema = builder.of_model(model)
    except _OtherError:
        return None
    return core_schema.definitions_schema(schema, builder.definitions) if builder.definitions else schema


class _Builder:
    """Builds one type with all that it holds."""

    def __init__(self) -> None:
        self.definitions: list[CoreSchema] = []
        """Types that hold themselves."""
        self._above: list[type[BaseModel]] = []
        """The types whose fields are being looked at."""
        self._again: set[type[BaseModel]] = set()
        """Those that were met below themselves."""

    def of_model(self, model: type[BaseModel]) -> CoreSchema:
        """A wire type."""
        reference = f"{model.__module__}.{model.__qualname__}"
        if model in self._again or model in self._above:
            self._again.add(model)
            return core_schema.definition_reference_schema(reference)
        decorators = model.__pydantic_decorators__
        plain = not (decorators.model_validators or decorators.field_validators or decorators.validators)
        if model.model_config != _CONFIG or not plain or model.__pydantic_post_init__ is not None:
            raise _OtherError
        self._above.append(model)
        fields = {name: self._of_field(field) for name, field in model.model_fields.items()}
        self._above.pop()
        schema = core_schema.model_schema(
            model,
            core_schema.model_fields_schema(fields, model_name=model.__name__, computed_fields=[]),
            custom_init=False,
            root_model=False,
            config=core_schema.CoreConfig(
                title=model.__name__, strict=True, allow_inf_nan=False, extra_fields_behavior="forbid"
            ),
            ref=reference if model in self._again else None,
        )
        if model not in self._again:
            return schema
        self.definitions.append(schema)
        return core_schema.definition_reference_schema(reference)

    def _of_field(self, field: FieldInfo) -> core_schema.ModelField:
        schema = self._constrained(self._of(field.annotation), field.metadata)
        if not field.is_required():
            if field.default_factory is not None:
                raise _OtherError
            schema = core_schema.with_default_schema(schema, default=field.default)
        alias = field.alias
        if (field.validation_alias, field.serialization_alias) != (alias, alias):
            raise _OtherError
        return core_schema.model_field(schema, validation_alias=alias, serialization_alias=alias)

    def _of(self, annotation: Any) -> CoreSchema:  # Any: a type expression
        if annotation in _SCALARS:
            return _SCALARS[annotation]()
        origin, arguments = get_origin(annotation), get_args(annotation)
        match origin, arguments:
            case (typing.Annotated, [inner, *_]):
                return self._constrained(self._of(inner), annotation.__metadata__)
            case (typing.Literal, _):
                return core_schema.literal_schema(list(arguments))
            case (typing.Union | types.UnionType, [inner, types.NoneType]):
                return core_schema.nullable_schema(self._of(inner))
            case (builtins.tuple, [inner, builtins.Ellipsis]):
                # Validation stops at the first wrong item: each error costs a kilobyte.
                return core_schema.tuple_schema([self._of(inner)], variadic_item_index=0, fail_fast=True)
            case _ if isinstance(annotation, type) and issubclass(annotation, BaseModel):
                return self.of_model(annotation)
            case _:
                raise _OtherError

    # Any: a core schema to fill, and annotations of any type.
    def _constrained(self, schema: Any, metadata: Any) -> CoreSchema:
        for each in metadata:
            kind = type(each)
            if kind is StringConstraints:
                if each != StringConstraints(pattern=each.pattern, max_length=each.max_length):
                    raise _OtherError
                given = {"pattern": each.pattern, "max_length": each.max_length}
                schema |= {name: value for name, value in given.items() if value is not None}
            elif kind in _BOUNDS:
                schema[_BOUNDS[kind]] = getattr(each, _BOUNDS[kind])
            elif kind is FieldInfo:
                schema = self._constrained(schema, each.metadata)
            elif kind is AfterValidator:
                schema = core_schema.no_info_after_validator_function(each.func, schema)
            elif kind is not WithJsonSchema:
                raise _OtherError
        result: CoreSchema = schema
        return result
