"""approval-respected: positive and silent cases."""

from typing import Any

import pytest

from agentproof.models.values import short_text
from tests.claims.builder import (
    Script,
    evaluate,
    function_call,
    function_output,
    message,
    state_json,
    told,
)

RULE = "approval-respected"
WHOLE = "call_" + "1" * 5000
"""A call id that is longer than what an event may name."""


def _paused(script: Script, document: object = None) -> str:
    """A run that waits for call_1, and a state made from it."""
    run = script.run()
    script.model(run, "go", function_call())
    result = script.end(run, waits_for=["call_1"])
    return script.made(result, document or state_json())


def _resume(script: Script, state: str, *, runs: bool = True, **end: object) -> None:
    run = script.run(state=state)
    if runs:
        script.tool(run, needs_approval=True)
    script.model(run, [function_call(), function_output()], message("done"))
    script.end(run, **end)  # type: ignore[arg-type] # keyword arguments of any kind


def test_a_tool_that_runs_for_an_undecided_state_is_violated() -> None:
    script = Script()
    draft, other = _paused(script), script.made("Q1", state_json())
    script.decide(draft, leaks_to=other)
    _resume(script, other)
    script.exit()
    assert evaluate(RULE, script).status == "violated"
    assert told(RULE, script) == ["tool pay ran for call_1; the resumed state S2 held no approval"]


def test_a_tool_that_runs_in_a_fresh_run_is_violated() -> None:
    script = Script()
    run = script.run()
    script.tool(run, needs_approval=True)
    script.end(run)
    script.exit()
    assert told(RULE, script) == ["tool pay ran for call_1, which needs approval; no state was resumed"]


def test_an_approved_call_that_runs_holds() -> None:
    script = Script()
    state = _paused(script)
    script.decide(state)
    _resume(script, state)
    outcome = evaluate(RULE, script.exit())
    assert (outcome.status, outcome.sites) == ("holds", 2)


@pytest.mark.parametrize("new_form", [False, True])
@pytest.mark.parametrize("approved", [["call_1"], True])
def test_an_approval_that_the_state_was_born_with_counts(approved: object, new_form: bool) -> None:
    script = Script()
    state = _paused(script, state_json(approved=approved, new_form=new_form))
    _resume(script, state)
    assert evaluate(RULE, script.exit()).status == "holds"


def test_a_sticky_approval_covers_later_calls_of_the_tool() -> None:
    script = Script()
    state = _paused(script)
    script.decide(state, always_approve=True)
    run = script.run(state=state)
    script.tool(run, needs_approval=True)
    script.tool(run, "call_2", needs_approval=True)
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "holds"


def test_an_approval_on_the_owner_counts_for_a_nested_run() -> None:
    script = Script()
    state = _paused(script)
    script.decide(state)
    run = script.run(state=state)
    inner = script.run(inside=run, input="x")
    script.tool(inner, needs_approval=True)
    script.end(inner)
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "holds"


def test_a_context_that_carries_approvals_is_not_judged() -> None:
    script = Script()
    run = script.run(context="agents.run_context:RunContextWrapper")
    script.tool(run, needs_approval=True)
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "not_observed"


def test_a_tool_with_an_approval_callback_is_not_judged() -> None:
    script = Script()
    run = script.run()
    script.tool(run, needs_approval=True, tool_kind="shell")
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "not_observed"


def _asks(script: Script, run: str, answer: bool | None, call_id: str = "call_1", **fields: object) -> None:
    # The name is that of an agent as a tool around the run, where there is one.
    script.add("approval.asked", run=run, tool="ask", call_id=call_id, answer=answer, **fields)


def _ran_after(*answers: bool | None, declared: bool | None = True) -> Script:
    """One call for which the SDK was given these answers, then the tool's start."""
    script = Script()
    run = script.run()
    script.model(run, "go", function_call())
    for answer in answers:
        _asks(script, run, answer)
    script.tool(run, needs_approval=declared)
    script.end(run)
    return script.exit()


