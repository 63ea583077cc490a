"""The verdict over all claims."""

from dataclasses import replace

import pytest

from agentproof.claims import INVARIANTS, Evidence, Outcome, explain, judge
from agentproof.errors import BundleError
from agentproof.models.manifest import Conduct, Finding, Gap, SourceLine
from agentproof.models.values import short_text
from tests.changes import changed
from tests.claims.builder import (
    ISOLATION,
    Json,
    Script,
    function_call,
    function_output,
    judged,
    message,
    state_json,
)


def _quiet(mode: str = "as-written") -> Script:
    """One run with one tool, nothing wrong."""
    script = Script(mode)  # type: ignore[arg-type] # one of the two modes
    run = script.run()
    script.model(run, "go", function_call("c1", "add"), tools=["add"])
    script.tool(run, "c1", "add")
    script.model(
        run, [message("go", "user"), function_call("c1", "add"), function_output("c1")], message("done")
    )
    script.end(run, final_output="done")
    return script


def _leaking(mode: str = "as-written") -> Script:
    script = Script(mode)  # type: ignore[arg-type] # one of the two modes
    run = script.run()
    result = script.end(run, waits_for=["call_1"])
    one, other = script.made(result, state_json()), script.made(result, state_json())
    script.decide(one, leaks_to=other)
    return script


def test_nothing_wrong_in_both_modes_holds() -> None:
    verdict = judged(_quiet().exit(), _quiet("streamed").exit())
    assert verdict.verdict == "holds"
    assert verdict.reasons == ()
    assert {claim.kind for claim in verdict.claims} == set(INVARIANTS)


def test_one_violated_claim_makes_the_verdict_violated() -> None:
    assert judged(_leaking().exit(), _leaking("streamed").exit()).verdict == "violated"


def test_each_invariant_is_judged_in_each_mode_that_it_speaks_of() -> None:
    asked = judge.invariants(["streamed", "as-written"])
    assert ("stream-parity", "both") in {(one.kind, one.mode) for one in asked}
    assert [one.mode for one in asked if one.kind == "state-integrity"] == ["as-written", "streamed"]
    assert [one.mode for one in asked if one.kind == "script-completed"] == ["as-written"]
    assert not [one for one in judge.invariants(["as-written"]) if one.mode != "as-written"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"agreement": "differ"}, "repeats_differ"),
        ({"agreement": "differ", "touched": ("output", "script")}, "repeats_differ"),
        ({"conduct": Conduct(changed=("agents.run:RunState.approve",))}, "sdk_changed"),
        ({"conduct": Conduct(private_writes=(SourceLine(name="_x", file="r.py", line=1),))}, "sdk_changed"),
    ],
)
def test_whatever_the_claims_say_it_is_inconclusive(options: dict[str, object], reason: str) -> None:
    verdict = judged(_leaking().exit(), **options)  # type: ignore[arg-type] # options of several types
    assert (verdict.verdict, verdict.reasons) == ("inconclusive", (reason,))
    assert any(claim.status == "violated" for claim in verdict.claims)


@pytest.mark.parametrize(
    ("touched", "status"), [(("bodies", "output"), "violated"), (("states",), "not_observed")]
)
def test_repeats_that_differ_touch_the_claims_that_need_what_differs(
    touched: tuple[str, ...], status: str
) -> None:
    verdict = judged(_leaking().exit(), agreement="differ", touched=touched)
    found = {claim.id: claim.status for claim in verdict.claims}
    assert found["state-integrity"] == status
    assert found["script-completed"] == "holds"
    assert found["bodies-match-hooks"] == "not_observed"
    if status == "not_observed":
        assert (verdict.verdict, verdict.reasons) == ("inconclusive", ("repeats_differ",))
    else:
        assert verdict.verdict == "violated"


def test_a_part_that_is_not_watched_is_no_run_that_never_was() -> None:
    gap = Gap(what="realtime", why="RealtimeSession was made once", code="not_watched")
    assert judged(Script().exit(), coverage=(gap,)).reasons == ("not_watched",)
    assert judged(Script().exit()).verdict == "holds"


