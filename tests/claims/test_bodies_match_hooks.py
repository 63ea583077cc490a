"""`bodies-match-hooks`: what the hooks tell of tools is what ran."""

from agentproof.models.manifest import Gap
from tests.claims.builder import Script, evaluate, judged, told

NAME = "bodies-match-hooks"


def body(script: Script, run: str | None, tool: str | None = "pay", function: str = "pay") -> str:
    """A function of the script's begins."""
    frame = script.label("F")
    script.add("body.started", run=run, frame=frame, function=function, tool=tool)
    return frame


def returned(script: Script, run: str | None, frame: str, function: str = "pay") -> None:
    """It returns."""
    script.add("body.returned", run=run, frame=frame, function=function, value="ok")


def test_a_body_that_no_hook_told_of_is_violated() -> None:
    script = Script()
    run = script.run()
    script.tool(run)
    for _ in range(2):
        returned(script, run, body(script, run))
    script.end(run)
    assert told(NAME, script.exit()) == [
        "run R1: the function of tool pay began 2 times; on_tool_start was called once"
    ]


def test_a_tool_that_ended_without_its_body_is_violated() -> None:
    script = Script()
    run = script.run()
    script.tool(run, output=None)
    script.tool_ends(run, "call_1", "pay", "ok", without_body=True)
    script.end(run)
    assert told(NAME, script.exit()) == ["run R1: tool pay ended for call_1; its function never ran"]


def test_a_body_for_each_start_holds() -> None:
    script = Script()
    run = script.run()
    for call in ("call_1", "call_2"):
        script.tool(run, call, output=None)
        returned(script, run, body(script, run))
        script.tool_ends(run, call, "pay", "ok")
    script.end(run)
    outcome = evaluate(NAME, script.exit())
    assert (outcome.status, outcome.sites) == ("holds", 2)


def test_a_tool_that_another_function_uses_by_itself_is_left_out() -> None:
    script = Script()
    run = script.run()
    script.tool(run, tool="ask", output=None)
    outer = body(script, run, "ask", "ask")
    returned(script, run, body(script, run))
    returned(script, run, outer, "ask")
    script.tool_ends(run, "call_1", "ask", "ok")
    script.end(run)
    assert evaluate(NAME, script.exit()).status == "holds"


def test_tools_side_by_side_are_not_inside_of_each_other() -> None:
    script = Script()
    run = script.run()
    with script.lane() as one:
        script.tool(run, "call_1", "ask", output=None)
        returned(script, run, body(script, run, "ask", "ask"), "ask")
    with script.lane() as other:
        returned(script, run, body(script, run))
    script.join(one, other)
    script.end(run)
    assert [finding.tool for finding in evaluate(NAME, script.exit()).because] == ["pay"]


def test_functions_behind_no_tool_are_not_judged() -> None:
    script = Script()
    run = script.run()
    script.tool(run)
    returned(script, run, body(script, run, None))
    script.end(run)
    assert evaluate(NAME, script.exit()).status == "not_observed"


def test_below_312_it_is_not_observed() -> None:
    script = Script()
    run = script.run()
    script.tool(run)
    script.end(run)
    gap = Gap(what="bodies", why="CPython before 3.12 has no sys.monitoring")
    (claim,) = (each for each in judged(script.exit(), coverage=(gap,)).claims if each.kind == NAME)
    assert claim.status == "not_observed"