@pytest.mark.parametrize("declared", [True, None], ids=["asked a second time", "asked once"])
def test_what_the_sdk_was_told_by_a_callback_with_a_memory_decides(declared: bool | None) -> None:
    assert evaluate(RULE, _ran_after(False, declared=declared)).status == "not_observed"
    assert told(RULE, _ran_after(False, True, declared=declared)) == [
        "tool pay ran for call_1, which needs approval; no state was resumed"
    ]


def test_a_callback_that_told_the_sdk_yes_is_believed_over_a_later_no() -> None:
    assert evaluate(RULE, _ran_after(True, declared=False)).status == "violated"


def test_a_callback_that_raised_leaves_the_call_unjudged() -> None:
    assert evaluate(RULE, _ran_after(None)).status == "not_observed"


def test_two_calls_of_one_id_with_two_answers_are_not_judged() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call(), function_call())
    _asks(script, run, False)
    _asks(script, run, True)
    script.tool(run, needs_approval=True)
    script.end(run, waits_for=["call_1"])
    assert evaluate(RULE, script.exit()).status == "not_observed"


def test_an_answer_for_another_call_or_after_the_start_says_nothing() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call())
    _asks(script, run, False, "call_2")
    script.tool(run, needs_approval=True)
    _asks(script, run, False)
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "violated"


@pytest.mark.parametrize("again", [None, True, False], ids=["not again", "again yes", "again no"])
def test_a_resumed_run_goes_by_its_own_asking_else_by_the_one_that_paused(again: bool | None) -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call())
    _asks(script, run, True)
    state = script.made(script.end(run, waits_for=["call_1"]), state_json())
    resumed = script.run(state=state)
    if again is not None:
        _asks(script, resumed, again)
    script.tool(resumed)
    script.end(resumed)
    outcome = evaluate(RULE, script.exit())
    assert outcome.status == ("not_observed" if again is False else "violated")


def test_a_state_of_unknown_origin_is_not_judged() -> None:
    script = Script()
    script.now["S9"] = state_json()
    _resume(script, "S9")
    assert evaluate(RULE, script.exit()).status == "not_observed"


def test_a_rejected_call_that_runs_is_violated() -> None:
    script = Script()
    state = _paused(script)
    script.decide(state)
    script.decide(state, "reject")
    _resume(script, state)
    assert told(RULE, script.exit()) == ["tool pay ran for call_1, which was rejected on S1"]


def test_a_rejected_call_whose_id_the_model_uses_again_is_another_call() -> None:
    script = Script()
    state = _paused(script)
    script.decide(state)
    script.decide(state, "reject")
    run = script.run(state=state)
    script.model(run, "go", function_call())
    script.tool(run, needs_approval=True)
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "holds"


def test_an_approved_call_that_is_asked_again_is_violated() -> None:
    script = Script()
    state = _paused(script)
    script.decide(state)
    _resume(script, state, runs=False, waits_for=["call_1"])
    assert told(RULE, script.exit()) == ["call_1 was approved on S1, and run R2 asks for it again"]


def test_an_approved_call_that_never_runs_is_violated() -> None:
    script = Script()
    state = _paused(script)
    script.decide(state)
    _resume(script, state, runs=False)
    assert told(RULE, script.exit()) == ["call_1 was approved on S1; run R2 ended without running it"]


def test_an_approved_call_that_ran_in_an_earlier_run_of_the_state_holds() -> None:
    script = Script()
    state = _paused(script)
    script.decide(state)
    run = script.run(state=state)
    script.tool(run, needs_approval=True)
    script.end(run, "raised")
    _resume(script, state, runs=False)
    assert evaluate(RULE, script.exit()).status == "holds"


def test_a_resumed_run_that_raised_is_not_judged_for_what_it_did_not_run() -> None:
    script = Script()
    state = _paused(script)
    script.decide(state)
    run = script.run(state=state)
    script.end(run, "raised")
    assert evaluate(RULE, script.exit()).status == "not_observed"


def test_a_later_sticky_rejection_leaves_the_call_unjudged() -> None:
    script = Script()
    state = _paused(script)
    script.decide(state, "approve", "call_1")
    script.decide(state, "reject", "call_2", always_reject=True)
    _resume(script, state, runs=False)
    assert all(finding.call_id != "call_1" for finding in evaluate(RULE, script.exit()).because)