def test_changes_of_the_sdk_that_were_allowed_are_judged() -> None:
    conduct = Conduct(changed=("agents.run:RunState.approve",), allowed=True)
    assert judged(_leaking().exit(), conduct=conduct).verdict == "violated"


def test_where_the_recorder_cannot_say_what_was_done_to_the_sdk_nothing_is_concluded() -> None:
    gap = Gap(what="conduct", why="the recorder failed: ValueError")
    for script in (_leaking().exit(), _quiet().exit()):
        assert judged(script, coverage=(gap,)).reasons == ("recorder_failed",)
    failed = _leaking()
    failed.add("recorder.failed", part="conduct", error="ValueError")
    assert judged(failed.exit()).reasons == ("recorder_failed",)
    allowed = Conduct(allowed=True)
    assert judged(_leaking().exit(), coverage=(gap,), conduct=allowed).verdict == "violated"


def test_loopback_needs_a_namespace() -> None:
    script = _leaking()
    script.add("network.refused", operation="socket.connect", loopback=True)
    script.exit()
    weaker = changed(ISOLATION, network="seccomp")
    assert judged(script, isolation=weaker).reasons == ("needs_namespace",)
    assert judged(script).verdict == "violated"


def test_other_addresses_are_refused_at_every_level() -> None:
    script = _leaking()
    script.add("network.refused", operation="socket.connect", loopback=False)
    weaker = changed(ISOLATION, network="seccomp")
    assert judged(script.exit(), isolation=weaker).verdict == "violated"


def test_a_script_that_runs_no_agent_is_judged_by_its_end() -> None:
    verdict = judged(Script().exit())
    assert (verdict.verdict, verdict.version) == ("holds", 2)
    failed = judged(Script().exit(outcome="exited", code=3))
    assert (failed.verdict, failed.version) == ("inconclusive", None)


def test_a_bundle_from_before_is_judged_as_before() -> None:
    assert judged(Script().exit(), version=1).reasons == ("no_run",)


def test_a_script_that_failed_cannot_hold() -> None:
    verdict = judged(_quiet().exit(outcome="exited", code=3))
    assert (verdict.verdict, verdict.reasons) == ("inconclusive", ("script_failed",))


@pytest.mark.parametrize(
    "end",
    [
        {"outcome": "timed_out"},
        {"outcome": "killed"},
        {"outcome": "exited", "code": 1},
        {
            "outcome": "raised",
            "error": {"type": "builtins:AssertionError", "message": "x"},
            "frames": [{"file": "reproduction.py", "line": 3, "function": "f"}],
        },
    ],
    ids=["hung", "killed", "failure code", "own assertion"],
)
def test_a_script_that_failed_only_when_streamed_does_not_hold(end: dict[str, Json]) -> None:
    verdict = judged(_quiet().exit(), _quiet("streamed").exit(**end))
    assert (verdict.verdict, verdict.reasons) == ("inconclusive", ("streamed_failed",))
    assert [c.status for c in verdict.claims if c.id == "script-completed"] == ["holds"]


def test_a_run_that_never_ends_when_streamed_does_not_hold() -> None:
    hung = Script("streamed")
    hung.add("stream.began", of_run=hung.run(routed=True))
    hung.exit(outcome="timed_out")
    assert judged(_quiet().exit(), hung).reasons == ("streamed_failed",)


def test_what_is_violated_is_so_however_the_streamed_script_ended() -> None:
    verdict = judged(_leaking().exit(), _quiet("streamed").exit(outcome="timed_out"))
    assert (verdict.verdict, verdict.reasons) == ("violated", ())


def _raised(kind: str) -> dict[str, Json]:
    return {"outcome": "raised", "error": {"type": f"builtins:{kind}", "message": "x"}}


