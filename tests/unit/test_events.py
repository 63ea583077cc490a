"""A kind of event is complete where it is defined: words, schema, and its part in the evidence."""

import ast
import inspect
import json
from pathlib import Path
from typing import get_args

import pytest

from agentproof.models import projection
from agentproof.models.events import KINDS, Event

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "trace.schema.json").read_bytes())
PROJECTED = {
    node.cls.id
    for node in ast.walk(ast.parse(inspect.getsource(projection)))
    if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name)
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_has_its_own_words(kind: type[Event]) -> None:
    assert kind.words is not Event.words


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_is_in_the_schema(kind: type[Event]) -> None:
    (name,) = get_args(kind.model_fields["kind"].annotation)
    assert SCHEMA["$defs"][kind.__name__]["properties"]["kind"]["const"] == name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_is_read_by_the_evidence_projection_or_says_why_not(kind: type[Event]) -> None:
    assert (kind.no_evidence is None) == (kind.__name__ in PROJECTED)


def test_no_two_classes_are_of_one_kind() -> None:
    names = [get_args(kind.model_fields["kind"].annotation) for kind in KINDS]
    assert len(set(names)) == len(names)
