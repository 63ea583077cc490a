"""What a rule does grows with the trace, not with its square: anybody may send a bundle.

Calls of functions are counted, not seconds; those of C included, since a walk through a list is one.
"""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from agentproof.claims import INVARIANTS, Evidence
from agentproof.errors import BundleError
from tests.claims.builder import Script, evidence, function_call, function_output, message, state_json

SMALL, LARGE = 20, 80
ALLOWED = 1.8 * LARGE / SMALL
"""A rule whose work grows with the square would take 16 times as much; sorting takes a little more than 4."""


def _resumed_run(script: Script, state: str | None) -> str:
    """A run of one tool call that waits, with its result looked at; gives the state made of it."""
    run = script.run(state=state, session="D1", session_before=[])
    script.model(run, [message("go", "user")], function_call())
    script.add("approval.asked", run=run, call_id="call_1", answer=True)
    script.tool(run, needs_approval=True)
    script.add("body.raised", run=run, frame="F1", function="pay", error=ERROR)
    script.stores("D1", function_call(), function_output(), run=run)
    script.session("D1", "get_items", result=[function_call(), function_output()], run=run)
    result = script.end(run, session="D1", session_after=[function_call(), function_output()])
    made = script.made(result, state_json())
    script.decide(made)
    seen = {"final_output": "a", "items": [], "usage": {"requests": 1}}
    script.add("result.observed", result=result, of_run=run, before=seen, now=seen, moment="exit")
    return made


ERROR = {"type": "builtins:KeyError", "message": "x"}


def _chain(times: int) -> Script:
    """Each run goes on from a state of the one before."""
    script = Script()
    state: str | None = None
    for _ in range(times):
        state = _resumed_run(script, state)
    return script.exit()


def _fan(times: int) -> Script:
    """Many states of one result, each decided and resumed."""
    script = Script()
    result = script.end(script.run(), waits_for=["call_1"])
    for _ in range(times):
        state = script.made(result, state_json())
        script.decide(state)
        run = script.run(state=state)
        script.tool(run, needs_approval=True)
        script.end(run)
    return script.exit()


def _long_run(times: int) -> Script:
    """One run of many turns, whose result is looked at as often."""
    script = Script()
    run = script.run()
    for number in range(times):
        script.model(run, "go", function_call(f"c{number}"))
        script.tool(run, f"c{number}")
    result = script.end(run)
    seen = {"final_output": "a", "items": []}
    for _ in range(times):
        script.add("result.observed", result=result, of_run=run, before=seen, now=seen, moment="body")
    return script.exit()


def _many_looks(times: int) -> Script:
    """One state that changes under the script's eyes, again and again."""
    script = Script()
    state = script.made(script.end(script.run(), waits_for=["call_1"]), state_json())
    for number in range(times):
        script.now[state]["current_turn"] = number
        script.look("decision")
        script.decide(state)
    return script.exit()


def _errors(times: int) -> Script:
    """Runs that raise what only a function outside of all runs had raised before."""
    script = Script()
    for _ in range(times):
        script.add("body.raised", frame="F1", function="main", error=ERROR)
        run = script.run()
        script.model(run, "go", message("a"))
        script.end(run, "raised", error=ERROR)
    return script.exit()


def _tripped(times: int) -> Script:
    """One run that raises, where many guardrails came before many that tripped."""
    script = Script()
    run = script.run()
    for tripped in (False, True):
        for number in range(times):
            script.add("guardrail.ran", run=run, guardrail_kind="input", name=f"g{number}", tripped=tripped)
    error = {"type": "agents.exceptions:InputGuardrailTripwireTriggered", "message": "x"}
    listed = [{"name": f"g{number}"} for number in range(times)]
    script.end(run, "raised", error={**error, "data": {"guardrails": {"input": listed, "output": []}}})
    return script.exit()


def _late(times: int) -> Script:
    """One streamed run that waits neither for many tools nor for many guardrails, the last of which waits
    for the tools."""
    script = Script("streamed")
    run = script.run()
    with script.lane():
        for number in range(times):
            script.add("guardrail.ran", run=run, guardrail_kind="input", name=f"g{number}", tripped=False)
    with script.lane():
        for number in range(times):
            script.tool(run, f"c{number}")
        script.add("guardrail.ran", run=run, guardrail_kind="input", name="last", tripped=False)
    script.end(run)
    return script.exit()


def _kept_by_a_server(times: int) -> Script:
    """Each run goes on from a state of the one before, in one conversation that a server keeps."""
    script = Script()
    state: str | None = None
    for number in range(times):
        run = script.run(state=state)
        for _ in range(2):
            script.model(run, "go", function_call(f"c{number}"), conversation_id="conv_1")
        state = script.made(script.end(run), state_json())
    return script.exit()


def _put_back(times: int) -> Script:
    """One run whose many input items the SDK stored, took out of the session, and stored again."""
    script = Script()
    items = [message(f"m{number}", "user") for number in range(times)]
    run = script.run(input=items)
    script.stores("D1", *items, run=run)
    for item in items:
        script.session("D1", "pop_item", result=item, run=run)
    script.stores("D1", *items, run=run)
    script.end(run, session="D1", session_after=items)
    return script.exit()


SHAPES: list[Callable[[int], Script]] = [
    *(_chain, _fan, _long_run, _many_looks, _errors),
    *(_tripped, _late, _kept_by_a_server, _put_back),
]


def _calls(rule: str, seen: Evidence) -> int:
    count = 0

    def counted(_frame: object, event: str, _argument: Any) -> None:  # Any: of `sys.setprofile`
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        INVARIANTS[rule].evaluate(seen)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__.strip("_"))
def test_a_rule_takes_as_much_longer_as_the_trace_is(shape: Callable[[int], Script]) -> None:
    rules = sorted(name for name, kind in INVARIANTS.items() if kind.SCOPE != "both")
    # Each rule has an index of its own to build: what it shares with others counts too.
    small = {rule: _calls(rule, evidence(shape(SMALL))) for rule in rules}
    large = {rule: _calls(rule, evidence(shape(LARGE))) for rule in rules}
    grown = {rule: round(large[rule] / small[rule], 1) for rule in rules}
    assert {rule: times for rule, times in grown.items() if times > ALLOWED} == {}


def test_runs_nested_deeper_than_in_any_honest_trace_are_refused() -> None:
    script = Script()
    run: str | None = None
    for _ in range(102):
        run = script.run(inside=run, input="go")
    with pytest.raises(BundleError) as refused:
        INVARIANTS["usage-is-sum"].evaluate(evidence(script.exit()))
    assert refused.value.reason == "too_deep"


def test_a_state_resumed_and_shown_more_often_than_in_any_honest_trace_is_refused() -> None:
    script = Script()
    state = script.made(script.end(script.run(), waits_for=["call_1"]), state_json())
    for number in range(2_300):
        script.now[state]["current_turn"] = number
        script.look("decision")
        script.end(script.run(state=state))
    with pytest.raises(BundleError) as refused:
        INVARIANTS["state-integrity"].evaluate(evidence(script.exit()))
    assert refused.value.reason == "too_parallel"
