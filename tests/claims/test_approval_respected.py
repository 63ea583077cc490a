"""approval-respected: positive and silent cases."""

import pytest

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
