"""Rules that no studied report needed: each with a positive and a silent case."""

import pytest

from tests.claims.builder import (
    Json,
    Script,
    evaluate,
    function_call,
    function_output,
    message,
    state_json,
    told,
)

# interruptions-pending


def _waiting(*calls: str, **end: object) -> Script:
    script = Script()
    run = script.run()
    script.end(run, waits_for=calls, **end)  # type: ignore[arg-type] # fields of any type
    return script.exit()


OUTPUT_ITEM = {"type": "tool_call_output_item", "raw": function_output(), "output": "ok"}


def test_a_call_that_is_asked_for_twice_is_violated() -> None:
    assert told("interruptions-pending", _waiting("call_1", "call_1")) == [
        "run R1 waits for call_1, more than once"
    ]


def test_a_call_that_has_an_output_is_not_pending() -> None:
    assert evaluate("interruptions-pending", _waiting("call_1", items=[OUTPUT_ITEM])).status == "violated"


def test_a_call_that_its_state_does_not_hold_is_violated() -> None:
    script = Script()
    run = script.run()
    script.end(run, waits_for=["call_9"], snapshot=script.digest(state_json()))
    assert evaluate("interruptions-pending", script.exit()).status == "violated"


def test_a_pending_call_holds() -> None:
    script = Script()
    script.end(script.run(), waits_for=["call_1"], snapshot=script.digest(state_json()))
    assert evaluate("interruptions-pending", script.exit()).status == "holds"


# tripped-raises


@pytest.mark.parametrize(
    ("outcome", "tripped", "status"),
    [("returned", True, "violated"), ("raised", True, "holds"), ("returned", False, "not_observed")],
)
def test_a_tripped_guardrail_stops_its_run(outcome: str, tripped: bool, status: str) -> None:
    script = Script()
    run = script.run()
    script.add("guardrail.ran", run=run, guardrail_kind="input", name="check", tripped=tripped)
    script.end(run, outcome)
    assert evaluate("tripped-raises", script.exit()).status == status


# turns-bounded


@pytest.mark.parametrize(("turns", "status"), [(2, "holds"), (3, "violated")])
def test_a_run_takes_at_most_its_turns(turns: int, status: str) -> None:
    script = Script()
    run = script.run(max_turns=2)
    for _ in range(turns):
        script.model(run, "go", function_call())
    script.end(run)
    assert evaluate("turns-bounded", script.exit()).status == status


# offered-tools-only


@pytest.mark.parametrize(("offered", "status"), [(["pay"], "holds"), (["add"], "violated")])
def test_a_tool_that_runs_was_offered(offered: list[str], status: str) -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call(), tools=offered)
    script.tool(run)
    script.end(run)
    assert evaluate("offered-tools-only", script.exit()).status == status


def test_a_tool_of_a_call_made_elsewhere_is_not_observed() -> None:
    script = Script()
    script.tool(script.run())
    assert evaluate("offered-tools-only", script.exit()).status == "not_observed"


# tool-output-delivered


def _delivered(held: object, *, guarded: bool = False, times: int = 1, kind: str = "function") -> Script:
    script = Script()
    run = script.run()
    for _ in range(times):
        script.model(run, "go", function_call())
    script.tool(run, output="ok", tool_kind=kind)
    if guarded:
        script.add("guardrail.ran", run=run, guardrail_kind="tool_output", name="check", call_id="call_1")
    script.end(run, items=[{**OUTPUT_ITEM, "output": held}])
    return script.exit()


def test_a_result_that_holds_another_output_is_violated() -> None:
    assert told("tool-output-delivered", _delivered("")) == [
        "tool pay gave 'ok' for call_1; the result of run R1 holds ''"
    ]


def _list_delivered(
    held: object, *, more: bool = False, parallel: bool = False, kind: str = "builtins:list"
) -> Script:
    """A tool gives `["a"]`, a list of its own; the result holds `held`."""
    script = Script()
    run = script.run()
    script.model(run, "go", function_call())
    script.add("tool.started", run=run, agent="a", tool="pay", call_id="call_1", tool_kind="function")
    script.add(
        "tool.ended",
        run=run,
        agent="a",
        tool="pay",
        call_id="call_1",
        output=["a"],
        output_type="builtins:list",
    )
    if parallel:
        with script.lane() as one:
            script.add("body.started", frame="F1", function="main")
        with script.lane() as other:
            script.add("body.started", frame="F2", function="meanwhile")
        script.join(one, other)
    if more:
        script.tool(run, "call_2")
    script.end(run, items=[{**OUTPUT_ITEM, "output": held, "output_type": kind}])
    return script.exit()


def test_a_tools_own_list_that_another_tool_may_have_changed_is_silent() -> None:
    assert evaluate("tool-output-delivered", _list_delivered(["a", "b"], more=True)).status == "holds"


def test_a_tools_own_list_that_nothing_else_touched_is_compared() -> None:
    assert told("tool-output-delivered", _list_delivered(["b"])) == [
        "tool pay gave ['a'] for call_1; the result of run R1 holds ['b']"
    ]


