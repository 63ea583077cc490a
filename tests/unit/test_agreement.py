"""What a replay must agree on before it is attested, and what may differ between machines."""

from collections.abc import Callable
from typing import Any

import pytest

from agentproof.errors import CannotDoError
from agentproof.models.manifest import Manifest
from agentproof.record import agreement
from agentproof.record.replay import ReplayResult, attest
from tests import forge

Change = Callable[[forge.Draft], object]
WARNING = "reproduction.py:3: RuntimeWarning: coroutine 'on_tool_end' was never awaited\n"


def _replayed(recorded: forge.Draft, seen: forge.Draft) -> ReplayResult:
    bundle, again = (draft.judged().seal() for draft in (recorded, seen))
    return ReplayResult(bundle, bundle.document.judgement, again, environment=(), differences=())


def _changed(change: Change | None, draft: forge.Draft | None = None) -> forge.Draft:
    made = draft or forge.draft()
    if change is not None:
        change(made)
    return made


def _insert(draft: forge.Draft, event: dict[str, Any], place: int = -1) -> None:  # Any: an event
    for trace in draft.traces.values():
        events = trace["events"]
        events.insert(place, dict(event))
        trace["events"] = [{**each, "seq": seq} for seq, each in enumerate(events, start=1)]


def _wrote(text: str) -> dict[str, Any]:  # Any: an event
    return {
        "kind": "script.wrote",
        "stream": "stderr",
        "text": text,
        "size": len(text),
        "truncated": False,
    }


def _body(draft: forge.Draft, frame: str = "F1") -> forge.Draft:
    began = {"kind": "body.started", "run": "R2", "frame": frame, "function": "pay", "tool": "pay"}
    ended = {"kind": "body.returned", "run": "R2", "frame": frame, "function": "pay", "value": "x"}
    place = [event["kind"] for event in draft.traces["as-written"]["events"]].index("tool.ended")
    _insert(draft, ended, place)
    _insert(draft, began, place)
    return draft


def _blind(draft: forge.Draft) -> forge.Draft:
    draft.manifest["coverage"] = [{"what": "bodies", "why": "CPython before 3.12"}]
    return draft


def _set(kind: str, **fields: object) -> Change:
    return lambda draft: draft.event(kind).update(fields)


def _conduct(**fields: object) -> Change:
    return lambda draft: draft.manifest["conduct"].update(fields)


FORGED: dict[str, Change] = {
    "a line on stderr": lambda draft: _insert(draft, _wrote(WARNING)),
    "what was written to stdout": _set("script.wrote", text="PAID 900\n"),
    "a hook": _set("hook.called", hook="on_handoff"),
    "an answer of the model": _set("model.answered", output=[]),
    "an item of a run": _set("run.ended", items=[]),
    "the order of two events": lambda draft: draft.event("tool.started").update(after=[5]),
    "a private write": _conduct(
        private_writes=[{"file": "reproduction.py", "line": 9, "name": "x"}], allowed=True
    ),
    "a private read": _conduct(private_reads=[{"file": "reproduction.py", "line": 9, "name": "x"}]),
    "a body that was never entered": lambda draft: _blind(_body(draft)),
    "a part that is said to be missing": lambda draft: draft.manifest.update(
        coverage=[{"what": "states", "why": "x"}]
    ),
}
"""What a stranger changes in an honest bundle, evidence id and judgement computed again."""


@pytest.mark.parametrize("name", FORGED)
def test_an_honest_replay_of_a_forged_bundle_attests_nothing(name: str) -> None:
    replayed = _replayed(_changed(FORGED[name]), forge.draft())
    assert replayed.refusal is not None
    with pytest.raises(CannotDoError, match="attests nothing"):
        attest(replayed, forge.MAINTAINER)


