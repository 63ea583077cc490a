"""What is due when a model call is tried again, when a run raises, and when an agent has changed."""

from typing import Any

import pytest

from tests.claims.builder import Script, evaluate, message, state_json, told

HOOKS = {"run": ["on_llm_end", "on_llm_start"], "agent": []}
DOWN = {"type": "builtins:ConnectionError", "message": "reset"}
TRIPPED = {"type": "agents.exceptions:InputGuardrailTripwireTriggered", "message": ""}


def _failed(script: Script, run: str, given: object = "go") -> None:
    call = script.label("M")
    script.add("model.called", run=run, call=call, model="m:M", streamed=False, input=given)
    script.add("model.failed", run=run, call=call, error=DOWN)


# llm-hooks-complete


def _tried(*hooks: str, then_given: object = "go") -> Script:
    script = Script()
    script.knows_hooks(HOOKS)
    run = script.run()
    for hook in hooks:
        script.add("hook.called", run=run, scope="run", hook=hook, agent="a", agent_has_hooks=False)
    _failed(script, run)
    script.model(run, then_given, message("done"))
    script.end(run)
    return script.exit()


@pytest.mark.parametrize("starts", [1, 2])
def test_a_call_that_is_tried_again_may_be_told_once_or_twice(starts: int) -> None:
    script = _tried(*["on_llm_start"] * starts, "on_llm_end")
    assert evaluate("llm-hooks-complete", script).status == "holds"


@pytest.mark.parametrize("starts", [0, 3])
def test_a_call_that_is_tried_again_is_told_no_less_and_no_more(starts: int) -> None:
    script = _tried(*["on_llm_start"] * starts, "on_llm_end")
    assert evaluate("llm-hooks-complete", script).status == "violated"


def test_a_call_with_another_input_is_not_the_same_call_again() -> None:
    script = _tried("on_llm_start", "on_llm_end", then_given=[message("go", "user"), message("and", "user")])
    assert told("llm-hooks-complete", script) == [
        "in run R1, on_llm_start of the run's hooks was called once, where 2 times was due"
    ]


# usage-is-sum


def _counted(requests: int, *, fails: bool) -> Script:
    script = Script()
    run = script.run()
    if fails:
        _failed(script, run)
    call = script.label("M")
    usage = {"requests": 1, "input_tokens": 8, "output_tokens": 4}
    script.add("model.called", run=run, call=call, model="m:M", streamed=False, input="go")
    script.add("model.answered", run=run, call=call, output=[message("done")], usage=usage)
    script.end(run, usage={**usage, "requests": requests})
    return script.exit()


def test_a_call_that_failed_may_count_as_a_request() -> None:
    assert evaluate("usage-is-sum", _counted(2, fails=True)).status == "holds"
    assert evaluate("usage-is-sum", _counted(2, fails=False)).status == "violated"


# result-in-session

USER = message("hi", "user")


def _stored(held: list[object], *, popped: bool = True, by_sdk: bool = True, **end: Any) -> Script:
    script = Script()
    run = script.run(input="hi", session="D1")
    script.stores("D1", USER, run=run)
    if popped:
        script.session("D1", "pop_item", run=run, by_sdk=by_sdk, result=USER)
    script.model(run, [USER], message("hello"))
    script.stores("D1", message("hello"), run=run)
    items = [{"type": "message_output_item", "raw": message("hello")}]
    script.end(run, items=items, session="D1", session_after=held, **end)
    return script.exit()


def test_an_input_that_the_sdk_took_out_of_the_session_and_lost_is_violated() -> None:
    assert told("result-in-session", _stored([message("hello")])) == [
        "a message of the input of run R1 was taken out of its session again"
    ]


@pytest.mark.parametrize(
    "script",
    [
        _stored([USER, message("hello")]),
        _stored([message("hello")], popped=False),
        _stored([message("hello")], by_sdk=False),
    ],
    ids=["it was put back", "it was not taken out", "the script took it out"],
)
def test_an_input_that_the_sdk_did_not_lose_is_silent(script: Script) -> None:
    assert evaluate("result-in-session", script).status == "holds"


# guardrails-reported


def _ran(script: Script, run: str, name: str, *, tripped: bool = False, kind: str = "input") -> None:
    script.add("guardrail.ran", run=run, guardrail_kind=kind, name=name, tripped=tripped)


def _raised(script: Script, run: str, *listed: str, error: dict[str, Any] = TRIPPED) -> Script:
    lists = {"input": [{"name": name} for name in listed], "output": []}
    script.end(run, "raised", error={**error, "data": {"guardrails": lists}})
    return script.exit()


def test_an_exception_tells_the_guardrail_that_tripped() -> None:
    script = Script()
    run = script.run()
    _ran(script, run, "short", tripped=True)
    assert told("guardrails-reported", _raised(script, run)) == [
        "input guardrail short ran once in run R1; its exception tells 0"
    ]


