"""callbacks-awaited: coroutines that the SDK handed on or dropped."""

import pytest

from tests.claims.builder import Script, evaluate, function_call, message, told

FILE = "<site-packages>/agents/handoffs/__init__.py"
LINE = f"{FILE}:303: RuntimeWarning: coroutine 'Prepare.__call__' was never awaited\n  no_input_func(ctx)\n"


def _warned(raised_in: str, *, coroutine: str | None = "Prepare.__call__") -> Script:
    script = Script()
    fields = {"file": FILE, "line": 303, "module": "agents.handoffs", "raised_in": raised_in}
    given = {} if coroutine is None else {"coroutine": coroutine}
    script.add("warning.raised", category="builtins:RuntimeWarning", **fields, **given)
    return script.exit()


def test_a_coroutine_that_the_sdk_dropped_is_violated() -> None:
    assert told("callbacks-awaited", _warned("sdk")) == [
        "coroutine Prepare.__call__ was never awaited, and was dropped at agents/handoffs/__init__.py:303"
    ]


@pytest.mark.parametrize("raised_in", ["own", "other"])
def test_what_other_code_dropped_is_not_observed(raised_in: str) -> None:
    assert evaluate("callbacks-awaited", _warned(raised_in)).status == "not_observed"


def test_another_warning_is_not_observed() -> None:
    assert evaluate("callbacks-awaited", _warned("sdk", coroutine=None)).status == "not_observed"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_what_the_script_prints_is_no_evidence(stream: str) -> None:
    script = Script()
    script.add("script.wrote", stream=stream, text=LINE, size=len(LINE), truncated=False)
    assert evaluate("callbacks-awaited", script.exit()).status == "not_observed"


COROUTINE = {"$opaque": "builtins:coroutine"}


def test_instructions_that_are_a_coroutine_are_violated() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", message("done"), instructions=COROUTINE)
    assert told("callbacks-awaited", script.exit()) == [
        "the instructions that the model is given in run R1: a coroutine that nobody awaited"
    ]


def test_an_output_that_is_a_coroutine_is_violated() -> None:
    script = Script()
    run = script.run()
    script.tool(run, output=COROUTINE)
    assert told("callbacks-awaited", script.exit()) == [
        "the output that tool pay gave for call_1 in run R1: a coroutine that nobody awaited"
    ]


def test_instructions_and_outputs_that_are_something_else_hold() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", function_call(), instructions="be brief")
    script.tool(run, output={"$opaque": "shop:Basket"})
    outcome = evaluate("callbacks-awaited", script.exit())
    assert (outcome.status, outcome.sites) == ("holds", 2)
