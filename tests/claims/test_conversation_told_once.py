"""conversation-told-once: what a server that keeps the conversation is told, and what is excused."""

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

CLAIM = "conversation-told-once"
CONVERSATION: dict[str, Json] = {"conversation_id": "conv_1"}


def _turns(then_told: list[object], **link: Json) -> Script:
    script = Script()
    run = script.run()
    script.model(run, [message("go", "user")], function_call(), **CONVERSATION)
    script.tool(run)
    script.model(run, then_told, message("done"), **{**CONVERSATION, **link})
    script.end(run, items=[{"type": "tool_call_output_item", "raw_item": function_output()}])
    return script.exit()


def test_an_output_alone_holds() -> None:
    outcome = evaluate(CLAIM, _turns([function_output()]))
    assert (outcome.status, outcome.sites) == ("holds", 1)


def test_a_call_that_the_server_gave_is_not_sent_back() -> None:
    script = _turns([message("go", "user"), function_call(), function_output()])
    assert told(CLAIM, script) == [
        "the conversation of run R1 that the server keeps is sent the call call_1, which it gave itself"
    ]


def test_an_output_that_is_not_told_is_violated() -> None:
    assert told(CLAIM, _turns([])) == [
        "the conversation of run R1 that the server keeps is not told the output of call_1"
    ]


def test_an_output_that_the_result_holds_must_have_been_told_although_no_tool_ran() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call(name="unknown"), **CONVERSATION)
    script.model(run, [], message("done"), **CONVERSATION)
    script.end(run, items=[{"type": "tool_call_output_item", "raw_item": function_output()}])
    assert evaluate(CLAIM, script.exit()).status == "violated"


def test_a_call_that_nothing_answered_need_not_be_told_of() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call(), **CONVERSATION)
    script.model(run, [], message("done"), **CONVERSATION)
    script.end(run, items=[])
    assert evaluate(CLAIM, script.exit()).status == "holds"


def _three_turns(last: list[object]) -> Script:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call("c1"), **CONVERSATION)
    script.tool(run, "c1")
    script.model(run, [function_output("c1")], function_call("c2"), **CONVERSATION)
    script.tool(run, "c2")
    script.model(run, last, message("done"), **CONVERSATION)
    script.end(run)
    return script.exit()


def test_an_output_is_not_told_again() -> None:
    assert told(CLAIM, _three_turns([function_output("c1"), function_output("c2")])) == [
        "the conversation of run R1 that the server keeps is told the output of c1 again"
    ]
    assert evaluate(CLAIM, _three_turns([function_output("c2")])).status == "holds"


def _resumed(then_told: list[object], **second: Json) -> Script:
    script = Script()
    first = script.run()
    script.model(first, "go", function_call("c1", "rate"), function_call("c2"), **CONVERSATION)
    script.tool(first, "c1", "rate")
    state = script.made(script.end(first, waits_for=["c2"]), state_json(call=function_call("c2")))
    script.decide(state, call_id="c2")
    run = script.run(state=state)
    script.tool(run, "c2")
    script.model(run, then_told, message("done"), **{**CONVERSATION, **second})
    script.end(run)
    return script.exit()


def test_a_resumed_run_tells_what_ran_before_the_pause() -> None:
    assert told(CLAIM, _resumed([function_output("c2")])) == [
        "the conversation of run R2 that the server keeps is not told the output of c1"
    ]
    assert evaluate(CLAIM, _resumed([function_output("c1"), function_output("c2")])).status == "holds"


def test_another_conversation_does_not_go_on() -> None:
    assert evaluate(CLAIM, _resumed([], conversation_id="conv_2")).status == "not_observed"


@pytest.mark.parametrize(("answered", "status"), [("resp_1", "violated"), ("resp_2", "not_observed")])
def test_the_previous_response_is_what_a_call_goes_on_from(answered: str, status: str) -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call(), response_id=answered)
    script.tool(run)
    script.model(run, [function_call(), function_output()], previous_response_id="resp_1")
    script.end(run)
    assert evaluate(CLAIM, script.exit()).status == status


def test_what_the_caller_supplied_itself_is_excused() -> None:
    script = Script()
    run = script.run(input=[message("go", "user"), function_call(), function_output()])
    script.model(run, [message("go", "user")], function_call(), **CONVERSATION)
    script.tool(run)
    script.model(run, [function_call(), function_output()], message("done"), **CONVERSATION)
    script.end(run)
    assert evaluate(CLAIM, script.exit()).status == "holds"


def test_an_id_that_the_model_gave_twice_is_excused() -> None:
    script = Script()
    run = script.run()
    for given in ("go", [function_output()]):
        script.model(run, given, function_call(), **CONVERSATION)
        script.tool(run)
    script.model(run, [function_output()], message("done"), **CONVERSATION)
    script.end(run)
    assert evaluate(CLAIM, script.exit()).status == "holds"


def test_a_filter_of_the_model_input_is_left_out() -> None:
    script = Script()
    run = script.run(settings={"call_model_input_filter": "f"})
    script.model(run, "go", function_call(), **CONVERSATION)
    script.tool(run)
    script.model(run, [], message("done"), **CONVERSATION)
    script.end(run)
    assert evaluate(CLAIM, script.exit()).status == "not_observed"


def test_what_the_script_manages_itself_is_not_observed() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call())
    script.tool(run)
    script.model(run, [function_call(), function_output()], message("done"))
    script.end(run)
    assert evaluate(CLAIM, script.exit()).status == "not_observed"
