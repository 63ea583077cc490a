"""JSON Schemas (2020-12) of every kind of file, generated from the models.

`python -m agentproof.models.schema DIRECTORY` writes them; a test holds `schemas/` to them. A schema
says less than the checker requires: the canonical encoding, digests and order are beyond it.
"""

import ast
import importlib
import inspect
import itertools
import sys
import textwrap
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from .wire import Wire, encode

Schema = dict[str, Any]  # Any: a JSON Schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

FILES = {
    "manifest": ("agentproof.models.manifest", "Manifest"),
    "trace": ("agentproof.models.trace", "Trace"),
    "statement": ("agentproof.models.statement", "Statement"),
    "envelope": ("agentproof.models.statement", "Envelope"),
    "report": ("agentproof.models.report", "Report"),
    "exchanges": ("agentproof.models.exchanges", "Exchanges"),
    "explanation": ("agentproof.models.explanation", "Explanation"),
}
"""Each schema's name, and the model that it is generated from."""


def schemas() -> dict[str, bytes]:
    """File name to content, for every schema."""
    found = {"value.schema.json": encode(_VALUE), "state.schema.json": encode(_STATE)}
    for name, (module, model) in FILES.items():
        wire = getattr(importlib.import_module(module), model)
        found[f"{name}.schema.json"] = schema_of(wire, name=name)
    return found


def schema_of(model: type[Wire], *, name: str) -> bytes:
    """The schema of one type, which refers to `value.schema.json` beside it."""
    shape = model.model_json_schema(schema_generator=_Writer)
    document = {"$schema": DIALECT, "$id": f"{name}.schema.json", **shape}
    # Pydantic takes any other `$ref` for one of its own definitions; of a whole file both mean the same.
    return encode(document).replace(b'"$dynamicRef"', b'"$ref"')


class _Writer(GenerateJsonSchema):
    """Knows what the encoding demands beyond the types, and what is written below the fields."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        """A field with a default is absent or has another value, never null (rule 2 of the encoding)."""
        if schema["default"] is None and schema["schema"]["type"] == "nullable":
            return self.generate_inner(schema["schema"]["schema"])
        return super().default_schema(schema)

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        """With the text below each field."""
        shape = super().model_schema(schema)
        docs = _field_docs(schema["cls"])
        for name, field in shape.get("properties", {}).items():
            if name in docs:
                field["description"] = docs[name]
        return shape


def _field_docs(model: type[Any]) -> dict[str, str]:
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
