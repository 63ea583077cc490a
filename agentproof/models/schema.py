"""JSON Schemas (2020-12) of every kind of file, generated from the models.

`python -m agentproof.models.schema DIRECTORY` writes them; a test holds `schemas/` to them. A schema
says less than the checker requires: the one encoding, digests and order are beyond it.
"""

import ast
import importlib
import inspect
import itertools
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from ._wire import BY_PYDANTIC, Wire, encode

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


class _Generator(GenerateJsonSchema):
    """A field with a default is absent or has another value; it is never null (rule 2 of the encoding)."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        inner = schema["schema"]
        if inner["type"] == "nullable":
            return self.generate_inner(inner["schema"])
        default = schema["default"]
        absent = {"default": list(default) if isinstance(default, tuple) else default}
        return {**self.generate_inner(inner), **absent}


def schemas() -> dict[str, bytes]:
    """File name to content, for every schema."""
    found = {"value.schema.json": encode(_VALUE), "state.schema.json": encode(_STATE)}
    for name, (module, model) in FILES.items():
        wire = getattr(importlib.import_module(module), model)
        with built_by_pydantic():
            found[f"{name}.schema.json"] = encode(_schema(name, wire))
    return found


@contextmanager
def built_by_pydantic() -> Iterator[None]:
    """Let pydantic build every wire type anew: names and descriptions are in its own notes alone."""
    token = BY_PYDANTIC.set(True)
    try:
        for each in _wires():
            if "__pydantic_core_schema__" in vars(each):
                del each.__pydantic_core_schema__
        yield
    finally:
        BY_PYDANTIC.reset(token)


def _schema(name: str, model: type[Wire]) -> Schema:
    model.model_rebuild(force=True)
    schema = model.model_json_schema(schema_generator=_Generator, by_alias=True, mode="validation")
    documented = {each.__name__: each for each in _wires()}
    for shape in (schema, *schema.get("$defs", {}).values()):
        wire = documented.get(shape.get("title", ""))
        if wire is None:
            continue
        for field, text in _field_docs(wire).items():
            key = wire.model_fields[field].alias or field
            if key in shape.get("properties", {}):
                shape["properties"][key] = {**shape["properties"][key], "description": text}
    linked: Schema = _link_values(schema)
    return {"$schema": DIALECT, "$id": f"{name}.schema.json", **linked}


def _link_values(part: Any) -> Any:  # Any: a part of a JSON Schema
    """pydantic cannot refer to another file, so `Value` marks its place and is linked here."""
    if isinstance(part, list):
        return [_link_values(item) for item in part]
    if isinstance(part, dict):
        if part.get("format") == "agentproof-value":
            part = {key: item for key, item in part.items() if key not in {"format", "title"}}
            return {"$ref": "value.schema.json", **part}
        return {key: _link_values(item) for key, item in part.items()}
    return part


def _wires(root: type[Wire] = Wire) -> Iterator[type[Wire]]:
    for each in root.__subclasses__():
        yield each
        yield from _wires(each)


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