def test_the_type_of_a_tools_own_list_is_always_compared() -> None:
    for script in (
        _list_delivered("['a']", more=True),
        _list_delivered(["a", "b"], more=True, kind="builtins:tuple"),
    ):
        assert evaluate("tool-output-delivered", script).status == "violated"


def test_where_something_goes_on_in_parallel_a_list_may_change_at_any_time() -> None:
    assert evaluate("tool-output-delivered", _list_delivered(["a", "b"], parallel=True)).status == "holds"


def test_the_same_output_or_one_that_may_have_been_replaced_is_silent() -> None:
    assert evaluate("tool-output-delivered", _delivered("ok")).status == "holds"
    assert evaluate("tool-output-delivered", _delivered("", guarded=True)).status == "not_observed"
    assert evaluate("tool-output-delivered", _delivered("", times=2)).status == "not_observed"
    assert evaluate("tool-output-delivered", _delivered("", kind="computer")).status == "not_observed"


# hooks-complete

HOOKS = {"run": ["on_agent_end", "on_handoff", "on_tool_end"], "agent": []}


def _hooked(*, ends: int = 1, output: str = "done", tool_ends: bool = True, handoffs: int = 0) -> Script:
    script = Script()
    script.knows_hooks(HOOKS)
    run = script.run()
    script.tool(run, output="ok" if tool_ends else None)
    for _ in range(handoffs):
        script.add("handoff.made", run=run, from_agent="a", to_agent="b")
    for _ in range(ends):
        script.add("hook.called", run=run, scope="run", hook="on_agent_end", agent="a", output=output)
    script.end(run, final_output="done")
    return script.exit()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"ends": 0}, "run R1 finished; on_agent_end was called 0 times"),
        ({"ends": 2}, "run R1 finished; on_agent_end was called 2 times"),
        ({"output": "x"}, "run R1: on_agent_end was told 'x', not the final output"),
        ({"tool_ends": False}, "run R1: 1 starts and 0 ends of tool pay for call_1"),
        ({"handoffs": 1}, "run R1 holds 0 handoffs; on_handoff was called once"),
    ],
)
def test_a_hook_that_is_missing_or_wrong_is_violated(fields: dict[str, object], sentence: str) -> None:
    assert told("hooks-complete", _hooked(**fields)) == [sentence]  # type: ignore[arg-type] # fields of any type


def test_complete_hooks_hold() -> None:
    assert evaluate("hooks-complete", _hooked()).status == "holds"


def test_an_interrupted_run_is_not_observed() -> None:
    script = Script()
    script.knows_hooks(HOOKS)
    script.end(script.run(), waits_for=["call_1"])
    assert evaluate("hooks-complete", script.exit()).status == "not_observed"


# turn-grows


def _turns(*second: object, handoff: bool = False, **start: object) -> Script:
    script = Script()
    run = script.run(**start)
    script.model(run, [message("go", "user")], function_call())
    if handoff:
        script.add("handoff.made", run=run, from_agent="a", to_agent="b")
    script.model(run, list(second), message("done"))
    script.end(run)
    return script.exit()


def test_a_turn_that_forgets_is_violated() -> None:
    assert told("turn-grows", _turns(function_call(), function_output())) == [
        "the message of the turn before is missing in the next model input of run R1"
    ]


def test_a_turn_that_builds_on_the_one_before_holds() -> None:
    script = _turns(message("go", "user"), function_call(), function_output())
    assert evaluate("turn-grows", script).status == "holds"


def test_a_handoff_or_a_filter_may_forget() -> None:
    assert evaluate("turn-grows", _turns(handoff=True)).status == "not_observed"
    filtered = _turns(settings={"call_model_input_filter": True})
    assert evaluate("turn-grows", filtered).status == "not_observed"


# session-feeds-model


def _fed(told_first: list[object], after: list[object], **start: object) -> Script:
    script = Script()
    fields = {"session": "D1", "session_before": [message("old", "user")], "input": "go", **start}
    run = script.run(**fields)
    script.model(run, told_first, message("done"))
    item = {"type": "message_output_item", "raw": message("done")}
    script.end(run, session="D1", session_after=after, items=[item])
    return script.exit()


OLD, GO = message("old", "user"), message("go", "user")


def test_what_the_session_held_and_the_model_is_not_told_is_violated() -> None:
    assert told("session-feeds-model", _fed([GO], [OLD, GO, message("done")])) == [
        "a message, in the session before, is missing in the first model input of run R1"
    ]


def test_what_the_session_got_from_nowhere_is_violated() -> None:
    assert told("session-feeds-model", _fed([OLD, GO], [OLD, GO, message("odd"), message("done")])) == [
        "the session of run R1 got a message, which neither its input nor its result holds"
    ]


def test_a_session_that_feeds_and_keeps_holds() -> None:
    script = _fed([OLD, GO], [OLD, GO, message("done")])
    assert (evaluate("session-feeds-model", script).status) == "holds"


def test_a_limited_or_filtered_session_is_not_judged_for_what_it_feeds() -> None:
    limited = _fed([GO], [OLD, GO, message("done")], settings={"session_limit": 1})
    assert evaluate("session-feeds-model", limited).because == ()
    filtered = _fed([GO], [OLD], settings={"session_input_callback": True})
    assert evaluate("session-feeds-model", filtered).status == "not_observed"


