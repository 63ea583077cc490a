"""JSON Schemas (2020-12) of every kind of file, generated from the models.

`python -m agentproof.models.schema DIRECTORY` writes them; a test holds `schemas/` to them. A schema
says less than the checker requires: the one encoding, digests and order are beyond it.
"""

import ast
import builtins
import importlib
import inspect
import itertools
import sys
import textwrap
import types
import typing
from pathlib import Path
from typing import Any, get_args, get_origin

from ._core import Field, Limits, fields_of, kinds_of
from .values import Value
from .wire import Wire, encode

Schema = dict[str, Any]  # Any: a JSON Schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

FILES = {
    "manifest": ("agentproof.models.manifest", "Manifest"),
    "trace": ("agentproof.models.trace", "Trace"),
    "statement": ("agentproof.models.statement", "Statement"),
    "envelope": ("agentproof.models.statement", "Envelope"),
    "report": ("agentproof.models.report", "Report"),
}
"""Each schema's name, and the model that it is generated from."""


def schemas() -> dict[str, bytes]:
    """File name to content, for every schema."""
    found = {"value.schema.json": encode(_VALUE), "state.schema.json": encode(_STATE)}
    for name, (module, model) in FILES.items():
        wire = getattr(importlib.import_module(module), model)
        found[f"{name}.schema.json"] = encode(_schema(name, wire))
    return found


def _schema(name: str, model: type[Wire]) -> Schema:
    shapes: dict[str, Schema] = {}
    _define(model, shapes)
    own = shapes.pop(model.__name__)
    return {"$schema": DIALECT, "$id": f"{name}.schema.json", "$defs": shapes, **own}


def _define(model: type[Wire], shapes: dict[str, Schema]) -> None:
    """Add the shape of a type, and of all that it holds, to `shapes`."""
    if model.__name__ in shapes:
        return
    shape = shapes[model.__name__] = {
        "title": model.__name__,
        "type": "object",
        "additionalProperties": False,
    }
    if model.__doc__:
        shape["description"] = inspect.cleandoc(model.__doc__)
    fields, docs = fields_of(model), _field_docs(model)
    if required := [name for name, field in fields.items() if field.is_required]:
        shape["required"] = required
    shape["properties"] = {
        name: _of_field(name, field, shapes) | ({"description": docs[name]} if name in docs else {})
        for name, field in fields.items()
    }


def _of_field(name: str, field: Field, shapes: dict[str, Schema]) -> Schema:
    annotation = field.annotation
    if not field.is_required and types.NoneType in (parts := get_args(annotation)):
        # A field with a default is absent or has another value; it is never null (rule 2 of the encoding).
        annotation = parts[0]
    shape = _of(annotation, shapes)
    if not field.is_required and field.default is not None:
        shape["default"] = list(field.default) if isinstance(field.default, tuple) else field.default
    referred = "$ref" in shape or any("$ref" in part for part in shape.get("anyOf", ()))
    return shape if referred else {"title": name.title().replace("_", " ").strip(), **shape}


_SCALARS = {str: "string", int: "integer", bool: "boolean"}


# Any: a type expression.
def _of(annotation: Any, shapes: dict[str, Schema]) -> Schema:  # noqa: PLR0911  (a table of types)
    if annotation in _SCALARS:
        return {"type": _SCALARS[annotation]}
    if annotation == Value or isinstance(annotation, type):
        return {"$ref": _reference(annotation, shapes)}
    arguments = get_args(annotation)
    match get_origin(annotation), arguments:
        case (typing.Annotated, [inner, Limits() as limits]):
            shape = _of(inner, shapes)
            words = _WORDS[shape["type"]]
            return shape | {words[name]: limit for name, limit in limits.given().items()}
        case (typing.Literal, _):
            one = {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
            return {"type": _SCALARS[type(arguments[0])], **one}
        case (typing.Union | types.UnionType, [inner, types.NoneType]):
            return {"anyOf": [_of(inner, shapes), {"type": "null"}]}
        case (typing.Union | types.UnionType, _):
            references = {kind: _reference(each, shapes) for kind, each in kinds_of(arguments).items()}
            told = {"propertyName": "kind", "mapping": references}
            return {"discriminator": told, "oneOf": [{"$ref": each} for each in references.values()]}
        case (builtins.tuple, [inner, builtins.Ellipsis]):
            return {"type": "array", "items": _of(inner, shapes)}
    raise TypeError(f"no field is of type {annotation!r}")


def _reference(annotation: Any, shapes: dict[str, Schema]) -> str:  # Any: a type expression
    if annotation == Value:
        return "value.schema.json"
    _define(annotation, shapes)
    return f"#/$defs/{annotation.__name__}"


_WORDS = {
    "string": {"pattern": "pattern", "min_length": "minLength", "max_length": "maxLength"},
    "integer": {"ge": "minimum", "le": "maximum"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
}
"""What JSON Schema calls the limits of each type."""


def _field_docs(model: type[Wire]) -> dict[str, str]:
    docs: dict[str, str] = {}
    for each in reversed([cls for cls in model.__mro__ if issubclass(cls, Wire) and cls is not Wire]):
        tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for statement, following in itertools.pairwise(body):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
                and isinstance(following.value.value, str)
            ):
                docs[statement.target.id] = " ".join(following.value.value.split())
    return docs


_VALUE: Schema = {
    "$schema": DIALECT,
    "$id": "value.schema.json",
    "title": "Value",
    "description": "Whatever the observed program holds; see docs/format.md.",
    "anyOf": [
        {"type": ["null", "boolean", "string"]},
        {"type": "integer", "minimum": -(2**53) + 1, "maximum": 2**53 - 1},
        {"type": "array", "items": {"$ref": "#"}},
        {
            "type": "object",
            "propertyNames": {"pattern": r"^(?!\$(?!\$))"},
            "additionalProperties": {"$ref": "#"},
        },
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": {
                "$float": {"type": "string"},
                "$int": {"type": "string", "pattern": r"^-?[1-9][0-9]{15,}$"},
                "$bytes": {"type": "string", "pattern": "^([0-9a-f]{2})*$"},
                "$str": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 1114111}},
                "$opaque": {"type": "string"},
            },
        },
        {
            "type": "object",
            "required": ["$object", "fields"],
            "additionalProperties": False,
            "properties": {
                "$object": {"type": "string"},
                "fields": {
                    "type": "object",
                    "propertyNames": {"pattern": r"^(?!\$(?!\$))"},
                    "additionalProperties": {"$ref": "#"},
                },
            },
        },
    ],
}

_STATE: Schema = {
    "$schema": DIALECT,
    "$id": "state.schema.json",
    "title": "State",
    "description": "A RunState as its to_json() gave it; its shape is the SDK's.",
    "type": "object",
}


def main(arguments: list[str]) -> None:
    """Write every schema into the directory named by the one argument."""
    (directory,) = arguments
    for name, content in schemas().items():
        (Path(directory) / name).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1:])
