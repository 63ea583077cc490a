"""What the reporter says should have happened: met, not met, or nothing to see it in."""

from typing import Any

import pytest

from agentproof.claims import EXPECTED, explain
from agentproof.claims.judge import Answers
from agentproof.models.expectations import Expectations, from_options
from agentproof.models.manifest import ClaimResult, Judgement
from agentproof.models.trace import Mode
from tests.claims.builder import Script, function_call, judged, message


def expecting(**options: Any) -> Expectations:  # Any: what click gives
    return from_options((name.replace("_", "-"), value) for name, value in options.items())


def _results(judgement: Judgement) -> list[ClaimResult]:
    return [claim for claim in judgement.claims if claim.kind in EXPECTED]


def _only(script: Script, **options: Any) -> ClaimResult:  # Any: what click gives
    (result,) = _results(judged(script, expectations=expecting(**options)))
    return result


def _told(script: Script, **options: Any) -> str:  # Any: what click gives
    result = _only(script, **options)
    assert result.status == "violated"
    return explain(result, result.because[0])


def script(mode: Mode = "as-written", **ending: Any) -> Script:  # Any: fields of script.ended
    """`pay` runs twice, one run raises, the last one says `done 3`, and two lines are printed."""
    made = Script(mode)
    run = made.run()
    made.model(run, "go", function_call("c1"), function_call("c2"), tools=["pay", "refund"])
    made.tool(run, "c1")
    made.tool(run, "c2")
    error = {
        "type": "agents.exceptions:MaxTurnsExceeded",
        "message": "Max turns (3) exceeded",
        "bases": ["agents.exceptions:AgentsException", "builtins:Exception"],
    }
    made.end(run, "raised", error=error)
    run = made.run()
    made.model(run, "go", message("done 3"), tools=["pay", "refund"])
    made.end(run, final_output="done 3", output_type="builtins:str", items=[message("done 3")])
    made.exit(**ending)
    printed = "balance: 90\nok\n"
    made.add("script.wrote", stream="stdout", text=printed, size=len(printed), truncated=False)
    return made


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"should_print": ["balance: 90"]}, "holds"),
        ({"should_print": ["balance: 100"]}, "violated"),
        ({"should_print": ["90\nok"[:2]]}, "holds"),
        ({"should_not_print": ["balance: 100"]}, "holds"),
        ({"should_not_print": ["balance"]}, "violated"),
        ({"should_raise": ["MaxTurnsExceeded"]}, "holds"),
        ({"should_raise": ["AgentsException"]}, "holds"),
        ({"should_raise": ["agents.MaxTurnsExceeded"]}, "holds"),
        ({"should_raise": ["agents.exceptions.MaxTurnsExceeded"]}, "holds"),
        ({"should_raise": ["agents.exceptions:MaxTurnsExceeded"]}, "holds"),
        ({"should_raise": ["openai.MaxTurnsExceeded"]}, "violated"),
        ({"should_raise": ["TurnsExceeded"]}, "violated"),
        ({"should_not_raise": True}, "violated"),
        ({"should_run": ["pay"]}, "holds"),
        ({"should_run": ["pay=2"]}, "holds"),
        ({"should_run": ["pay=1"]}, "violated"),
        ({"should_run": ["refund"]}, "violated"),
        ({"should_run": ["payy"]}, "not_observed"),
        ({"should_not_run": ["pay"]}, "violated"),
        ({"should_run": ["pay=0"]}, "violated"),
        ({"should_not_run": ["refund"]}, "holds"),
        ({"should_not_run": ["payy"]}, "not_observed"),
        ({"should_output": ["done"]}, "holds"),
        ({"should_output": ["done 4"]}, "violated"),
    ],
)
def test_each_expectation_is_judged_by_what_was_seen(options: dict[str, Any], status: str) -> None:
    assert _only(script(), **options).status == status


def test_what_happened_instead_is_said_in_words_without_labels() -> None:
    assert _told(script(), should_print=["balance: 100"]) == (
        'the script should print "balance: 100" and did not; it printed "balance: 90"'
    )
    assert _told(script(), should_not_raise=True) == (
        "a run raised MaxTurnsExceeded: Max turns (3) exceeded, and nothing should be raised"
    )
    assert _told(script(), should_run=["pay=1"]) == "tool pay ran twice, and should run once"
    assert _told(script(), should_output=["x"]) == 'the last run should give "x" and gives "done 3"'
    assert _told(script(), should_raise=["ValueError"]) == (
        "ValueError should be raised; a run raised MaxTurnsExceeded: Max turns (3) exceeded instead"
    )


def test_a_tool_that_nobody_offered_is_told_with_the_nearest_names() -> None:
    result = _only(script(), should_run=["refunds"])
    assert explain(result, result.because[0]) == "no run offered a tool refunds; the nearest: refund"


def test_an_expectation_makes_the_verdict_under_the_name_that_it_was_given() -> None:
    judgement = judged(script(), expectations=expecting(should_print=["balance: 100"]))
    assert judgement.verdict == "violated"
    assert judgement.claims[-1].id == 'should-print "balance: 100"'


def test_a_mistyped_tool_never_holds() -> None:
    judgement = judged(script(), expectations=expecting(should_not_run=["payy"]))
    assert (judgement.verdict, judgement.reasons) == ("inconclusive", ("expectation_unseen",))


def test_both_modes_are_judged() -> None:
    both = judged(script(), script("streamed"), expectations=expecting(should_not_run=["pay"]))
    assert [(each.mode, each.status) for each in _results(both)] == [
        ("as-written", "violated"),
        ("streamed", "violated"),
    ]


