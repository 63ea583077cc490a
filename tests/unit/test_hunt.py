"""What a hunt draws, writes, compares and shrinks; nothing is run."""

import ast
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from agentproof.cli import hunt as command
from agentproof.errors import CannotDoError, UsageError
from agentproof.hunt import reproduction
from agentproof.hunt.known import read_known, reason_of
from agentproof.hunt.modes import compared, differing, effects, first_difference, read_log
from agentproof.hunt.programs import AREAS, Agent, Features, Program, Run, Tool, Turn, strategy
from agentproof.hunt.scripts import MODES, Rendering, applies, render
from agentproof.hunt.search import Signature, simpler

ALL = Features()
NONE = Features(
    approvals=False,
    tool_guardrails=False,
    handlers=False,
    nested_history=False,
    blocking_guardrails=False,
    limits=False,
    retries=False,
    scripted_model=False,
)
RUN: list[Any] = ["run", "'done'", "g0", ["MessageOutputItem"], [], [0, 0, 0, 0], [], [1, 3]]


@settings(max_examples=40, deadline=None)
@given(strategy(None, ALL))
def test_every_program_is_a_script_in_every_mode(program: Program) -> None:
    for mode in ("plain", *MODES):
        if mode == "plain" or applies(program, mode):
            ast.parse(render(program, Rendering(ALL, mode)))
            ast.parse(render(program, Rendering(ALL, mode, is_logged=False)))
            ast.parse(reproduction.write(program, ALL, mode=mode, differs=["final"], log=[RUN], about="it"))


@settings(max_examples=20, deadline=None)
@given(strategy(None, NONE))
def test_a_release_without_a_feature_is_not_asked_for_it(program: Program) -> None:
    text = render(program, Rendering(NONE))
    for word in (
        "needs_approval",
        "get_interruptions",
        "tool_input_guardrail",
        "nest_handoff",
        "SessionSettings",
        "ModelRetrySettings",
        "agents.testing",
    ):
        assert word not in text


@settings(max_examples=60, deadline=None)
@given(strategy("sessions", ALL))
def test_two_branches_of_a_run_are_not_written_into_one_session(program: Program) -> None:
    text = render(program, Rendering(ALL))
    for number, run in enumerate(program.runs, start=1):
        if run.sibling is not None and run.decisions and program.session is not None:
            assert not program.failing_add
            assert f"session=branch{number}" in text


def test_an_area_leaves_the_others_plain() -> None:
    @settings(max_examples=40, deadline=None)
    @given(strategy("sessions", ALL))
    def drawn(program: Program) -> None:
        assert all(each.input_guardrail is None and each.output_guardrail is None for each in program.agents)
        assert all(run.max_turns == 10 and not run.is_cancelled for run in program.runs)

    drawn()
    assert command._AREAS == AREAS


@settings(max_examples=20, deadline=None)
@given(strategy(None, ALL))
def test_a_program_is_what_its_json_says(program: Program) -> None:
    assert Program.from_shape(json.loads(json.dumps(program.to_shape()))) == program


def test_hypothesis_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(CannotDoError, match="Hypothesis, which is not installed") as raised:
        strategy(None, ALL)
    assert "[hunt]" in str(raised.value.hint)


@settings(max_examples=30, deadline=None)
@given(strategy(None, ALL))
def test_what_is_simpler_comes_to_an_end(program: Program) -> None:
    def size(each: Program) -> int:
        return len(json.dumps(each.to_shape())) + 1000 * (each != Program())

    steps = 0
    while smaller := [each for each in simpler(program) if size(each) < size(program)]:
        program = smaller[0]
        steps += 1
        assert steps < 200
    assert len(program.tools) == len(program.agents) == len(program.runs) == 1


def test_calls_beside_each_other_may_come_in_another_order() -> None:
    one = [["tool", "t0", "a"], ["tool", "t0", "b"], RUN]
    assert effects(one) == effects([one[1], one[0], one[2]])
    assert differing(effects(one), effects(one[1:])) == ("tool",)
    assert first_difference(effects(one), effects(one[1:])) == ("tool", '["t0", "a"]', "nothing")


def test_of_a_race_only_the_end_is_compared() -> None:
    one = [["tool", "t0", "a"], ["raised", "ValueError", "broken a"]]
    other = [["raised", "TypeError", "broken b"]]
    assert differing(effects(one, is_racing=True), effects(other, is_racing=True)) == ()
    assert differing(effects(one), effects(other)) == ("raised", "tool")
    racing = Program(tools=(Tool(body="raises_out"),), agents=(Agent(turns=(Turn(calls=(0, 0)),)),))
    assert racing.is_racing
    assert not Program().is_racing


def test_a_sibling_is_compared_with_the_state_that_went_first() -> None:
    pause = [*RUN[:4], [["t0", "q1_g00_0"]], *RUN[5:]]
    same = [pause, ["held"], ["tool", "t0", "x"], RUN, ["mark"], ["tool", "t0", "x"], RUN]
    assert differing(*compared("siblings", [], same, is_racing=False)) == ()
    lost = [pause, ["held"], ["tool", "t0", "x"], RUN, ["mark"], RUN]
    assert differing(*compared("siblings", [], lost, is_racing=False)) == ("tool",)


def test_a_script_that_did_not_come_to_its_end_has_no_log() -> None:
    assert read_log(b"") is None
    assert read_log(b"[1") is None
    assert read_log(b'hello\n[["run"]]\n') == [["run"]]


def test_a_mode_is_left_out_where_it_changes_what_may_differ() -> None:
    pausing = Program(tools=(Tool(needs="always"),), runs=(Run(decisions=("a",)),))
    assert [mode for mode in MODES if applies(pausing, mode)] == [
        mode for mode in MODES if mode != "last-siblings"
    ]
    twice = replace(pausing, runs=(Run(decisions=("-", "a")),))
    assert [mode for mode in MODES if applies(twice, mode)] == list(MODES)
    assert [mode for mode in MODES if applies(Program(), mode)] == ["stream", "around"]
    with_sibling = replace(pausing, runs=(Run(decisions=("a",), sibling="r"),))
    assert [mode for mode in MODES if applies(with_sibling, mode)] == ["stream", "json", "around"]
    cancelled = replace(pausing, runs=(Run(decisions=("a",), is_cancelled=True),))
    assert not any(applies(cancelled, mode) for mode in MODES)


def test_the_short_script_takes_the_steps_that_the_log_tells() -> None:
    program = Program(tools=(Tool(needs="always"),), runs=(Run(decisions=("r", "a")),))
    pause = [*RUN[:4], [["t0", "q1_g00_0"]], *RUN[5:]]
    text = reproduction.write(program, ALL, mode="plain", differs=(), log=[pause, RUN], about="rule: it")
    assert text.count("Runner.run(") == 2
    assert "state.reject(item)" in text
    assert "approve(item)" not in text
    assert len(text.splitlines()) <= 60


def test_known_findings_have_a_reason(tmp_path: Path) -> None:
    news = Signature("mode", "json", "asked, tool")
    assert reason_of(news, read_known(())) is None
    place = tmp_path / "known.json"
    place.write_text('{"known": [{"signature": "mode json: *", "reason": "meant"}]}')
    assert reason_of(news, read_known([place])) == "meant"
    place.write_text('{"known": [{"signature": "mode json: *"}]}')
    with pytest.raises(UsageError, match=r"known\.json"):
        read_known([place])
