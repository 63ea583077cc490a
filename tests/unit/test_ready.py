"""The quick choice of what comes next among parallel lanes is the slow one of the rule."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from agentproof.record.ready import Ready

Waiting = list[tuple[str, int, str]]


def _chain(lane: str | None, parents: Mapping[str, str | None]) -> list[str]:
    found: list[str] = []
    while lane is not None:
        found.insert(0, lane)
        lane = parents[lane]
    return found


def _slow(
    waiting: Waiting, current: str | None, parents: Mapping[str, str | None], keys: Mapping[str, int]
) -> str:
    """The rule as it is said: ancestors first, the shallowest; else who shares most; key; place."""
    way = _chain(current, parents)

    def rank(each: tuple[str, int, str]) -> tuple[int, int, int, int]:
        lane, written, _ = each
        own = _chain(lane, parents)
        if lane in way:
            return 0, len(own), keys[lane], written
        shared = sum(1 for mine, theirs in zip(own, way, strict=False) if mine == theirs)
        return 1, -shared, keys[lane], written

    return min(waiting, key=rank)[2]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_quick_choice_is_the_slow_one(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 9))
    parents: dict[str, str | None] = {}
    for number in range(count):
        parents[f"L{number}"] = data.draw(st.sampled_from([None, *parents]))
    keys = {lane: data.draw(st.integers(0, 3)) for lane in parents}
    ready, waiting, current = Ready(parents, keys), Waiting(), None
    for written in range(data.draw(st.integers(1, 25))):
        for lane in data.draw(st.lists(st.sampled_from(sorted(parents)), max_size=2)):
            name = f"{lane}:{written}:{len(waiting)}"
            place = written * 10 + len(waiting)
            ready.add(lane, place, name)
            waiting.append((lane, place, name))
        assert bool(ready) == bool(waiting)
        if waiting:
            expected = _slow(waiting, current, parents, keys)
            assert ready.pop(current) == expected
            current = next(lane for lane, _, name in waiting if name == expected)
            waiting = [each for each in waiting if each[2] != expected]
