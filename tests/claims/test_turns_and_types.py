"""turn-has-cause, disabled-never-runs and json-keeps-types: positive and silent cases."""

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

# turn-has-cause


def _two_turns(answer: list[object], then_told: list[object]) -> Script:
    script = Script()
    run = script.run()
    script.model(run, [message("go", "user")], *answer)
    script.model(run, [message("go", "user"), *answer, *then_told], message("done"))
    script.end(run)
    return script.exit()


def test_a_model_that_is_asked_again_after_its_answer_is_violated() -> None:
    script = _two_turns([message("no")], [])
    assert told("turn-has-cause", script) == [
        "run R1 asked the model again after it had answered, with nothing new to tell"
    ]


def test_a_refusal_is_an_answer() -> None:
    refusal = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    assert evaluate("turn-has-cause", _two_turns([refusal], [])).status == "violated"


@pytest.mark.parametrize(
    ("answer", "then_told"),
    [
        ([function_call()], [function_output()]),
        ([message("wait"), function_call()], [function_output()]),
        ([message("")], []),
        ([message("first")], [message("and this?", "user")]),
        ([{"type": "reasoning", "id": "rs_1"}], []),
    ],
    ids=["a call", "a message and a call", "an empty message", "new input", "reasoning alone"],
)
def test_a_turn_with_a_cause_is_silent(answer: list[object], then_told: list[object]) -> None:
    assert evaluate("turn-has-cause", _two_turns(answer, then_told)).status == "holds"


def test_one_call_of_the_model_is_not_observed() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", message("done"))
    assert evaluate("turn-has-cause", script.exit()).status == "not_observed"


# disabled-never-runs


@pytest.mark.parametrize(
    ("enabled", "status"), [(False, "violated"), (True, "holds"), (None, "not_observed")]
)
def test_a_tool_runs_only_while_it_is_enabled(enabled: bool | None, status: str) -> None:
    script = Script()
    script.tool(script.run(), enabled=enabled)
    assert evaluate("disabled-never-runs", script.exit()).status == status


# json-keeps-types

MODEL = {"$object": "__main__:Point", "fields": {"x": 1, "y": 2}}


def _state_of(live: object, written: object) -> Script:
    """A state made from a result whose tool gave `live`, and which writes `written`."""
    script = Script()
    run = script.run()
    kept = {"type": "tool_call_output_item", "raw_item": function_output("c1"), "output": written}
    outputs = [{"call_id": "c1", "output": live, "output_type": "m:T"}]
    script.made(script.end(run), state_json(generated_items=[kept]), live=outputs)
    return script.exit()


@pytest.mark.parametrize(
    ("live", "written"),
    [
        ([MODEL], ["Point(x=1, y=2)"]),
        ({"at": MODEL}, {"at": "Point(x=1, y=2)"}),
        (MODEL, "Point(x=1, y=2)"),
        ({"n": 1}, {"n": "1"}),
        ([True], ["True"]),
    ],
)
def test_structure_that_became_text_is_violated(live: object, written: object) -> None:
    script = _state_of(live, written)
    assert told("json-keeps-types", script) == ["in the JSON of S1, the output of c1 has become text"]


@pytest.mark.parametrize(
    ("live", "written"),
    [
        ([MODEL], [{"x": 1, "y": 2}]),
        ("text", "text"),
        ({"$object": "__main__:Color", "fields": {"name": "RED", "value": 1}}, "1"),
        ({"$object": "uuid:UUID", "fields": {"text": "1"}}, "1"),
        ({"$opaque": "__main__:Thing"}, "<Thing>"),
        ({"$bytes": "00"}, "b'x'"),
        ({"$float": "0.5"}, 0.5),
    ],
)
def test_what_keeps_its_form_or_has_none_in_json_is_silent(live: object, written: object) -> None:
    assert evaluate("json-keeps-types", _state_of(live, written)).status == "holds"


def test_the_json_that_the_script_asks_for_is_looked_at_too() -> None:
    script = Script()
    kept = {"type": "tool_call_output_item", "raw_item": function_output("c1"), "output": [{"x": 1}]}
    outputs = [{"call_id": "c1", "output": [MODEL], "output_type": "m:T"}]
    state = script.made(script.end(script.run()), state_json(generated_items=[kept]), live=outputs)
    script.now[state]["generated_items"][0]["output"] = ["Point(x=1, y=2)"]
    script.serialised(state, live=outputs)
    assert evaluate("json-keeps-types", script.exit()).status == "violated"


def test_a_state_without_outputs_is_not_observed() -> None:
    script = Script()
    script.made(script.end(script.run()), state_json())
    assert evaluate("json-keeps-types", script.exit()).status == "not_observed"
