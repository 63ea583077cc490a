"""Bisecting: the search itself, on every place of the change and any skipped points."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentproof.bisect import State, judged, search
from agentproof.models.manifest import ClaimResult, Judgement


@given(st.integers(2, 200), st.data())
def test_the_change_is_found_with_at_most_log2_n_plus_2_recordings(count: int, data: st.DataObject) -> None:
    change = data.draw(st.integers(1, count - 1))
    asked: list[int] = [0, count - 1]

    def state(place: int) -> State:
        if place not in asked:
            asked.append(place)
        return "bad" if place < change else "good"

    assert search(count, state) == (change - 1, change)
    assert len(asked) <= math.ceil(math.log2(count)) + 2


@given(st.integers(3, 60), st.data())
def test_only_skipped_points_lie_between_the_two_neighbours(count: int, data: st.DataObject) -> None:
    change = data.draw(st.integers(1, count - 1))
    skipped = data.draw(st.sets(st.integers(1, count - 2)))

    def state(place: int) -> State:
        if place in skipped:
            return "skipped"
        return "good" if place < change else "bad"

    low, high = search(count, state)
    assert state(low) == "good"
    assert state(high) == "bad"
    assert set(range(low + 1, high)) <= skipped


def _judgement(**statuses: str) -> Judgement:
    claims = tuple(
        ClaimResult.from_shape(
            {"id": name, "kind": name, "version": 1, "mode": "both", "status": status, "sites": 1}
        )
        for name, status in statuses.items()
    )
    if "violated" in statuses.values():
        return Judgement(verdict="violated", claims=claims)
    if "holds" in statuses.values():
        return Judgement(verdict="holds", claims=claims)
    return Judgement(verdict="inconclusive", reasons=("nothing_observed",), claims=claims)


@pytest.mark.parametrize(
    ("statuses", "claim", "expected"),
    [
        ({"one": "violated", "two": "holds"}, None, "bad"),
        ({"one": "holds", "two": "holds"}, None, "good"),
        ({"one": "not_observed"}, None, "skipped"),
        ({"one": "violated", "two": "holds"}, "two", "good"),
        ({"one": "violated", "two": "not_observed"}, "two", "skipped"),
        ({"one": "violated"}, "one", "bad"),
        ({"one": "violated"}, "absent", "skipped"),
    ],
)
def test_a_point_is_good_bad_or_skipped(statuses: dict[str, str], claim: str | None, expected: State) -> None:
    assert judged(_judgement(**statuses), claim=claim)[0] == expected
