"""The recorder's values are those that the models accept."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

from agentproof._recorder.values import encode, failure, freeze_state
from agentproof.models.events import Failure
from agentproof.models.values import check_value
from agentproof.models.wire import encode as encode_wire


class Silent:
    """An unknown object."""

    def __repr__(self) -> str:
        raise AssertionError("an unknown object was asked for its repr")

    __str__ = __repr__


LEAVES = (
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text(alphabet=some.characters())
    | some.binary()
    | some.builds(Silent)
)
THINGS = some.recursive(
    LEAVES,
    lambda inner: (
        some.lists(inner)
        | some.dictionaries(some.text(alphabet=some.characters()), inner)
        | some.dictionaries(some.integers(), inner)
        | some.tuples(inner)
    ),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(THINGS)
def test_whatever_a_program_holds_becomes_a_well_formed_value(thing: Any) -> None:
    """agentproof.models.values, rules 1 to 4."""
    value = encode(thing)
    assert check_value(json.loads(json.dumps(value))) == value


@settings(max_examples=40, deadline=None)
@given(THINGS)
def test_a_state_can_always_be_written_in_the_one_encoding(thing: Any) -> None:
    encode_wire(freeze_state({"context": thing}))


@settings(max_examples=40, deadline=None)
@given(THINGS)
def test_a_failure_is_one_whatever_it_was_raised_with(thing: Any) -> None:
    error = ValueError(thing)
    error.__cause__ = KeyError(thing)
    Failure.from_shape(failure(error))
