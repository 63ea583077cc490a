"""Rules about results, guardrails, hooks and outputs: positive and silent cases."""

import time

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

# result-integrity

BEFORE = {"final_output": "done", "usage": {"requests": 1}}


def _result_seen(now: object, *, outcome: str = "returned", **start: object) -> Script:
    script = Script()
    run = script.run(**start)
    result = script.end(run, outcome)
    script.add("result.observed", result=result, of_run=run, before=BEFORE, now=now, moment="exit")
    return script


def test_a_result_that_changes_later_is_violated() -> None:
    script = _result_seen({**BEFORE, "usage": {"requests": 2}}).exit()
    assert told("result-integrity", script) == ["the result of run R1 changed after it had been returned"]
    assert evaluate("result-integrity", script).because[0].pointer == "/usage/requests"


def test_usage_of_a_context_that_the_script_passes_on_counts_on_purpose() -> None:
    script = _result_seen(
        {**BEFORE, "usage": {"requests": 2}}, context="agents.run_context:RunContextWrapper"
    ).exit()
    assert evaluate("result-integrity", script).because == ()


def test_a_stream_that_was_left_is_not_judged() -> None:
    script = _result_seen({**BEFORE, "final_output": "more"}, outcome="left").exit()
    assert evaluate("result-integrity", script).status == "not_observed"


def test_a_run_resumed_from_a_state_of_the_result_explains_the_change() -> None:
    script = Script()
    run = script.run()
    result = script.end(run)
    state = script.made(result, state_json())
    script.end(script.run(state=state))
    now = {**BEFORE, "usage": {"requests": 2}}
    script.add("result.observed", result=result, of_run=run, before=BEFORE, now=now, moment="run_end")
    outcome = evaluate("result-integrity", script.exit())
    assert (outcome.status, outcome.because) == ("holds", ())


def test_a_run_resumed_from_a_sibling_state_explains_the_change() -> None:
    script = Script()
    paused = script.end(script.run())
    run = script.run(state=script.made(paused, state_json()))
    result = script.end(run)
    script.end(script.run(state=script.made(paused, state_json())))
    now = {**BEFORE, "usage": {"requests": 2}}
    script.add("result.observed", result=result, of_run=run, before=BEFORE, now=now, moment="run_end")
    assert evaluate("result-integrity", script.exit()).because == ()


def _item(output: object, kind: str = "builtins:list", call: str = "c1") -> dict[str, object]:
    raw = {"type": "function_call_output", "call_id": call, "output": "['a']"}
    return {"type": "tool_call_output_item", "raw": raw, "output": output, "output_type": kind}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"items": [_item(["a"])]}, {"items": [_item(["a", "b"])]}),
        ({"items": [_item("Todos(1)", "t:Todos")]}, {"items": [_item("Todos(2)", "t:Todos")]}),
        ({"final_output": {"a": 1}}, {"final_output": {"a": 2}}),
        (
            {"final_output": {"$object": "m:Answer", "fields": {"n": 1}}},
            {"final_output": {"$object": "m:Answer", "fields": {"n": 2}}},
        ),
        ({"guardrails": {"input": [{"info": {"n": 1}}]}}, {"guardrails": {"input": [{"info": {"n": 2}}]}}),
    ],
    ids=["tool's list", "tool's object", "final dict", "final object", "guardrail's information"],
)
def test_what_the_script_may_go_on_changing_is_its_own(before: object, now: object) -> None:
    script = Script()
    run = script.run()
    result = script.end(run)
    script.add("result.observed", result=result, of_run=run, before=before, now=now, moment="exit")
    outcome = evaluate("result-integrity", script.exit())
    assert (outcome.status, outcome.because) == ("holds", ())


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"items": [_item("a", "builtins:str")]}, {"items": [_item("b", "builtins:str")]}),
        ({"items": [_item(["a"])]}, {"items": []}),
        ({"items": [_item(["a"])]}, {"items": [_item(["a", "b"], call="c2")]}),
        ({"items": [_item(["a"])]}, {"items": [_item("['a']", "builtins:str")]}),
        ({"final_output": {"a": 1}}, {"final_output": None}),
        ({"final_output": {"$float": "1.0"}}, {"final_output": {"$float": "2.0"}}),
        (
            {"final_output": {"$object": "m:Answer", "fields": {"n": 1}}},
            {"final_output": {"$object": "m:Other", "fields": {"n": 2}}},
        ),
    ],
    ids=["text", "item lost", "another call", "became text", "final lost", "number", "another object"],
)
def test_another_thing_in_its_place_is_a_change(before: object, now: object) -> None:
    script = Script()
    run = script.run()
    result = script.end(run)
    script.add("result.observed", result=result, of_run=run, before=before, now=now, moment="exit")
    assert evaluate("result-integrity", script.exit()).status == "violated"