def test_an_exception_tells_what_ran_before_the_guardrail_that_tripped() -> None:
    script = Script()
    run = script.run()
    _ran(script, run, "polite")
    _ran(script, run, "short", tripped=True)
    assert evaluate("guardrails-reported", _raised(script, run, "short")).status == "violated"


def test_an_exception_need_not_tell_what_ran_beside_the_guardrail_that_tripped() -> None:
    script = Script()
    run = script.run()
    with script.lane() as beside:
        _ran(script, run, "polite")
    _ran(script, run, "short", tripped=True)
    script.join(beside)
    assert evaluate("guardrails-reported", _raised(script, run, "short")).status == "holds"


def test_of_several_guardrails_that_tripped_any_one_is_enough() -> None:
    script = Script()
    run = script.run()
    with script.lane() as beside:
        _ran(script, run, "short", tripped=True)
    _ran(script, run, "clean", tripped=True)
    script.join(beside)
    assert evaluate("guardrails-reported", _raised(script, run, "clean")).status == "not_observed"


def test_an_exception_tells_what_ran_before_the_last_model_call() -> None:
    for listed, status in (((), "violated"), (("polite",), "holds")):
        script = Script()
        run = script.run()
        _ran(script, run, "polite")
        _failed(script, run)
        assert evaluate("guardrails-reported", _raised(script, run, *listed, error=DOWN)).status == status


def test_kinds_that_an_exception_does_not_tell_are_left_out() -> None:
    script = Script()
    run = script.run()
    _ran(script, run, "check", kind="tool_input")
    _failed(script, run)
    assert evaluate("guardrails-reported", _raised(script, run, error=DOWN)).status == "not_observed"


# nothing-after-end


@pytest.mark.parametrize(
    ("streamed", "error", "status"),
    [
        (False, None, "violated"),
        (False, {"type": "builtins:CancelledError", "message": ""}, "holds"),
        (True, None, "holds"),
    ],
    ids=["plain", "cancelled", "streamed"],
)
def test_a_guardrail_that_goes_on_after_a_plain_run(
    streamed: bool, error: dict[str, str] | None, status: str
) -> None:
    script = Script()
    run = script.run(streamed=streamed)
    with script.lane():
        script.add("guardrail.ran", run=run, guardrail_kind="input", name="slow", error=error)
    script.end(run, "raised", error=DOWN)
    assert evaluate("nothing-after-end", script.exit()).status == status


@pytest.mark.parametrize(("streamed", "status"), [(True, "holds"), (False, "violated")])
def test_what_an_input_guardrail_of_a_streamed_run_did_is_left_out(streamed: bool, status: str) -> None:
    script = Script()
    run = script.run(streamed=streamed)
    with script.lane():
        script.add("body.started", run=run, frame="F1", function="slow")
        script.add("body.returned", run=run, frame="F1", function="slow", value=True)
        _ran(script, run, "slow")
    script.end(run)
    assert evaluate("nothing-after-end", script.exit()).status == status


def test_a_tool_beside_an_input_guardrail_of_a_streamed_run_is_not_left_out() -> None:
    script = Script()
    run = script.run(streamed=True)
    with script.lane():
        _ran(script, run, "slow")
    with script.lane():
        script.tool(run)
    script.end(run)
    assert evaluate("nothing-after-end", script.exit()).status == "violated"


def test_a_guardrail_that_goes_on_is_named() -> None:
    script = Script()
    run = script.run()
    with script.lane():
        _ran(script, run, "slow", kind="output")
    script.end(run, "raised", error=DOWN)
    assert told("nothing-after-end", script.exit()) == [
        "run R1 ended without waiting: output guardrail slow went on"
    ]


# round-trip

PENDING = {"functions": [{"tool": {"name": "audit"}}, {"tool": {"name": "pay"}}], "tools_used": ["pay"]}


def _restored(kept: dict[str, Any], *lacking: str) -> Script:
    script = Script()
    source = script.digest(state_json(last_processed_response=PENDING))
    fields = {"state": "S1", "form": "json", "source": source, "lacking": list(lacking) or None}
    script.add("state.restored", snapshot=script.digest(state_json(last_processed_response=kept)), **fields)
    return script.exit()


def test_a_call_of_a_tool_that_the_agent_lacks_may_be_lost() -> None:
    kept = {**PENDING, "functions": [{"tool": {"name": "pay"}}]}
    assert evaluate("round-trip", _restored(kept, "audit")).status == "holds"
    assert evaluate("round-trip", _restored(kept)).status == "violated"


def test_what_else_is_lost_for_an_agent_that_lacks_a_tool_is_violated() -> None:
    assert evaluate("round-trip", _restored({**PENDING, "tools_used": []}, "audit")).status == "violated"
