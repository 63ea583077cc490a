"""The committed JSON Schemas are those of the models, and accept what the models write."""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing
from hypothesis import given

import agentproof
from agentproof.models._core import build_schema
from agentproof.models._wire import Wire
from agentproof.models.schema import built_by_pydantic, schemas
from agentproof.models.values import check_value, from_state

from .test_wire import JSON

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "schemas"


@cache
def validator(name: str) -> Any:  # Any: jsonschema's validators share no public type
    """A validator for one of the committed schemas."""
    resources = [
        (path.name, referencing.Resource.from_contents(json.loads(path.read_bytes())))
        for path in COMMITTED.glob("*.json")
    ]
    registry: referencing.Registry[Any] = referencing.Registry().with_resources(resources)
    schema = json.loads((COMMITTED / f"{name}.schema.json").read_bytes())
    return jsonschema.Draft202012Validator(schema, registry=registry)


def test_the_committed_schemas_are_the_generated_ones() -> None:
    generated = schemas()
    assert {path.name for path in COMMITTED.iterdir()} == generated.keys()
    for name, content in generated.items():
        assert (COMMITTED / name).read_bytes() == content, (
            f"python -m agentproof.models.schema schemas ({name})"
        )


@pytest.mark.parametrize("name", sorted(schemas()))
def test_a_schema_is_valid_itself(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schemas()[name]))


@given(JSON)
def test_the_value_schema_accepts_every_value(document: object) -> None:
    assert validator("value").is_valid(check_value(from_state(document)))


@pytest.mark.parametrize("value", [0.5, {"$float": 0.5}, {"$nothing": 1}, {"$object": "a:B"}])
def test_the_value_schema_refuses_what_is_no_value(value: object) -> None:
    assert not validator("value").is_valid(value)


BUNDLES = sorted(path.parent for path in (ROOT / "bundles").glob("*/*/manifest.json"))


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_json_file_of_the_committed_bundles_validates(bundle: Path) -> None:
    files = {
        "manifest": [bundle / "manifest.json"],
        "trace": [*bundle.glob("traces/*.json")],
        "state": [*bundle.glob("states/*.json")],
        "envelope": [*bundle.glob("attestations/*.json")],
    }
    for name, paths in files.items():
        assert paths, name
        for path in paths:
            validator(name).validate(json.loads(path.read_bytes()))


def _wire_types(root: type[Wire] = Wire) -> Iterator[type[Wire]]:
    for each in root.__subclasses__():
        yield each
        yield from _wire_types(each)


def _without_notes(part: Any, definitions: dict[str, Any], above: tuple[str, ...] = ()) -> Any:
    """A core schema without what pydantic notes for itself; each reference filled in, but in itself.

    Any: parts of core schemas.
    """
    if isinstance(part, list):
        return [_without_notes(item, definitions, above) for item in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "definitions":
        return _without_notes(part["schema"], {each["ref"]: each for each in part["definitions"]}, above)
    if part.get("type") == "definition-ref":
        reference = part["schema_ref"]
        if reference in above:
            return definitions[reference]["cls"]
        return _without_notes(definitions[reference], definitions, (*above, reference))
    return {
        key: _without_notes(item, definitions, above)
        for key, item in part.items()
        if key not in {"metadata", "ref"}
    }


def test_wire_types_are_validated_as_pydantic_would() -> None:
    for module in pkgutil.walk_packages(agentproof.__path__, "agentproof."):
        if "._recorder" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    wires = set(_wire_types())
    ours = {wire: build_schema(wire) for wire in wires}
    with built_by_pydantic():
        for wire in wires:
            wire.model_rebuild(force=True)
            if ours[wire] is not None:
                theirs = _without_notes(wire.__pydantic_core_schema__, {})
                assert _without_notes(ours[wire], {}) == theirs, wire
    left = {wire.__name__ for wire, schema in ours.items() if schema is None}
    # Validators of their own, or a union of kinds: not in the way of a check.
    assert left <= {"FinalOutput", "Place", "ToolRuns", "Trace", "ValueAt"}
