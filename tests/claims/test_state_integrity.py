"""state-integrity: positive and silent cases."""

import pytest

from agentproof.claims import change_of
from agentproof.models.diff import ABSENT
from tests.claims.builder import Json, Script, evaluate, state_json, told

RULE = "state-integrity"


def _two_checkpoints(script: Script) -> tuple[str, str]:
    run = script.run()
    result = script.end(run, waits_for=["call_1"])
    return script.made(result, state_json()), script.made(result, state_json())


def test_a_decision_that_leaks_to_the_other_checkpoint_is_violated() -> None:
    script = Script()
    draft, other = _two_checkpoints(script)
    script.decide(draft, leaks_to=other)
    outcome = evaluate(RULE, script.exit())
    assert outcome.status == "violated"
    assert told(RULE, script) == ["S2 changed while only S1 was decided"]
    (finding,) = outcome.because
    assert finding.pointer == "/context/approvals/pay"
    assert finding.before is None
    assert finding.after == {"approved": ["call_1"], "rejected": []}


def test_a_run_that_changes_an_untouched_checkpoint_is_violated() -> None:
    script = Script()
    one, other = _two_checkpoints(script)
    run = script.run(state=one)
    script.now[other]["context"]["usage"]["requests"] = 2
    script.end(run)
    assert told(RULE, script.exit()) == ["S2 changed while only run R2, resumed from S1, went on"]


def test_a_change_that_nothing_explains_is_violated() -> None:
    script = Script()
    _one, other = _two_checkpoints(script)
    script.now[other]["current_turn"] = 7
    assert told(RULE, script.exit()) == ["S2 changed without an operation on it"]


def test_a_value_that_becomes_null_is_told_from_one_that_goes() -> None:
    script = Script()
    _one, other = _two_checkpoints(script)
    script.now[other]["generated_items"] = None
    script.now[other]["new"] = None
    del script.now[other]["context"]["usage"]
    went, became, new = evaluate(RULE, script.exit()).because
    assert (went.pointer, went.after, went.null) == ("/context/usage", None, ())
    assert (new.pointer, new.after, new.null) == ("/new", None, ("after",))
    assert (became.pointer, became.after, became.null) == ("/generated_items", None, ("after",))
    assert [change_of(each).after for each in (went, became, new)] == [ABSENT, None, None]
    assert change_of(new).before == ABSENT
    assert isinstance(change_of(became).before, list)


def test_one_pointer_is_told_once() -> None:
    script = Script()
    one, other = _two_checkpoints(script)
    for requests in (2, 3):
        run = script.run(state=one)
        script.now[other]["context"]["usage"]["requests"] = requests
        script.end(run)
    (finding,) = evaluate(RULE, script.exit()).because
    assert (finding.pointer, finding.before, finding.after) == ("/context/usage/requests", 1, 2)


def test_own_decisions_and_own_runs_are_silent() -> None:
    script = Script()
    one, other = _two_checkpoints(script)
    script.decide(one)
    script.decide(other)
    run = script.run(state=one)
    script.now[one]["current_turn"] = 2
    script.end(run)
    run = script.run(state=other)
    script.end(run)
    outcome = evaluate(RULE, script.exit())
    assert outcome.status == "holds"
    assert outcome.sites


def test_the_callers_context_and_the_sdks_marker_are_left_out() -> None:
    script = Script()
    one, other = _two_checkpoints(script)
    script.decide(one)
    script.now[other]["context"]["context"] = {"calls": 1}
    script.now[other]["_generated_items_last_processed_marker"] = "x"
    script.now[other]["trace"] = {"id": "trace_1"}
    script.decide(other)
    assert evaluate(RULE, script.exit()).status == "holds"


def test_a_parallel_run_of_the_same_state_explains_a_change_wherever_it_is_listed() -> None:
    script = Script()
    one, other = _two_checkpoints(script)
    with script.lane() as first:
        run = script.run(state=one)
        script.now[other]["current_turn"] = 2  # the other run is at work, in a lane listed later
        script.end(run)
    with script.lane() as second:
        run = script.run(state=other)
        script.end(run)
    script.join(first, second)
    assert evaluate(RULE, script.exit()).because == ()


def test_a_run_that_its_consumer_left_may_go_on_changing_its_state() -> None:
    script = Script()
    one, _other = _two_checkpoints(script)
    run = script.run(state=one)
    script.end(run, "left")
    script.now[one]["current_turn"] = 3
    assert evaluate(RULE, script.exit()).because == ()


OUTPUT: Json = {"type": "tool_call_output_item", "raw_item": {"call_id": "c1", "output": "['a']"}}


def _grows(before: object, after: object, *, key: str = "generated_items", **born: object) -> Script:
    """A state in which a tool's output becomes another while nothing is done to the state."""
    script = Script()
    result = script.end(script.run(), waits_for=["call_1"])
    document = {**state_json(), key: [{**OUTPUT, "output": before}]}
    one = script.made(result, document, **born)
    script.now[one][key][0]["output"] = after
    script.look("decision")
    script.decide(one)
    return script.exit()


