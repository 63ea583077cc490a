"""The committed JSON Schemas are those of the models, and accept what the models write."""

import json
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing
from hypothesis import given

from agentproof.bundle.store import find_bundles, read_bundle
from agentproof.models.schema import schemas
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


@pytest.mark.parametrize(
    "place", find_bundles(ROOT / "bundles"), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_every_json_file_of_the_committed_bundles_validates(place: Path) -> None:
    bundle = read_bundle(place)
    files = {
        "manifest": [bundle.manifest],
        "trace": [data for path, data in bundle.members.items() if path.startswith("traces/")],
        "state": [data for path, data in bundle.members.items() if path.startswith("states/")],
        "envelope": [*bundle.attestations.values()],
    }
    for name, documents in files.items():
        assert documents, name
        for document in map(json.loads, documents):
            if name == "trace":
                _validate_events(document)
            validator(name).validate(document)


def _validate_events(trace: dict[str, Any]) -> None:  # Any: JSON
    """Each event by the schema of its kind: what the trace's `oneOf` comes to, which tries all of them."""
    schema = validator("trace").schema
    kinds = schema["properties"]["events"]["items"]["discriminator"]["mapping"]
    for kind, events in groupby(sorted(trace["events"], key=itemgetter("kind")), itemgetter("kind")):
        own = validator("trace").evolve(
            schema={**schema["$defs"][kinds[kind].rpartition("/")[2]], "$defs": schema["$defs"]}
        )
        assert all(map(own.is_valid, events)), kind
    trace["events"] = trace["events"][:1]
