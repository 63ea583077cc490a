"""Bisecting: the search itself, on every place of the change and any skipped points."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentproof.bundle.store import Bundle
from agentproof.compare.bisect import bisect_releases
from agentproof.compare.comparison import Recorder
from agentproof.compare.search import Bisection, BisectionResult, Point, Question, Span, State, judged, search
from agentproof.compare.subjects import Subject
from agentproof.diff.rows import Attempt
from agentproof.errors import CannotDoError, UsageError
from agentproof.models.header import Header
from agentproof.models.manifest import ClaimResult, Judgement
from agentproof.record.conditions import Conditions
from agentproof.record.reproduction import Reproduction
from agentproof.record.target import Target
from tests import forge
from tests.changes import changed


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


def _silent() -> Bundle:
    """A recording whose script ended before it did anything."""
    draft = forge.draft()
    for mode in ("as-written", "streamed"):
        draft.event("script.ended", mode=mode).update(
            outcome="raised", code=1, error={"type": "builtins:TypeError", "message": "no `needs_approval`"}
        )
    return draft.seal_unparsed()


VIOLATED, SILENT = forge.draft().seal(), _silent()


CASE = Subject("case", Reproduction("case.py", {}, Header()))


class Releases:
    """Stands in for the recorder: release n gives the judgement that was written down for it."""

    def __init__(self, judgements: Mapping[int, Judgement]) -> None:
        self.conditions = Conditions()
        self.progress = self
        self._judgements = judgements
        self.recorded: list[str] = []

    def working(self, text: str) -> None:
        """Nothing."""

    def done(self, label: str, text: str) -> None:
        """Nothing."""

    def attempt(self, subject: Subject, target: Target) -> Attempt:
        self.recorded.append(target.text)
        judgement = self._judgements.get(int(target.text))
        if judgement is None:
            return Attempt(target.text, failed="does not build", hint="build it yourself")
        bundle = SILENT if judgement.verdict == "inconclusive" else VIOLATED
        manifest = changed(bundle.document, judgement=judgement)
        return Attempt(target.text, bundle=replace(bundle, manifest=manifest.to_bytes()))


def _bisected(releases: Releases, count: int, *, bad: int, claim: str | None = None) -> BisectionResult:
    points = tuple(Point(str(number), Target(str(number))) for number in range(count))
    span = Span("first_bad" if bad else "first_fixed", points)
    recorder = cast(Recorder, releases)  # what a bisection asks of it is here
    return Bisection(CASE, Question(claim=claim), recorder).run([span])


def _fixed_at(**releases: int) -> Mapping[int, Judgement]:
    """Twenty releases; each of the claims is violated before the release that is given for it."""
    return {
        number: _judgement(
            **{claim: "violated" if number < fixed else "holds" for claim, fixed in releases.items()}
        )
        for number in range(20)
    }


def test_claims_that_are_fixed_together_are_one_change() -> None:
    releases = Releases(_fixed_at(one=7, two=7))
    (change,) = _bisected(releases, 20, bad=0).changes
    assert (change.last.name, change.first.name, change.claims) == ("6", "7", ("one", "two"))
    assert len(releases.recorded) <= math.ceil(math.log2(20)) + 2


def test_claims_that_are_fixed_apart_are_a_change_each() -> None:
    releases = Releases(_fixed_at(early=3, late=15))
    found = _bisected(releases, 20, bad=0)
    assert [(change.first.name, change.claims) for change in found.changes] == [
        ("3", ("early",)),
        ("15", ("late",)),
    ]
    assert len(releases.recorded) == len(set(releases.recorded)) < 12


def test_a_claim_that_the_good_end_violates_too_is_named_and_not_searched() -> None:
    found = _bisected(Releases(_fixed_at(fixed=9, never=99)), 20, bad=0)
    assert [(change.first.name, change.claims) for change in found.changes] == [("9", ("fixed",))]
    assert found.unchanged == ("never",)


def test_an_end_that_violates_all_that_the_bad_one_does_is_not_good() -> None:
    with pytest.raises(UsageError, match=r"19 is not good: violated: never"):
        _bisected(Releases(_fixed_at(never=99)), 20, bad=0)


def test_an_end_at_which_nothing_can_be_concluded_is_told_with_how_the_script_ended() -> None:
    judgements = dict(_fixed_at(one=7))
    judgements[19] = _judgement(one="not_observed")
    with pytest.raises(UsageError, match="19 is not good: inconclusive") as caught:
        _bisected(Releases(judgements), 20, bad=0)
    assert caught.value.message.endswith("the script ended by TypeError: no `needs_approval`")


def test_an_end_that_could_not_be_recorded_is_neither_good_nor_bad() -> None:
    for missing in (0, 19):
        judgements = {number: each for number, each in _fixed_at(one=7).items() if number != missing}
        with pytest.raises(CannotDoError, match=f"{missing} could not be recorded: does not build") as caught:
            _bisected(Releases(judgements), 20, bad=0)
        assert caught.value.hint == "build it yourself"


_INDEX = """<!DOCTYPE html><html><body>
<a href="openai_agents-0-py3-none-any.whl">0</a>
<a href="openai_agents-1-py3-none-any.whl" data-yanked="breaks sessions">1</a>
<a href="openai_agents-2-py3-none-any.whl" data-requires-python="&gt;=3.99">2</a>
<a href="openai_agents-3-py3-none-any.whl">3</a>
<a href="openai_agents-4rc1-py3-none-any.whl">4</a>
<a href="openai_agents-4-py3-none-any.whl">4</a>
</body></html>"""


def test_releases_that_were_yanked_or_do_not_run_here_are_skipped_unrecorded_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "openai-agents").mkdir()
    (tmp_path / "openai-agents" / "index.html").write_text(_INDEX)
    monkeypatch.setenv("UV_DEFAULT_INDEX", tmp_path.as_uri())
    for name in ("UV_INDEX", "UV_FIND_LINKS", "UV_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    releases = Releases(_fixed_at(one=3))
    found = bisect_releases(
        CASE,
        good=["4"],
        bad="0",
        question=Question(),
        recorder=cast(Recorder, releases),  # what a bisection asks of it is here
    )
    (change,) = found.changes
    assert (change.last.name, change.first.name) == ("0", "3")
    assert [point.name for point in change.skipped] == ["1", "2"]
    assert releases.recorded == ["0", "4", "3"]
    reasons = {probe.point.name: probe.why for probe in found.probes if probe.state == "skipped"}
    assert reasons["1"] == "yanked: breaks sessions"
    assert reasons["2"].startswith("does not run on Python 3.")
    # An end is recorded all the same: whoever names it means it.
    (change,) = bisect_releases(
        CASE,
        good=["4"],
        bad="1",
        question=Question(),
        recorder=cast(Recorder, Releases(_fixed_at(one=3))),
    ).changes
    assert (change.last.name, change.first.name) == ("1", "3")


def test_another_violation_at_the_good_end_does_not_make_it_bad() -> None:
    judgements = dict(_fixed_at(one=7))
    judgements[19] = _judgement(one="holds", other="violated")
    (change,) = _bisected(Releases(judgements), 20, bad=0).changes
    assert change.first.name == "7"


def test_what_cannot_be_recorded_between_two_neighbours_is_named() -> None:
    judgements = {number: each for number, each in _fixed_at(one=7).items() if number not in (6, 7)}
    (change,) = _bisected(Releases(judgements), 20, bad=0).changes
    assert (change.last.name, change.first.name) == ("5", "8")
    assert [point.name for point in change.skipped] == ["6", "7"]


def test_a_claim_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match="no such claim") as caught:
        _bisected(Releases(_fixed_at(one=7, two=9)), 20, bad=0, claim="three")
    assert caught.value.hint == "there are: one, two"
