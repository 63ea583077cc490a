"""round-trip, script-completed and call-output-linkage: positive and silent cases."""

import pytest

from tests.claims.builder import (
    PAY,
    Json,
    Script,
    evaluate,
    function_call,
    function_output,
    message,
    state_json,
    told,
)

# round-trip


def test_a_value_lost_between_to_json_and_from_json_is_violated() -> None:
    script = Script()
    script.restored(state_json(current_turn=2), as_is=state_json(current_turn=0))
    assert told("round-trip", script.exit()) == ["S1 is not what the JSON that it was restored from says"]


def _round_trip(before: Json, after: Json, *, version: str = "1.15") -> str:
    """Two documents of a state that differ in `after`'s keys; `version` is what the new one says."""
    script = Script()
    script.restored(state_json(**before), as_is={**state_json(**after), "$schemaVersion": version})
    return evaluate("round-trip", script.exit()).status


STEP = {"data": {"interruptions": [{"call_id": "call_1"}, {"call_id": "call_2"}]}}
LOST: list[tuple[str, Json, Json]] = [
    ("an interruption", {"step": STEP}, {"step": {"data": {"interruptions": [{"call_id": "call_1"}]}}}),
    ("all items", {"session_items": [{"type": "x"}]}, {"session_items": []}),
    ("an approval", {"approved": ["call_1", "call_2"]}, {"approved": ["call_1"]}),
    ("a tool's approvals", {"approved": ["call_1"]}, {}),
    ("a key", {"policy": "x"}, {}),
    ("a value that became null", {"max_turns": 5}, {"max_turns": None}),
    ("another value", {"max_turns": 5}, {"max_turns": 6}),
    ("one item more", {"session_items": []}, {"session_items": [{"type": "x"}]}),
]


@pytest.mark.parametrize(("before", "after"), [case[1:] for case in LOST], ids=[case[0] for case in LOST])
@pytest.mark.parametrize("version", ["1.15", "1.21"], ids=["same schema", "newer schema"])
def test_what_the_restored_state_lost_is_violated(before: Json, after: Json, version: str) -> None:
    assert _round_trip(before, after, version=version) == "violated"


@pytest.mark.parametrize("version", ["1.15", "1.21"], ids=["same schema", "newer schema"])
def test_a_field_without_a_value_may_be_spelled_out_or_left_out(version: str) -> None:
    assert _round_trip({"old": None}, {"new": None, "trace": {"id": "trace_2"}}, version=version) == "holds"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"added": "x", "generated_items": [{"type": "tool_call_item", "raw_item": PAY, "name": "pay"}]}),
        ({"gone": []}, {}),
        ({"filled": None}, {"filled": {"a": 1}}),
    ],
    ids=["keys added, also in items", "an empty key gone", "a null filled"],
)
def test_a_newer_schema_may_add_keys_and_drop_empty_ones(before: Json, after: Json) -> None:
    assert _round_trip(before, after, version="1.21") == "holds"
    assert _round_trip(before, after) == "violated"


def test_a_script_that_restores_nothing_is_not_observed() -> None:
    assert evaluate("round-trip", Script().exit()).status == "not_observed"


# script-completed

ASSERTION = {"type": "builtins:AssertionError", "message": "S2 was approved"}
FRAME = {"file": "reproduction.py", "line": 7, "function": "main"}


def test_a_failed_assertion_of_the_script_is_violated() -> None:
    script = Script().exit(outcome="raised", error=ASSERTION, frames=[FRAME])
    assert told("script-completed", script) == [
        "the script's own assertion failed: AssertionError at reproduction.py:7: S2 was approved"
    ]


@pytest.mark.parametrize("place", [None, "own", "other"], ids=["not told", "in it", "in an assertion helper"])
def test_an_assertion_that_the_script_made_itself_or_through_a_helper_is_its_own(place: str | None) -> None:
    script = Script().exit(outcome="raised", error=ASSERTION, frames=[FRAME], raised_in=place)
    assert evaluate("script-completed", script).status == "violated"


def test_an_assertion_inside_the_sdk_is_not_the_scripts() -> None:
    script = Script().exit(outcome="raised", error=ASSERTION, frames=[FRAME], raised_in="sdk")
    assert told("script-completed", script) == [
        "the script did not come to its end: AssertionError at reproduction.py:7: S2 was approved"
    ]
    test = {"error": ASSERTION, "frames": [FRAME], "raised_in": "sdk"}
    script = Script()
    script.add("test.ended", test="test_a.py::test_it", outcome="failed", **test)
    assert evaluate("script-completed", script.exit(code=1)).status == "not_observed"


def test_a_clean_exit_holds() -> None:
    assert evaluate("script-completed", Script().exit()).status == "holds"


@pytest.mark.parametrize(
    "end",
    [
        {"outcome": "raised", "error": {"type": "builtins:KeyError", "message": "'x'"}, "frames": [FRAME]},
        {"outcome": "raised", "error": ASSERTION},  # no frame of the script: raised elsewhere
        {"outcome": "exited", "code": 1},
        {"outcome": "timed_out"},
    ],
    ids=["another error", "an assertion elsewhere", "exit code 1", "timed out"],
)
def test_any_other_end_is_not_observed_and_says_how(end: dict[str, object]) -> None:
    outcome = evaluate("script-completed", Script().exit(**end))
    assert outcome.status == "not_observed"
    assert outcome.because