def test_an_exact_approval_after_a_sticky_rejection_is_judged() -> None:
    script = Script()
    state = _paused(script)
    script.decide(state, "reject", "call_2", always_reject=True)
    script.decide(state, "approve", "call_1")
    _resume(script, state, runs=False)
    assert told(RULE, script.exit()) == ["call_1 was approved on S1; run R2 ended without running it"]


def test_a_decision_that_the_sdk_refused_does_not_count() -> None:
    script = Script()
    state = _paused(script)
    digest = script.digest(script.now[state])
    script.add(
        "state.decided",
        state=state,
        decision="approve",
        call_id="call_1",
        tool="pay",
        options={},
        before=digest,
        snapshot=digest,
        error={"type": "agents.exceptions:UserError", "message": "no"},
    )
    _resume(script, state)
    assert told(RULE, script.exit()) == ["tool pay ran for call_1; the resumed state S1 held no approval"]


def test_a_call_that_the_state_was_born_having_executed_need_not_run() -> None:
    script = Script()
    done = {"call_1": {"executed": True, "completed": True}}
    document = state_json()
    document["context"]["tool_invocations"] = done
    state = _paused(script, document)
    script.decide(state)
    _resume(script, state, runs=False)
    assert evaluate(RULE, script.exit()).because == ()


@pytest.mark.parametrize(
    ("born", "decided", "ran", "status"),
    [
        ({"approved": [WHOLE]}, False, True, "holds"),
        ({}, True, False, "violated"),
        ({"tool_invocations": {WHOLE: {"executed": True}}}, True, False, "not_observed"),
    ],
)
def test_a_call_id_that_events_shorten_is_found_where_a_state_holds_it_whole(
    born: dict[str, Any], decided: bool, ran: bool, status: str
) -> None:
    call = short_text(WHOLE)
    document = state_json(approved=born.pop("approved", None), call=function_call(WHOLE))
    document["context"] |= born
    script = Script()
    state = script.made(script.end(script.run(), waits_for=[call]), document)
    if decided:
        script.decide(state, call_id=call)
    run = script.run(state=state)
    if ran:
        script.tool(run, call, needs_approval=True)
    script.end(run)
    assert evaluate(RULE, script.exit()).status == status


def test_a_decision_made_in_parallel_may_have_come_in_time() -> None:
    script = Script()
    state = _paused(script)
    with script.lane() as running:
        run = script.run(state=state)
        script.tool(run, needs_approval=True)
        script.end(run)
    with script.lane() as deciding:
        script.decide(state)
    script.join(running, deciding)
    assert evaluate(RULE, script.exit()).because == ()


BLAMES_THE_MODEL = {"type": "agents.exceptions:ModelBehaviorError", "message": "already executed"}


def _resumed_and_raised(*, asks: bool = False, error: str = BLAMES_THE_MODEL["type"]) -> Script:
    script = Script()
    run = script.run()
    state = script.made(script.end(run, waits_for=["call_1"]), state_json())
    script.decide(state)
    run = script.run(state=state)
    if asks:
        script.model(run, "go", function_call("call_2", "unknown"))
    script.end(run, "raised", error={**BLAMES_THE_MODEL, "type": error})
    return script.exit()


def test_an_approved_call_is_not_lost_to_an_error_that_blames_a_model_which_nobody_asked() -> None:
    assert told("approval-respected", _resumed_and_raised()) == [
        "call_1 was approved on S1; run R2 ended without running it"
    ]


@pytest.mark.parametrize(
    "script",
    [
        _resumed_and_raised(asks=True),
        _resumed_and_raised(error="agents.exceptions:UserError"),
        _resumed_and_raised(error="builtins:ConnectionError"),
    ],
    ids=["a model was asked", "the caller is to blame", "another error"],
)
def test_an_approved_call_may_be_lost_to_another_error(script: Script) -> None:
    assert evaluate("approval-respected", script).because == ()
