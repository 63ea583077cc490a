"""Values: rules of `agentproof.models.values`."""

import time

import pytest
from hypothesis import given

from agentproof._recorder import values as recorder
from agentproof.models.values import check_value, from_state, short_text

from .test_wire import JSON


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**53 - 1,
        "text",
        [1, [2]],
        {"a": {"b": None}},
        {"$float": "0.7"},
        {"$float": "1e-07"},
        {"$float": "nan"},
        {"$float": "-inf"},
        {"$int": "-9007199254740992"},
        {"$bytes": "00ff"},
        {"$str": [0xD800, 65]},
        {"$opaque": "builtins:object"},
        {"$object": "pkg.mod:Class.Inner", "fields": {"a": 1, "$$x": 2}},
        {"$$float": "not a float"},
    ],
)
def test_well_formed(value: object) -> None:
    assert check_value(value) == value


@pytest.mark.parametrize(
    "value",
    [
        0.5,
        2**53,
        {"$float": "0.7", "x": 1},
        {"$float": 0.7},
        {"$float": "1_0"},
        {"$int": "12"},
        {"$int": "0" * 20},
        {"$bytes": "0"},
        {"$str": [65, 66]},
        {"$str": [0xD800, True]},
        {"$opaque": "nowhere"},
        {"$object": "a:B"},
        {"$object": "a:B", "fields": {"$x": 1}},
        {"$unknown": 1},
        (1, 2),
    ],
)
def test_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"value|large|well-formed|escaped"):
        check_value(value)


@given(JSON)
def test_every_part_of_a_state_is_a_value(document: object) -> None:
    check_value(from_state(document))


@pytest.mark.parametrize("text", ["", "call_1", "x" * 4096, "x" * 4097, "ü" * 5000, "\ud800" * 5000])
def test_the_recorder_and_the_host_shorten_a_name_alike(text: str) -> None:
    assert short_text(text) == recorder.text(text) == recorder.optional_text(text)
    assert len(short_text(text)) <= 4096


def test_two_long_names_that_begin_alike_stay_two() -> None:
    one, other = ("x" * 5000 + letter for letter in "ab")
    assert short_text(one) != short_text(other)
    assert short_text(one)[:4000] == short_text(other)[:4000]
    assert recorder.text(one, 1000) == recorder.text(other, 1000) == "x" * 1000


def test_a_long_key_above_many_values_is_not_copied_for_each() -> None:
    value = {"k" * 4_000_000: {str(number): number for number in range(100_000)}}
    begun = time.process_time()
    assert check_value(value) is value
    assert time.process_time() - begun < 5


def test_what_is_wrong_is_named_by_where_it_is() -> None:
    with pytest.raises(ValueError, match=r"^/a/1/fields/b: not a well-formed \$float$"):
        check_value({"a": [0, {"$object": "m:C", "fields": {"b": {"$float": 1}}}]})