def test_an_end_that_was_not_seen_is_not_observed() -> None:
    assert evaluate("script-completed", Script()).status == "not_observed"


def _tests(*outcomes: tuple[str, str | None]) -> Script:
    """pytest ran one test for each of these outcomes and errors."""
    script = Script()
    for number, (outcome, kind) in enumerate(outcomes):
        name = f"test_x.py::test_{number}"
        script.add("test.started", test=name)
        error = {"type": kind, "message": "no"} if kind else None
        frames = [{**FRAME, "file": "test_x.py"}] if kind else None
        script.add("test.ended", test=name, outcome=outcome, error=error, frames=frames)
    return script.exit(code=1 if any(outcome != "passed" for outcome, _ in outcomes) else 0)


@pytest.mark.parametrize("kind", ["builtins:AssertionError", "builtins:Failed"])
def test_each_test_that_fails_by_an_assertion_is_violated(kind: str) -> None:
    script = _tests(("passed", None), ("failed", kind), ("failed", "builtins:KeyError"), ("error", kind))
    name = kind.rpartition(":")[2]
    assert told("script-completed", script) == [
        f"test test_x.py::test_1 failed: {name} at test_x.py:7: no",
    ]
    assert evaluate("script-completed", script).sites == 2


def test_tests_that_pass_hold_and_those_that_break_say_nothing() -> None:
    assert evaluate("script-completed", _tests(("passed", None), ("skipped", None))).status == "holds"
    assert evaluate("script-completed", _tests(("failed", "builtins:KeyError"))).status == "not_observed"


# call-output-linkage


def _one_turn(*given: object, **fields: object) -> Script:
    """A run whose model gives call_1 and is then told `given`."""
    script = Script()
    run = script.run(**fields)
    script.model(run, "go", function_call())
    script.model(run, list(given), message("done"))
    script.end(run)
    return script.exit()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([function_call()], "call call_1 has no output"),
        ([function_output()], "the output of call_1 has no call"),
        ([function_output(), function_call()], "the output of call_1 stands before its call"),
        ([function_call(), function_call(), function_output()], "call_1 occurs more often than it was made"),
        (
            [function_call(), function_output(), function_output()],
            "call_1 occurs more often than it was made",
        ),
    ],
)
def test_an_unpaired_call_or_output_in_a_model_input_is_violated(given: list[object], sentence: str) -> None:
    assert told("call-output-linkage", _one_turn(*given)) == [f"in the model input of run R1, {sentence}"]


def test_a_paired_model_input_holds() -> None:
    outcome = evaluate("call-output-linkage", _one_turn(function_call(), function_output()))
    assert (outcome.status, outcome.sites) == ("holds", 2)


def test_items_are_read_whether_they_are_mappings_or_objects() -> None:
    call = {"$object": "openai.types:Call", "fields": function_call()}
    assert evaluate("call-output-linkage", _one_turn(call)).status == "violated"


def test_items_that_the_script_supplied_are_excused_for_presence() -> None:
    script = _one_turn(
        function_output("old"), function_call(), function_output(), input=[function_output("old")]
    )
    assert evaluate("call-output-linkage", script).status == "holds"


@pytest.mark.parametrize(
    "fields",
    [{"settings": {"call_model_input_filter": True}}, {"settings": {"server_managed": True}}],
)
def test_runs_that_filter_items_or_leave_them_to_a_server_are_not_judged(fields: dict[str, object]) -> None:
    assert evaluate("call-output-linkage", _one_turn(function_output(), **fields)).status == "not_observed"


def test_a_handoff_may_filter_what_it_passes_on() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call("h", "transfer_to_b"), handoff_filters=["transfer_to_b"])
    script.add("handoff.made", run=run, from_agent="a", to_agent="b")
    script.model(run, [function_output()], message("done"))
    script.end(run, last_agent="b")
    assert evaluate("call-output-linkage", script.exit()).status == "not_observed"


def test_a_result_with_a_call_without_output_is_violated() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call())
    script.end(run, items=[{"type": "tool_call_item", "raw_item": function_call()}])
    assert told("call-output-linkage", script.exit()) == [
        "in the result of run R1, call call_1 has no output"
    ]


def test_a_result_that_waits_for_a_decision_may_hold_an_unanswered_call() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call())
    items = [{"type": "tool_call_item", "raw_item": function_call()}]
    script.end(run, items=items, waits_for=["call_1"])
    assert evaluate("call-output-linkage", script.exit()).status == "not_observed"


def test_a_fault_that_every_later_model_input_repeats_is_told_once() -> None:
    script = Script()
    run = script.run()
    for _ in range(3):
        script.model(run, [function_output("lost")], message("more"))
    script.end(run)
    assert len(evaluate("call-output-linkage", script.exit()).because) == 1


def test_what_a_restored_state_was_given_counts_as_supplied() -> None:
    script = Script()
    state = script.restored(state_json(original_input=[function_output("old")]))
    run = script.run(state=state)
    script.model(run, [function_output("old")], message("done"))
    script.end(run)
    assert evaluate("call-output-linkage", script.exit()).status == "holds"
