"""callbacks-awaited: coroutines that the SDK handed on or dropped."""

import pytest

from tests.claims.builder import Script, evaluate, function_call, message, told

SDK = "<site-packages>/agents/handoffs/__init__.py:303: RuntimeWarning: "
DROPPED = "coroutine 'Prepare.__call__' was never awaited\n  no_input_func(ctx)\n"


def _wrote(text: str, stream: str = "stderr") -> Script:
    script = Script()
    script.add("script.wrote", stream=stream, text=text, size=len(text), truncated=False)
    return script.exit()


def test_a_coroutine_that_the_sdk_dropped_is_violated() -> None:
    assert told("callbacks-awaited", _wrote("hello\n" + SDK + DROPPED)) == [
        "coroutine Prepare.__call__ was never awaited, and was dropped at agents/handoffs/__init__.py:303"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "/run/repro.py:9: RuntimeWarning: " + DROPPED,
        "<site-packages>/anyio/streams.py:12: RuntimeWarning: " + DROPPED,
        SDK + "Enable tracemalloc to get the object allocation traceback\n",
        "he said: " + SDK + DROPPED,
    ],
    ids=["the script's own line", "another package", "another warning", "inside of a line"],
)
def test_what_is_not_the_sdks_is_not_observed(text: str) -> None:
    assert evaluate("callbacks-awaited", _wrote(text)).status == "not_observed"


def test_what_the_script_prints_as_its_result_is_not_looked_at() -> None:
    assert evaluate("callbacks-awaited", _wrote(SDK + DROPPED, "stdout")).status == "not_observed"


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