def _with_claimed_end(mode: str, kind: str) -> tuple[judge.ClaimRequest, ...]:
    ended = judge.ClaimRequest("end", "script-ended", 1, mode, {"outcome": "raised", "error": kind})  # type: ignore[arg-type] # one of the two modes
    return (*judge.invariants(["as-written", "streamed"]), ended)


def test_an_end_that_is_claimed_for_one_mode_excuses_no_other() -> None:
    broken = (_quiet().exit(**_raised("ImportError")), _quiet("streamed").exit(**_raised("ValueError")))
    assert judged(*broken, claims=_with_claimed_end("streamed", "ValueError")).reasons == ("script_failed",)
    assert judged(*broken, claims=_with_claimed_end("as-written", "ImportError")).reasons == (
        "streamed_failed",
    )


def test_an_end_that_is_claimed_for_the_streamed_mode_lets_the_verdict_hold() -> None:
    scripts = (_quiet().exit(), _quiet("streamed").exit(**_raised("IndexError")))
    assert judged(*scripts, claims=_with_claimed_end("streamed", "IndexError")).verdict == "holds"


def test_a_script_that_failed_still_shows_what_it_showed() -> None:
    assert judged(_leaking().exit(outcome="exited", code=3)).verdict == "violated"


def test_a_failed_assertion_without_any_run_is_violated() -> None:
    script = Script().exit(
        outcome="raised",
        error={"type": "builtins:AssertionError", "message": ""},
        frames=[{"file": "reproduction.py", "line": 1, "function": "<module>"}],
    )
    assert judged(script).verdict == "violated"


def test_no_verdict_rests_on_a_synthetic_stream_alone() -> None:
    plain, streamed = _quiet(), _leaking("streamed")
    streamed.add("model.called", run="R1", call="M9", model="m:M", streamed=True, input="", synthetic=True)
    verdict = judged(plain.exit(), streamed.exit())
    assert (verdict.verdict, verdict.reasons) == ("inconclusive", ("synthetic_stream",))
    assert judged(_leaking().exit(), streamed).verdict == "violated"


def test_claims_that_need_a_failed_part_are_not_observed_and_others_stay() -> None:
    script = _leaking()
    script.add("recorder.failed", part="hooks", error="KeyError")
    by_kind = {claim.kind: claim.status for claim in judged(script.exit()).claims}
    assert by_kind["approval-respected"] == "not_observed"
    assert by_kind["state-integrity"] == "violated"


def test_a_recorder_that_failed_everywhere_is_the_reason() -> None:
    script = _quiet()
    for part in ("hooks", "models", "runs", "states"):
        script.add("recorder.failed", part=part, error="KeyError")
    assert judged(script.exit()).reasons == ("recorder_failed",)


def test_what_could_not_be_captured_is_not_observed() -> None:
    gaps = tuple(Gap(what=part, why="no such class") for part in ("models", "runs", "states"))
    assert judged(_quiet().exit(), coverage=gaps).reasons == ("not_captured",)
    # Where no agent ever ran, what could not be captured is not the reason.
    assert judged(Script().exit(), coverage=gaps, version=1).reasons == ("no_run",)


def test_what_a_release_does_not_have_cannot_be_missed() -> None:
    gaps = (Gap(what="states", why="no RunState", code="not_in_release"),)
    by_kind = {claim.kind: claim.status for claim in judged(_leaking().exit(), coverage=gaps).claims}
    assert by_kind["state-integrity"] == "violated"