def test_two_runs_at_once_on_one_session_are_not_judged() -> None:
    script = Script()
    ends = []
    for name in ("a", "b"):
        with script.lane() as end:
            run = script.run(session="D1", session_before=[], input=name)
            script.model(run, name, message("done"))
            script.end(run, session="D1", session_after=[message("a", "user"), message("b", "user")])
        ends.append(end)
    script.join(*ends)
    assert evaluate("session-feeds-model", script.exit()).status == "not_observed"


# usage-is-sum


def _usage(reported: object, *, base: object = None, answers: int = 2, **start: object) -> Script:
    script = Script()
    run = script.run(usage=base, **start)
    for _ in range(answers):
        usage = {"requests": 1, "input_tokens": 10, "output_tokens": 5}
        script.add("model.called", run=run, call="M1", model="m:M", streamed=False, input="go")
        script.add("model.answered", run=run, call="M1", output=[], usage=usage)
    script.end(run, usage=reported)
    return script.exit()


RIGHT = {"requests": 2, "input_tokens": 20, "output_tokens": 10}


@pytest.mark.parametrize("wrong", [{"requests": 3}, {"input_tokens": 30}, {"output_tokens": 0}])
def test_usage_that_does_not_add_up_is_violated(wrong: dict[str, int]) -> None:
    assert evaluate("usage-is-sum", _usage({**RIGHT, **wrong})).status == "violated"


def test_usage_that_adds_up_holds() -> None:
    assert evaluate("usage-is-sum", _usage(RIGHT)).status == "holds"
    assert evaluate("usage-is-sum", _usage(RIGHT, base=RIGHT, answers=0)).status == "not_observed"
    more = {"requests": 4, "input_tokens": 40, "output_tokens": 20}
    assert evaluate("usage-is-sum", _usage(more, base=RIGHT)).status == "holds"


def test_usage_of_a_context_that_is_passed_on_is_not_judged() -> None:
    script = _usage({**RIGHT, "requests": 9}, context="agents.run_context:RunContextWrapper")
    assert evaluate("usage-is-sum", script).status == "not_observed"


# error-has-origin


def _raised(kind: str, *, by: str | None = None, asks: bool = True, **more: Json) -> Script:
    script = Script()
    run = script.run()
    if asks:
        script.model(run, "go", function_call())
    error = {"type": kind, "message": ""}
    if by == "body":
        script.add("body.raised", run=run, frame="F1", function="tool", error=error)
    elif by == "nested":
        script.add("body.raised", run=script.run(inside=run), frame="F1", function="tool", error=error)
    elif by == "thread":
        script.add("body.raised", frame="F1", function="tool", error=error)
    elif by == "model":
        script.add("model.failed", run=run, call="M1", error=error)
    elif by == "session":
        script.stores("D1", error=error, run=run)
    elif by == "tool":
        script.tool(run, output=None)
    script.end(run, "raised", error={**error, **more})
    return script.exit()


def test_a_type_error_that_nobody_raised_is_violated() -> None:
    assert told("error-has-origin", _raised("builtins:TypeError")) == [
        "run R1 raised TypeError, which nothing outside of the SDK raised"
    ]


def test_what_a_caller_got_wrong_is_not_judged() -> None:
    assert (
        evaluate("error-has-origin", _raised("builtins:AttributeError", asks=False)).status == "not_observed"
    )


def test_a_tool_that_started_and_never_ended_may_have_raised() -> None:
    assert evaluate("error-has-origin", _raised("builtins:KeyError", by="tool")).status == "not_observed"


def test_an_error_raised_from_one_that_was_seen_holds() -> None:
    script = _raised("builtins:KeyError", by="body", type="builtins:TypeError")
    assert evaluate("error-has-origin", script).status == "violated"
    cause = {"type": "builtins:KeyError", "message": ""}
    script = _raised("builtins:KeyError", by="body", type="builtins:TypeError", cause=cause)
    assert evaluate("error-has-origin", script).status == "holds"


@pytest.mark.parametrize("when", ["before", "in another run"])
def test_the_same_error_elsewhere_excuses_nothing(when: str) -> None:
    script = Script()
    other = script.run() if when == "in another run" else None
    error = {"type": "builtins:KeyError", "message": ""}
    script.add("body.raised", run=other, frame="F1", function="tool", error=error)
    run = script.run()
    script.model(run, "go", message("done"))
    script.end(run, "raised", error=error)
    script.add("body.raised", frame="F2", function="main", error=error)
    assert evaluate("error-has-origin", script.exit()).status == "violated"


@pytest.mark.parametrize("by", ["body", "nested", "thread", "model", "session"])
def test_an_error_that_somebody_raised_holds(by: str) -> None:
    assert evaluate("error-has-origin", _raised("builtins:KeyError", by=by)).status == "holds"


def test_the_sdks_own_errors_hold() -> None:
    assert evaluate("error-has-origin", _raised("agents.exceptions:MaxTurnsExceeded")).status == "holds"
