"""stream-parity: positive and silent cases."""

from collections.abc import Callable

import pytest

from tests.claims.builder import Script, evaluate, function_call, message, told

RULE = "stream-parity"


def _pair(write: Callable[[Script, bool], None]) -> tuple[Script, Script]:
    """The same script in both modes; `write` is told whether it is the streamed one."""
    scripts = Script("as-written"), Script("streamed")
    for script in scripts:
        write(script, script.mode == "streamed")
        script.exit()
    return scripts


def test_modes_that_agree_hold() -> None:
    def write(script: Script, streamed: bool) -> None:
        run = script.run()
        script.model(run, "go", function_call())
        script.tool(run)
        script.end(run, final_output="done", usage={"requests": 1} if streamed else {"requests": 2})

    outcome = evaluate(RULE, *_pair(write))
    assert (outcome.status, outcome.sites) == ("holds", 1)


@pytest.mark.parametrize("what", ["outcome", "error", "final output", "interruptions", "new items"])
def test_a_run_that_ends_differently_is_violated(what: str) -> None:
    def write(script: Script, streamed: bool) -> None:
        run = script.run()
        error = {"type": "agents:MaxTurnsExceeded", "message": ""} if streamed else None
        match what:
            case "outcome":
                script.end(run, "raised" if streamed else "returned")
            case "error":
                script.end(run, "raised", error=error)
            case "final output":
                script.end(run, final_output="a" if streamed else "b")
            case "interruptions":
                script.end(run, waits_for=["call_1"] if streamed else [])
            case _:
                items = [{"type": "message_output_item", "raw_item": message("x")}]
                script.end(run, items=[] if streamed else items)

    assert f"run R1 comes to something else when it is streamed: other {what}" in told(RULE, *_pair(write))


def test_tools_that_run_in_another_order_agree() -> None:
    def write(script: Script, streamed: bool) -> None:
        run = script.run()
        calls = [("c1", "add"), ("c2", "sub")]
        for call_id, tool in reversed(calls) if streamed else calls:
            script.tool(run, call_id, tool)
        script.end(run)

    assert evaluate(RULE, *_pair(write)).status == "holds"


def test_the_comparison_stops_at_the_first_run_that_differs() -> None:
    def write(script: Script, streamed: bool) -> None:
        for _ in range(3):
            script.end(script.run(), final_output="a" if streamed else "b")

    assert len(evaluate(RULE, *_pair(write)).because) == 1


def test_runs_that_were_given_something_else_are_not_compared() -> None:
    def write(script: Script, streamed: bool) -> None:
        run = script.run(input="a" if streamed else "b")
        script.end(run, final_output="a" if streamed else "b")

    assert evaluate(RULE, *_pair(write)).status == "not_observed"


@pytest.mark.parametrize(("same_time", "status"), [(True, "not_observed"), (False, "violated")])
def test_runs_that_were_given_the_same_at_the_same_time_are_not_told_apart(
    same_time: bool, status: str
) -> None:
    def write(script: Script, streamed: bool) -> None:
        runs = []
        for name in ("b", "a") if streamed else ("a", "b"):
            if same_time:
                with script.lane() as end:
                    script.end(script.run(), final_output=name)
                runs.append(end)
            else:
                script.end(script.run(), final_output=name)
        if runs:
            script.join(*runs)

    assert evaluate(RULE, *_pair(write)).status == status


def test_a_script_that_streams_already_has_nothing_to_compare() -> None:
    def write(script: Script, streamed: bool) -> None:
        script.end(script.run(streamed=True), final_output=streamed)

    assert evaluate(RULE, *_pair(write)).status == "not_observed"


def test_a_cancelled_run_is_not_compared() -> None:
    def write(script: Script, streamed: bool) -> None:
        script.end(script.run(), "cancelled" if streamed else "returned")

    assert evaluate(RULE, *_pair(write)).status == "not_observed"


def test_generated_ids_are_each_modes_own() -> None:
    def write(script: Script, streamed: bool) -> None:
        script.end(script.run(), final_output=f"at trace_{2 if streamed else 1:032x}")

    assert evaluate(RULE, *_pair(write)).status == "holds"


def test_after_an_input_tripwire_the_models_race() -> None:
    def write(script: Script, streamed: bool) -> None:
        run = script.run()
        if streamed:
            script.model(run, "go", message("late"))
        error = {"type": "agents.exceptions:InputGuardrailTripwireTriggered", "message": ""}
        script.end(run, "raised", error=error)

    assert evaluate(RULE, *_pair(write)).status == "holds"


def test_one_mode_alone_is_not_observed() -> None:
    assert evaluate(RULE, Script().exit()).status == "not_observed"


def test_a_model_that_answers_something_else_to_the_same_is_its_own_doing() -> None:
    def write(script: Script, streamed: bool) -> None:
        run = script.run()
        script.model(run, "go", message("done") if streamed else function_call())
        script.end(run, final_output="done" if streamed else "paid")

    assert evaluate(RULE, *_pair(write)).status == "not_observed"


def test_a_model_that_is_observed_in_one_mode_alone_is_not_compared() -> None:
    def write(script: Script, streamed: bool) -> None:
        run = script.run()
        if not streamed:
            script.model(run, "go", function_call())
        script.end(run, final_output="done" if streamed else "paid")

    assert evaluate(RULE, *_pair(write)).status == "not_observed"


def test_a_model_that_is_told_something_else_may_answer_so() -> None:
    def write(script: Script, streamed: bool) -> None:
        run = script.run()
        script.model(run, "stay" if streamed else "go", message("no") if streamed else message("yes"))
        script.end(run, final_output="no" if streamed else "yes")

    assert evaluate(RULE, *_pair(write)).status == "violated"


def test_a_model_that_is_asked_once_more_answers_the_same_so_far() -> None:
    def write(script: Script, streamed: bool) -> None:
        run = script.run()
        for _ in range(1 + streamed):
            script.model(run, "go", message("yes"))
        script.end(run, final_output="yes")

    assert told(RULE, *_pair(write)) == [
        "run R1 comes to something else when it is streamed: other model inputs"
    ]
