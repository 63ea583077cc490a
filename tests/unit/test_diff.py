"""What changed between two documents: the same with and without a look at equal parts first."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentproof.errors import FormatError
from agentproof.models import diff as module
from agentproof.models.diff import ABSENT, Change, diff

LEAVES = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([0.0, 1.0, "", "a", "b/c", "~"])
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b/", "~"]), inner),
    max_leaves=10,
)


@settings(max_examples=200)
@given(JSON, JSON)
def test_looking_at_equal_parts_first_changes_nothing(before: Any, after: Any) -> None:
    fast = list(diff(before, after))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_is_same", lambda _before, _after: False)
        assert list(diff(before, after)) == fast


def test_many_changes_below_a_long_key_are_refused_not_told() -> None:
    before = {"k" * 1_000_000: {str(number): 0 for number in range(1000)}}
    after = {"k" * 1_000_000: {str(number): 1 for number in range(1000)}}
    with pytest.raises(FormatError, match="too much to be told"):
        list(diff(before, after))
    assert next(diff(before, after)).after == 1


@pytest.mark.parametrize(
    ("before", "after"), [(1, True), (1, 1.0), (0, False), ([1], [True]), ({"a": [0]}, {"a": [False]})]
)
def test_values_that_python_takes_for_equal_differ(before: Any, after: Any) -> None:
    assert len(list(diff({"x": before}, {"x": after}))) == 1


def test_pointers_are_escaped_and_sides_may_be_absent() -> None:
    assert list(diff({"a/b": 1, "~": [1, 2]}, {"c": 2, "~": [1]})) == [
        Change("/a~1b", 1, ABSENT),
        Change("/c", ABSENT, 2),
        Change("/~0/1", 2, ABSENT),
    ]


def test_order_of_keys_is_no_difference() -> None:
    assert list(diff({"x": {"a": 1, "b": 2}}, {"x": {"b": 2, "a": 1}})) == []