@pytest.mark.parametrize(
    ("failed", "place", "status"),
    [
        ("sessions", {"session": 1}, "not_observed"),
        ("probe", {"observed": "x"}, "not_observed"),
        ("probe", {"model_input": 1, "pointer": "/0/content"}, "holds"),
        ("states", {"model_input": 1, "pointer": "/0/content"}, "holds"),
        ("models", {"model_input": 1, "pointer": "/0/content"}, "not_observed"),
    ],
)
def test_a_value_needs_what_tells_of_its_own_place(failed: str, place: dict[str, Json], status: str) -> None:
    script = Script()
    run = script.run()
    script.model(run, [message("go", "user")], message("done"))
    script.end(run, session="D1", session_after=["go"])
    script.add("probe.observed", label="x", value="go")
    script.add("recorder.failed", part=failed, error="x")
    at = {"pointer": "/0" if "session" in place else "", **place}
    asked = judge.ClaimRequest("v", "value-at", 2, "as-written", {"at": at, "equals": "go"})
    (result,) = judged(script.exit(), claims=(asked,)).claims
    assert result.status == status


def test_tests_that_may_have_been_missed_complete_nothing() -> None:
    script = Script()
    script.add("test.ended", test="test_a.py::test_it", outcome="passed")
    script.add("recorder.failed", part="tests", error="x")
    by_kind = {claim.kind: claim.status for claim in judged(script.exit()).claims}
    assert by_kind["script-completed"] == "not_observed"


def test_recomputing_what_a_manifest_lists_gives_the_same() -> None:
    script = _leaking().exit()
    first = judged(script)
    listed = tuple(judge.ClaimRequest(c.id, c.kind, c.version, c.mode, c.arguments) for c in first.claims)
    assert judged(script, claims=listed) == first


@pytest.mark.parametrize(
    "change",
    [{"kind": "no-such-kind"}, {"version": 99}, {"mode": "both"}, {"mode": "streamed"}],
)
def test_a_claim_that_this_tool_does_not_have_is_refused(change: dict[str, object]) -> None:
    asked = replace(judge.invariants(["as-written"])[-1], **change)  # type: ignore[arg-type] # one field of several types
    with pytest.raises(BundleError) as caught:
        judged(_leaking().exit(), claims=(asked,))
    assert caught.value.reason == "unknown_claim"
    assert caught.value.path == "manifest.json"


def test_every_finding_has_a_sentence() -> None:
    verdict = judged(_leaking().exit())
    sentences = [explain(claim, finding) for claim in verdict.claims for finding in claim.because]
    assert sentences
    assert all("None" not in sentence for sentence in sentences)


def test_every_reason_has_a_sentence() -> None:
    assert judge.explain_reason("no_run") == "the script never ran an agent"
    assert judge.explain_reason("from_a_newer_tool") == "from a newer tool"


LONG = "c" * 5000


def _with_long_texts() -> Script:
    """What a hostile or merely wordy program makes rules speak of: ids, keys and files of any length."""
    script = Script()
    run = script.run()
    script.model(run, [function_call(LONG)], message("done"))
    result = script.end(run, waits_for=["call_1"])
    one = script.made(result, state_json())
    script.now[one][LONG] = LONG
    return script.exit(
        outcome="raised",
        error={"type": "builtins:AssertionError", "message": LONG},
        frames=[{"file": "x" * 4090, "line": 1, "function": "f"}],
    )


def test_texts_of_any_length_are_cut_in_findings() -> None:
    verdict = judged(_with_long_texts())
    violated = {claim.id: claim.because[0] for claim in verdict.claims if claim.status == "violated"}
    assert {"call-output-linkage", "script-completed", "state-integrity"} <= violated.keys()
    call_id, pointer = violated["call-output-linkage"].call_id, violated["state-integrity"].pointer
    assert call_id == short_text(LONG)
    assert pointer == "/" + "c" * 4094 + "…"
    assert len(violated["script-completed"].subject or "") == 4096


def test_what_a_rule_cannot_put_into_a_finding_is_the_bundles_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(evidence: Evidence) -> Outcome:
        Finding(code="x", events=(), call_id=LONG)
        raise AssertionError("a finding took a text that is too long")

    monkeypatch.setattr(INVARIANTS["state-integrity"], "evaluate", careless)
    with pytest.raises(BundleError) as refused:
        judged(_quiet().exit())
    assert refused.value.reason == "malformed"
    assert "'state-integrity'" in str(refused.value)