def test_a_result_that_nobody_uses_later_is_not_observed() -> None:
    script = Script()
    script.end(script.run())
    assert evaluate("result-integrity", script.exit()).status == "not_observed"


# guardrails-reported


def _guarded(listed: object, *, outcome: str = "returned", error: object = None) -> Script:
    script = Script()
    run = script.run()
    script.add("guardrail.ran", run=run, guardrail_kind="tool_input", name="check", error=error)
    script.end(run, outcome, guardrails={"tool_input": listed} if listed is not None else None)
    return script.exit()


def test_a_guardrail_that_ran_and_is_not_listed_is_violated() -> None:
    assert told("guardrails-reported", _guarded([])) == [
        "tool input guardrail check ran once in run R1; its result lists 0"
    ]


def test_a_guardrail_that_is_listed_holds() -> None:
    assert evaluate("guardrails-reported", _guarded([{"name": "check"}])).status == "holds"


@pytest.mark.parametrize(
    "script",
    [
        _guarded([], outcome="raised"),
        _guarded([], error={"type": "builtins:ValueError", "message": ""}),
    ],
    ids=["the run raised", "the guardrail raised"],
)
def test_what_raised_need_not_be_listed(script: Script) -> None:
    assert evaluate("guardrails-reported", script).status == "not_observed"


# llm-hooks-complete

HOOKS = {"run": ["on_llm_end", "on_llm_start"], "agent": ["on_llm_end", "on_llm_start"]}


def _hooked(called: list[tuple[str, str]], *, known: object = HOOKS, own: bool = False) -> Script:
    script = Script()
    script.knows_hooks(known)
    run = script.run()
    script.add("hook.called", run=run, scope="run", hook="on_agent_start", agent="a", agent_has_hooks=own)
    script.model(run, "go", message("done"))
    for scope, hook in called:
        script.add("hook.called", run=run, scope=scope, hook=hook, agent="a")
    script.end(run)
    return script.exit()


BOTH = [("run", "on_llm_start"), ("run", "on_llm_end")]


def test_hooks_that_are_never_called_are_violated() -> None:
    assert told("llm-hooks-complete", _hooked([])) == [
        "in run R1, on_llm_start of the run's hooks was called 0 times, where once was due",
        "in run R1, on_llm_end of the run's hooks was called 0 times, where once was due",
    ]


def test_hooks_that_are_called_twice_are_violated() -> None:
    assert evaluate("llm-hooks-complete", _hooked([*BOTH, *BOTH])).status == "violated"


def test_an_agents_own_hooks_are_due_where_it_has_some() -> None:
    assert evaluate("llm-hooks-complete", _hooked(BOTH)).status == "holds"
    assert evaluate("llm-hooks-complete", _hooked(BOTH, own=True)).status == "violated"


def test_a_release_without_these_hooks_is_not_observed() -> None:
    assert evaluate("llm-hooks-complete", _hooked([], known={"run": []})).status == "not_observed"
    assert evaluate("llm-hooks-complete", _hooked([], known=None)).status == "not_observed"


# agent-tool-output


def _agent_tool(output: str, *, call_id: str | None = "c1", **start: object) -> Script:
    script = Script()
    run = script.run()
    fields = {"tool_kind": "agent", "extractor": False, **start}
    script.tool(run, "c1", "shop", output=None, **fields)
    nested = script.run(inside=run, input="x", call_id=call_id)
    script.end(nested, final_output="12 EUR")
    script.tool_ends(run, "c1", "shop", output)
    script.end(run)
    return script.exit()


@pytest.mark.parametrize("call_id", ["c1", None], ids=["told", "by order"])
def test_an_agent_tool_that_gives_something_else_is_violated(call_id: str | None) -> None:
    assert told("agent-tool-output", _agent_tool("", call_id=call_id)) == [
        "agent tool shop gave '' for c1; its run's final output is '12 EUR'"
    ]


