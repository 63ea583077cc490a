"""What changed between two documents: the same with and without a look at equal parts first."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentproof.errors import FormatError
from agentproof.models import diff as module
from agentproof.models.diff import ABSENT, Change, aligned, diff

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


def told(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    return [(change.pointer, change.before, change.after) for change in aligned(before, after)]


def test_a_lost_entry_of_a_list_is_told_as_one() -> None:
    items = [{"id": f"i{n}", "text": "same"} for n in range(25)]
    assert len(list(diff(items, items[1:]))) == 25
    assert told({"items": items}, {"items": items[1:]}) == [("/items/0", items[0], ABSENT)]
    assert told(items, [*items[:3], {"id": "new"}, *items[3:]]) == [("/3", ABSENT, {"id": "new"})]


def test_an_entry_that_changed_is_found_by_its_id_and_others_by_their_order() -> None:
    before = [{"call_id": "a", "n": 1}, {"call_id": "b", "n": 1}, {"call_id": "c", "n": 1}]
    after = [{"call_id": "b", "n": 1}, {"call_id": "c", "n": 2}]
    assert told(before, after) == [("/0", before[0], ABSENT), ("/2/n", 1, 2)]
    assert told([1, 2, 3], [1, 5, 3]) == [("/1", 2, 5)]
    assert told([{"raw_item": {"id": "x"}, "n": 1}, 7], [8, {"raw_item": {"id": "x"}, "n": 2}]) == [
        ("/0/n", 1, 2),
        ("/1", 7, 8),
    ]


@settings(max_examples=100)
@given(JSON, JSON)
def test_both_ways_to_tell_agree_on_whether_anything_changed(before: Any, after: Any) -> None:
    assert bool(told(before, after)) == bool(list(diff(before, after)))


def test_long_lists_are_told_by_place() -> None:
    items = list(range(400))
    assert len(told(items, items[1:])) == len(list(diff(items, items[1:])))
    assert told([{"id": "a"}, {"id": "a"}, 1], [{"id": "a", "n": 1}]) == [
        ("/0/n", ABSENT, 1),
        ("/1", {"id": "a"}, ABSENT),
        ("/2", 1, ABSENT),
    ]
