"""What is kept between checks: results of the same bytes, and never more than is allowed."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from agentproof.check import members as _members
from agentproof.check.bundle import Reader, check_bundle
from agentproof.check.memo import Memo
from agentproof.models.wire import encode
from tests import forge


def _counted(calls: list[str], value: str) -> Callable[[], str]:
    def compute() -> str:
        calls.append(value)
        return value

    return compute


def test_a_result_is_computed_once_a_key() -> None:
    memo, calls = Memo[str](limit=10), list[str]()
    assert [memo.get(key, 1, _counted(calls, key)) for key in "abab"] == [*"abab"]
    assert calls == ["a", "b"]


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    memo, calls = Memo[str](limit=2), list[str]()
    for key in "abacab":
        memo.get(key, 1, _counted(calls, key))
    assert calls == ["a", "b", "c", "b"]


def test_what_weighs_more_than_all_that_is_allowed_is_not_kept() -> None:
    memo, calls = Memo[str](limit=2), list[str]()
    for _ in range(2):
        assert memo.get("x", 3, _counted(calls, "x")) == "x"
    assert calls == ["x", "x"]


def test_an_error_is_not_kept() -> None:
    memo, calls = Memo[str](limit=2), list[str]()

    def fail() -> str:
        raise ValueError("once")

    with pytest.raises(ValueError, match="once"):
        memo.get("x", 1, fail)
    assert memo.get("x", 1, _counted(calls, "x")) == "x"


def test_a_part_of_a_sound_bundle_makes_no_other_one_sound() -> None:
    sound = forge.draft().seal()
    assert check_bundle(sound, reader=Reader()).status == "INTACT"
    for path, data in sound.members.items():
        broken = replace(sound, members={**sound.members, path: data + b"\n"})
        assert check_bundle(broken, reader=Reader()).status == "INVALID", path
    assert check_bundle(sound, reader=Reader()).status == "INTACT"


def test_no_check_changes_what_is_kept_for_the_next() -> None:
    sound = forge.draft().seal()
    states = check_bundle(sound, reader=Reader()).states
    before = {digest: encode(state) for digest, state in states.items()}
    traces = {mode: trace.to_bytes() for mode, trace in check_bundle(sound, reader=Reader()).traces.items()}
    for other in (forge.draft(holds=True).seal(), forge.draft().seal(forge.STRANGER), sound):
        check_bundle(other, reader=Reader())
    again = check_bundle(sound, reader=Reader())
    assert again.states == states
    assert {digest: encode(state) for digest, state in again.states.items()} == before
    assert {mode: trace.to_bytes() for mode, trace in again.traces.items()} == traces
    assert _members._TRACES._weight <= _members._TRACES._limit
