"""exactly-once: positive and silent cases."""

from agentproof.models.values import short_text
from tests.claims.builder import Script, evaluate, function_call, state_json, told

RULE = "exactly-once"


def test_a_call_that_ran_before_the_pause_and_again_after_it_is_violated() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call("c1", "add"))
    script.tool(run, "c1", "add")
    state = script.made(script.end(run, waits_for=["call_1"]), state_json())
    run = script.run(state=state)
    script.tool(run, "c1", "add")
    script.end(run)
    assert told(RULE, script.exit()) == ["tool add ran again for c1, which it had answered before"]


def test_a_call_that_runs_twice_in_one_run_is_violated() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call("c1", "add"))
    script.tool(run, "c1", "add")
    script.tool(run, "c1", "add")
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "violated"


def test_a_line_through_json_is_followed() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call("c1", "add"))
    script.tool(run, "c1", "add")
    state = script.made(script.end(run, waits_for=["call_1"]), state_json())
    restored = script.restored(script.serialised(state))
    run = script.run(state=restored)
    script.tool(run, "c1", "add")
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "violated"


def test_two_checkpoints_of_one_result_are_two_lines() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call())
    result = script.end(run, waits_for=["call_1"])
    states = [script.made(result, state_json()) for _ in range(2)]
    for state in states:
        run = script.run(state=state)
        script.tool(run)
        script.end(run)
    outcome = evaluate(RULE, script.exit())
    assert (outcome.status, outcome.sites) == ("holds", 2)


def test_a_call_id_that_the_model_gives_again_may_run_again() -> None:
    script = Script()
    run = script.run()
    for _ in range(2):
        script.model(run, "go", function_call("c1", "add"))
        script.tool(run, "c1", "add")
    state = script.made(script.end(run), state_json())
    run = script.run(state=state)
    script.model(run, "go", function_call("c1", "add"))
    script.tool(run, "c1", "add")
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "holds"


def test_another_run_may_use_the_same_call_id() -> None:
    script = Script()
    for _ in range(2):
        run = script.run()
        script.model(run, "go", function_call("c1", "add"))
        script.tool(run, "c1", "add")
        script.end(run)
    assert evaluate(RULE, script.exit()).status == "holds"


def test_a_tool_that_raised_may_run_again() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call("c1", "add"))
    state = script.made(script.end(run, waits_for=["c1"]), state_json())
    run = script.run(state=state)
    script.tool(run, "c1", "add", output=None)
    script.end(run, "raised")
    run = script.run(state=state)
    script.tool(run, "c1", "add")
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "holds"


def test_an_agent_as_tool_starts_again_when_its_run_is_resumed() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call("c1", "sub"))
    script.tool(run, "c1", "sub", tool_kind="agent")
    state = script.made(script.end(run, waits_for=["call_1"]), state_json())
    run = script.run(state=state)
    script.tool(run, "c1", "sub", tool_kind="agent")
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "not_observed"


def test_a_call_id_longer_than_a_name_is_known_again() -> None:
    long = "c" * 5000
    script = Script()
    run = script.run()
    for _ in range(2):  # given again by the model, so it may run again
        script.model(run, "go", function_call(long, "add"))
        script.tool(run, short_text(long), "add")
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "holds"
    script = Script()
    run = script.run()
    script.model(run, "go", function_call(long, "add"))
    for _ in range(2):
        script.tool(run, short_text(long), "add")
    script.end(run)
    assert evaluate(RULE, script.exit()).status == "violated"