def _live(kind: str) -> list[object]:
    return [{"call_id": "c1", "output": "?", "output_type": kind}]


@pytest.mark.parametrize("key", ["generated_items", "session_items"])
@pytest.mark.parametrize(
    ("before", "after", "live"),
    [
        (["a"], ["a", "by hand"], None),
        ({"todo": {"a": 1}}, {"todo": {"a": 2}}, None),
        ([], ["by hand"], _live("builtins:list")),
        ("Todos(1)", "Todos(2)", _live("todos:Todos")),
    ],
    ids=["list", "dict", "emptied list", "object that its JSON tells as text"],
)
def test_a_tools_own_object_that_the_script_goes_on_changing_is_silent(
    before: object, after: object, live: object, key: str
) -> None:
    assert evaluate(RULE, _grows(before, after, key=key, live=live)).because == ()


@pytest.mark.parametrize(
    ("before", "after", "live"),
    [
        ("ok", "other", None),
        ("ok", "other", _live("builtins:str")),
        (["a"], "['a']", _live("builtins:list")),
        (["a"], {"0": "a"}, None),
        (None, ["a"], None),
    ],
    ids=["text", "known text", "list that became text", "list that became a dict", "none before"],
)
def test_another_output_in_place_of_a_tools_own_is_violated(
    before: object, after: object, live: object
) -> None:
    assert told(RULE, _grows(before, after, live=live)) == ["S1 changed without an operation on it"]


def test_an_output_of_another_call_in_its_place_is_violated() -> None:
    script = Script()
    result = script.end(script.run(), waits_for=["call_1"])
    one = script.made(result, state_json(generated_items=[{**OUTPUT, "output": ["a"]}]))
    script.now[one]["generated_items"] = [
        {**OUTPUT, "raw_item": {**OUTPUT["raw_item"], "call_id": "c2"}, "output": ["b"]}
    ]
    pointers = [finding.pointer for finding in evaluate(RULE, script.exit()).because]
    assert "/generated_items/0/output/0" in pointers


def test_input_items_and_information_that_the_script_gave_are_its_own() -> None:
    script = Script()
    result = script.end(script.run(), waits_for=["call_1"])
    given = [{"role": "user", "content": "go"}]
    info = [{"guardrail": {}, "output": {"tripwireTriggered": False, "outputInfo": {"seen": 1}}}]
    one = script.made(result, state_json(original_input=given, input_guardrail_results=info))
    script.now[one]["original_input"][0]["content"] = "changed by the caller"
    script.now[one]["input_guardrail_results"][0]["output"]["outputInfo"]["seen"] = 2
    assert evaluate(RULE, script.exit()).because == ()


def test_an_input_item_more_than_the_script_gave_is_violated() -> None:
    script = Script()
    result = script.end(script.run(), waits_for=["call_1"])
    one = script.made(result, state_json(original_input=[{"role": "user", "content": "go"}]))
    script.now[one]["original_input"].append({"role": "user", "content": "go"})
    assert evaluate(RULE, script.exit()).status == "violated"


def test_a_look_just_before_an_operation_blames_no_earlier_one() -> None:
    script = Script()
    one, other = _two_checkpoints(script)
    script.now[other]["current_turn"] = 7  # S2 itself was made last: it was not looked at just after that
    script.look("decision")
    script.decide(one)
    assert told(RULE, script.exit()) == ["S2 changed without an operation on it"]


def test_the_making_of_another_state_is_blamed() -> None:
    script = Script()
    result = script.end(script.run(), waits_for=["call_1"])
    one = script.made(result, state_json())
    script.made(result, state_json())
    script.now[one]["current_turn"] = 7
    script.look("decision")
    assert told(RULE, script.exit()) == ["S1 changed while only S2 was made from a result"]


def test_a_lone_state_is_not_observed() -> None:
    script = Script()
    run = script.run()
    script.made(script.end(run), state_json())
    assert evaluate(RULE, script.exit()).status == "not_observed"


def test_a_state_that_is_never_seen_again_is_no_site() -> None:
    script = Script()
    one, _forgotten = _two_checkpoints(script)
    script.decide(one)
    assert evaluate(RULE, script.exit()).status == "not_observed"


def test_a_state_whose_run_has_returned_is_left_out() -> None:
    script = Script()
    one, other = _two_checkpoints(script)
    script.end(script.run(state=one))
    script.now[one]["current_turn"] = 9
    script.decide(other, leaks_to=one)
    assert evaluate(RULE, script.exit()).because == ()


def test_a_state_whose_run_raised_is_still_looked_at() -> None:
    script = Script()
    one, other = _two_checkpoints(script)
    script.end(script.run(state=one), "raised")
    script.decide(other, leaks_to=one)
    assert told(RULE, script.exit()) == ["S1 changed while only S2 was decided"]
