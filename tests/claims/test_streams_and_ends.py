"""Rules about streams and about how runs end: positive and silent cases."""

import pytest

from tests.claims.builder import Script, evaluate, function_call, message, told

CALL_ITEM = {"type": "tool_call_item", "raw": function_call()}
HANDOFF_ITEM = {"type": "handoff_call_item", "raw": function_call("h", "transfer")}
SAID_ITEM = {"type": "message_output_item", "raw": message("done")}

# stream-tells-result


def _stream(announced: list[tuple[str, object]], items: list[object], **end: object) -> Script:
    script = Script()
    run = script.run(streamed=True)
    for name, item in announced:
        script.add("stream.item", of_run=run, name=name, item=item)
    script.end(run, items=items, **end)  # type: ignore[arg-type] # fields of any type
    return script.exit()


def test_an_item_announced_under_another_name_is_violated() -> None:
    script = _stream([("tool_called", HANDOFF_ITEM)], [HANDOFF_ITEM])
    assert told("stream-tells-result", script) == [
        "the stream of run R1 announced handoff_call_item as tool_called"
    ]


@pytest.mark.parametrize(
    ("announced", "items", "word"),
    [
        ([("tool_called", CALL_ITEM), ("tool_called", CALL_ITEM)], [CALL_ITEM], "more than once"),
        ([("tool_called", CALL_ITEM)], [SAID_ITEM, SAID_ITEM], "which its result does not hold"),
        ([("tool_called", CALL_ITEM)], [CALL_ITEM, SAID_ITEM], "did not announce"),
    ],
)
def test_a_stream_that_differs_from_the_result_is_violated(
    announced: list[tuple[str, object]], items: list[object], word: str
) -> None:
    assert any(word in sentence for sentence in told("stream-tells-result", _stream(announced, items)))


def test_a_stream_that_tells_the_result_holds() -> None:
    script = _stream(
        [("tool_called", CALL_ITEM), ("message_output_created", SAID_ITEM)], [CALL_ITEM, SAID_ITEM]
    )
    outcome = evaluate("stream-tells-result", script)
    assert (outcome.status, outcome.sites) == ("holds", 2)


@pytest.mark.parametrize("outcome", ["raised", "left", "cancelled"])
def test_a_stream_that_was_cut_need_not_tell_all(outcome: str) -> None:
    script = _stream([("tool_called", CALL_ITEM)], [], outcome=outcome)
    assert evaluate("stream-tells-result", script).because == ()


def test_a_resumed_run_need_not_announce_what_was_there_before() -> None:
    script = Script()
    script.now["S1"] = {}
    run = script.run(state="S1", streamed=True)
    script.add("stream.item", of_run=run, name="message_output_created", item=SAID_ITEM)
    script.end(run, items=[CALL_ITEM, SAID_ITEM])
    assert evaluate("stream-tells-result", script.exit()).because == ()


# stream-ends


def _consumed(task: str | None, consumer: str | None, end: str = "raised") -> Script:
    script = Script()
    run = script.run(streamed=True)
    script.add("stream.began", of_run=run)
    if task is not None:
        error = {"type": "builtins:RuntimeError", "message": "x"} if task == "raised" else None
        script.add("run.task_ended", run=run, outcome=task, error=error)
    if consumer is not None:
        done = task is not None
        script.add("stream.ended", of_run=run, outcome=consumer, count=1, raw=[], task_done=done)
    script.end(run, end)
    return script.exit()


@pytest.mark.parametrize(
    ("task", "consumer", "end", "word"),
    [
        ("raised", "cancelled", "cancelled", "went on waiting until it was cancelled"),
        ("raised", None, "unfinished", "never ended"),
        ("raised", "ended", "returned", "ended without saying so"),
    ],
)
def test_a_stream_that_fails_its_consumer_is_violated(task: str, consumer: str, end: str, word: str) -> None:
    (sentence,) = told("stream-ends", _consumed(task, consumer, end))
    assert word in sentence


@pytest.mark.parametrize(
    ("task", "consumer", "end"),
    [
        ("raised", "raised", "raised"),
        ("returned", "ended", "returned"),
        ("returned", "left", "left"),
        (None, "cancelled", "cancelled"),
        (None, None, "unfinished"),
    ],
)
def test_a_stream_that_ends_or_still_works_holds(task: str | None, consumer: str | None, end: str) -> None:
    assert evaluate("stream-ends", _consumed(task, consumer, end)).status == "holds"


# nothing-after-end


def _tool_in_background(waits: bool, *, thread: bool = False, value: object = "late") -> Script:
    script = Script()
    run = script.run()
    with script.lane() as background:
        script.add("body.started", run=run, frame="F1", function="slow", thread=thread or None)
        script.add("body.returned", run=run, frame="F1", function="slow", value=value or None)
    if waits:
        script.join(background)
    script.end(run, "raised")
    return script.exit()


def test_a_run_that_ends_while_its_tool_goes_on_is_violated() -> None:
    assert told("nothing-after-end", _tool_in_background(waits=False)) == [
        "run R1 ended without waiting: slow of the script went on"
    ]


def test_a_tool_that_ends_after_its_run_is_violated() -> None:
    script = Script()
    run = script.run()
    with script.lane():
        script.tool(run, "c1", "slow")
    script.end(run, "raised")
    assert evaluate("nothing-after-end", script.exit()).status == "violated"


def test_a_run_that_waits_holds() -> None:
    assert evaluate("nothing-after-end", _tool_in_background(waits=True)).status == "holds"


def test_a_thread_cannot_be_stopped() -> None:
    assert evaluate("nothing-after-end", _tool_in_background(waits=False, thread=True)).status == "holds"


def test_a_cancelled_run_is_not_observed() -> None:
    script = Script()
    script.end(script.run(), "cancelled")
    assert evaluate("nothing-after-end", script.exit()).status == "not_observed"


def test_the_model_that_races_with_an_input_guardrail_may_go_on() -> None:
    script = Script()
    run = script.run()
    with script.lane():
        script.model(run, "go", message("late"))
    error = {"type": "agents.exceptions:InputGuardrailTripwireTriggered", "message": ""}
    script.end(run, "raised", error=error)
    assert evaluate("nothing-after-end", script.exit()).status == "not_observed"


# failed-run-span-error


def _failed(*errors: object, outcome: str = "raised", kind: str = "builtins:ConnectionError") -> Script:
    script = Script()
    run = script.run()
    for error in errors:
        script.add("span.ended", run=run, span_type="agent", error=error)
    error = {"type": kind, "message": ""} if outcome == "raised" else None
    script.end(run, outcome, error=error)
    return script.exit()


def test_a_failed_run_without_an_error_on_a_span_is_violated() -> None:
    assert told("failed-run-span-error", _failed(None, None)) == [
        "run R1 raised ConnectionError; none of its 2 spans carries an error"
    ]


def test_one_span_with_an_error_is_enough() -> None:
    assert evaluate("failed-run-span-error", _failed(None, {"message": "x"})).status == "holds"


@pytest.mark.parametrize(
    "script",
    [_failed(), _failed(None, outcome="returned"), _failed(None, kind="asyncio.exceptions:CancelledError")],
    ids=["no spans", "returned", "cancelled"],
)
def test_runs_without_spans_or_without_a_failure_are_not_observed(script: Script) -> None:
    assert evaluate("failed-run-span-error", script).status == "not_observed"