def test_a_variation_that_does_not_suit_the_script_breaks_no_expectation() -> None:
    hung = script("streamed", outcome="timed_out")
    judgement = judged(script(), hung, expectations=expecting(should_print=["balance: 100"]))
    assert [each.status for each in _results(judgement)] == ["violated", "not_observed"]


def test_what_is_met_as_written_is_not_broken_by_streaming_it() -> None:
    """Three real cases print something else on the release that repaired them, once streamed."""
    other = Script("streamed")
    other.end(other.run(), final_output="done 3", output_type="builtins:str")
    other.exit()
    other.add("script.wrote", stream="stdout", text="x\n", size=2, truncated=False)
    judgement = judged(script(), other, expectations=expecting(should_print=["balance: 90"]))
    assert [each.status for each in _results(judgement)] == ["holds", "not_observed"]


@pytest.mark.parametrize("premise", ["environment", "before_sdk"])
def test_what_the_script_takes_for_granted_breaks_no_expectation(premise: str) -> None:
    """Journey 1: an assertion on OPENAI_API_KEY is no bug of the SDK's."""
    made = Script()
    error = {"type": "builtins:AssertionError", "message": "set OPENAI_API_KEY first", "bases": []}
    frames = [{"file": "reproduction.py", "line": 3, "function": "<module>"}]
    made.exit(outcome="raised", error=error, frames=frames, raised_in="own", premise=premise)
    reason = {"environment": "environment_missing"}.get(premise, premise)
    for expectations in (Expectations(), expecting(should_print=["x"], should_not_raise=True)):
        judgement = judged(made, expectations=expectations)
        assert (judgement.verdict, judgement.reasons) == ("inconclusive", (reason,))
        assert not [claim for claim in judgement.claims if claim.status == "violated"]


def test_a_run_that_lacks_a_providers_key_breaks_no_expectation() -> None:
    made = Script()
    run = made.run()
    error = {"type": "openai:OpenAIError", "message": "The api_key client option must be set", "bases": []}
    made.end(run, "raised", error=error)
    made.exit()
    judgement = judged(made, expectations=expecting(should_print=["x"]))
    assert judgement.reasons == ("environment_missing",)


def test_an_error_that_a_script_without_a_run_may_have_caught_is_not_missed() -> None:
    assert _only(Script().exit(), should_raise=["UserError"]).status == "not_observed"
    ended = {"type": "agents.exceptions:UserError", "message": "", "bases": []}
    made = Script().exit(outcome="raised", error=ended, frames=[])
    assert judged(made, expectations=expecting(should_raise=["UserError"])).verdict == "holds"


def test_a_script_that_never_imports_the_sdk_shows_nothing_of_it() -> None:
    made = Script()
    made._events = made._events[:1]
    made._last = 1
    made.exit()
    judgement = judged(made, expectations=expecting(should_print=["x"]))
    assert "sdk_not_imported" in judgement.reasons


def _printing(*lines: str, truncated: bool = False) -> Script:
    made = Script().exit()
    text = "".join(f"{line}\n" for line in lines)
    size = len(text) + (100 if truncated else 0)
    made.add("script.wrote", stream="stdout", text=text, size=size, truncated=truncated)
    return made


@pytest.mark.parametrize(
    ("line", "text", "status"),
    [
        ("took <varies>", "took", "holds"),
        ("took <varies>", "took 0.05s", "not_observed"),
        ("took <varies>", "took 0.", "not_observed"),
        ("took <varies>", "approved", "violated"),
        ("<varies> INFO denied", "approved", "violated"),
        ("<varies>", "approved", "not_observed"),
        ("done", "7", "violated"),
    ],
)
def test_a_text_that_the_repeats_print_otherwise_is_neither_there_nor_missing(
    line: str, text: str, status: str
) -> None:
    assert _only(_printing(line), should_print=[text]).status == status


def test_what_was_cut_off_may_have_held_it() -> None:
    assert _only(_printing("a", truncated=True), should_print=["b"]).status == "not_observed"
    assert _only(_printing("a", truncated=True), should_not_print=["b"]).status == "not_observed"
    assert _only(_printing("a", truncated=True), should_not_print=["a"]).status == "violated"


def test_a_run_that_waits_or_raises_has_no_output() -> None:
    waiting = Script()
    waiting.end(waiting.run(), waits_for=["c1"])
    assert "waits for a decision" in _told(waiting.exit(), should_output=["done"])
    raising = Script()
    error = {"type": "builtins:ValueError", "message": "no", "bases": ["builtins:Exception"]}
    raising.end(raising.run(), "raised", error=error)
    assert "raised ValueError" in _told(raising.exit(), should_output=["done"])


def test_a_structured_output_is_looked_at_as_json() -> None:
    made = Script()
    output = {"$object": "__main__:Answer", "fields": {"total": 3, "note": "päid"}}
    made.end(made.run(), final_output=output, output_type="__main__:Answer")
    assert _only(made.exit(), should_output=['"total": 3', "päid"][:1]).status == "holds"


@pytest.mark.parametrize(
    ("left", "status"),
    [
        ((), ["violated", "violated"]),
        (("streamed",), ["violated", "not_observed"]),
        (("as-written",), ["not_observed", "not_observed"]),
    ],
)
def test_what_ends_without_an_answer_breaks_no_expectation(left: tuple[str, ...], status: list[str]) -> None:
    answers = Answers(unanswered=frozenset({"left_the_recording"} if left else ()), left=frozenset(left))
    expected = expecting(should_not_raise=True)
    found = judged(script(), script("streamed"), expectations=expected, answers=answers)
    assert [each.status for each in _results(found)] == status
    if "as-written" in left:
        assert found.verdict == "inconclusive"
        assert "left_the_recording" in found.reasons