def test_an_agent_tool_that_gives_its_runs_output_holds() -> None:
    assert evaluate("agent-tool-output", _agent_tool("12 EUR")).status == "holds"


def test_an_extractor_may_give_anything() -> None:
    assert evaluate("agent-tool-output", _agent_tool("", extractor=True)).status == "not_observed"


# no-python-repr


def _told_output(text: object, *, kind: str = "mcp", given: object = None) -> Script:
    script = Script()
    run = script.run()
    script.tool(run, "c1", "read", tool_kind=kind)
    if given is not None:
        script.add("mcp.called", run=run, tool="read", result=given)
    script.model(run, [function_call("c1", "read"), {**function_output("c1"), "output": text}], message("ok"))
    script.end(run)
    return script.exit()


@pytest.mark.parametrize("text", ["{'name': 'a.txt'}", "[None, True]", "[Link(name='a.txt')]", "('a', 1)"])
def test_a_repr_in_an_output_that_the_sdk_composed_is_violated(text: str) -> None:
    assert evaluate("no-python-repr", _told_output(text)).status == "violated"
    assert (
        evaluate("no-python-repr", _told_output([{"type": "input_text", "text": text}])).status == "violated"
    )


@pytest.mark.parametrize("text", ['{"name": "a.txt"}', "it's [fine]", "plain", "[1, 2]", "", "{'broken"])
def test_json_and_prose_are_silent(text: str) -> None:
    assert evaluate("no-python-repr", _told_output(text)).because == ()


@pytest.mark.parametrize(
    "text", ["['x'," + "a" * 90_000, "['x'," + "a(" * 45_000, "['x'," + "1" * 90_000 + "("]
)
def test_a_text_that_is_no_repr_for_long_takes_no_time(text: str) -> None:
    begun = time.process_time()
    assert evaluate("no-python-repr", _told_output(text)).because == ()
    assert time.process_time() - begun < 5


def test_an_odd_spelling_in_an_output_warns_nobody() -> None:
    # Python would warn of a decimal literal here, and warnings are errors in these tests.
    assert evaluate("no-python-repr", _told_output("['x', 1if 1else 2]")).because == ()


def test_what_the_server_gave_verbatim_is_silent() -> None:
    text = "{'name': 'a.txt'}"
    assert evaluate("no-python-repr", _told_output(text, given={"content": [{"text": text}]})).because == ()


def test_the_value_of_a_function_tool_is_left_out() -> None:
    assert evaluate("no-python-repr", _told_output("{'a': 1}", kind="function")).status == "not_observed"


# told-once


def _summary(text: str, role: str = "assistant") -> Script:
    script = Script()
    run = script.run()
    script.model(run, [message(text, role), function_call("c1"), function_output("c1")], message("done"))
    script.end(run)
    return script.exit()


@pytest.mark.parametrize("text", ['[{"call_id": "c1"}]', '{"call_id":"c1"}', "{'call_id': 'c1'}"])
def test_a_call_that_a_summary_tells_too_is_violated(text: str) -> None:
    assert told("told-once", _summary(text)) == [
        "run R1 tells its model c1 twice: as an item and in a summary"
    ]


def test_other_texts_and_what_the_script_wrote_are_silent() -> None:
    assert evaluate("told-once", _summary("c1 was called")).status == "holds"
    assert evaluate("told-once", _summary('{"call_id": "c1"}', "user")).status == "holds"
    script = Script()
    given = [message('{"call_id": "c1"}'), function_call("c1"), function_output("c1")]
    run = script.run(input=given)
    script.model(run, given, message("done"))
    script.end(run)
    assert evaluate("told-once", script.exit()).status == "holds"


# approval-respected, with what only later kinds of event tell


def test_a_call_that_a_tool_guardrail_looked_at_need_not_run() -> None:
    script = Script()
    run = script.run()
    state = script.made(script.end(run, waits_for=["call_1"]), state_json())
    script.decide(state)
    run = script.run(state=state)
    script.add("guardrail.ran", run=run, guardrail_kind="tool_input", name="check", call_id="call_1")
    script.end(run)
    assert evaluate("approval-respected", script.exit()).because == ()


def test_an_approval_on_a_context_is_an_approval() -> None:
    script = Script()
    script.add("context.decided", decision="approve", call_id="call_1", tool="pay", options={})
    run = script.run()
    script.tool(run, needs_approval=True)
    script.end(run)
    assert evaluate("approval-respected", script.exit()).because == ()