def test_a_script_that_changes_the_sdk_is_not_attested_whatever_its_bundle_says() -> None:
    """The stranger empties `conduct`; the replayer sees it, and an inconclusive verdict."""
    replayed = _replayed(forge.draft(), _changed(_conduct(changed=["agents.run_state:RunState.reject"])))
    assert replayed.seen.document.evidence_id == replayed.bundle.document.evidence_id
    assert not replayed.is_same
    assert {"judgement", "conduct"} <= {name for name, _ in replayed.agreement.differing}


def test_what_is_inconclusive_is_not_attested_though_all_agrees() -> None:
    changed = _conduct(changed=["agents.run:Runner.run"])
    replayed = _replayed(_changed(changed), _changed(changed))
    assert replayed.agreement.differing == ()
    assert "inconclusive" in (replayed.refusal or "")


def test_repeats_of_the_replay_that_differ_attest_nothing() -> None:
    def differ(draft: forge.Draft) -> None:
        draft.manifest["recordings"][0] |= {"agreement": "differ", "differences": ["/events/3"]}

    assert _replayed(forge.draft(), _changed(differ)).refusal is not None


def test_the_same_seen_again_is_attested() -> None:
    replayed = _replayed(forge.draft(), forge.draft())
    assert replayed.refusal is None
    assert replayed.agreement.not_captured == ()


def test_a_machine_that_cannot_see_bodies_attests_the_rest_and_says_so() -> None:
    replayed = _replayed(_changed(_body, forge.draft(holds=True)), _changed(_blind, forge.draft(holds=True)))
    assert replayed.refusal is None, replayed.refusal
    assert replayed.agreement.not_captured == ("bodies",)
    other_way = _replayed(_blind(forge.draft(holds=True)), _body(forge.draft(holds=True)))
    assert other_way.agreement.not_captured == ()


def test_a_violation_that_only_one_machine_can_see_is_not_attested() -> None:
    blind, seeing = _blind(forge.draft(holds=True)), forge.draft(holds=True)
    _body(seeing, "F1")
    _body(seeing, "F2")
    mine = Manifest.from_bytes(seeing.judged().seal().manifest)
    assert "bodies-match-hooks" in {claim.id for claim in mine.judgement.claims if claim.status == "violated"}
    for recorded, seen in ((seeing, blind), (blind, seeing)):
        assert "violation" in (_replayed(recorded.copy(), seen.copy()).refusal or "")


TRACEBACK_312 = """Traceback (most recent call last):
  File "<script>/reproduction.py", line 1, in <module>
    asyncio.run(main())
  File "<python>/lib/python3.12/asyncio/runners.py", line 194, in run
    return runner.run(main)
           ^^^^^^^^^^^^^^^^
ValueError: no
"""
TRACEBACK_313 = """Traceback (most recent call last):
  File "<script>/reproduction.py", line 1, in <module>
    asyncio.run(main())
    ~~~~~~~~~~~^^^^^^^^
  File "<python>/lib/python3.13/asyncio/runners.py", line 195, in run
    return runner.run(main)
           ~~~~~~~~~~^^^^^^
ValueError: no
"""


def test_a_traceback_differs_between_pythons_only_in_their_own_frames_and_marks() -> None:
    sides = [
        _changed(lambda draft, text=text: _insert(draft, _wrote(text)))  # type: ignore[misc]  # bound now
        for text in (TRACEBACK_312, TRACEBACK_313)
    ]
    assert _replayed(*sides).refusal is None
    other = _changed(lambda draft: _insert(draft, _wrote(TRACEBACK_313.replace("no", "yes"))))
    assert _replayed(sides[0], other).agreement.events is not None


def test_only_whole_frames_of_pythons_own_library_are_passed_over() -> None:
    assert agreement.without_own_frames(TRACEBACK_313) == agreement.without_own_frames(TRACEBACK_312)
    assert WARNING in agreement.without_own_frames(TRACEBACK_313 + WARNING)
    assert agreement.without_own_frames('  File "<python>/x", line 1\n  not deeper') == "  not deeper"
