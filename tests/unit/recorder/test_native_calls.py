"""Which call a native tool answers: rules of `agentproof._recorder.adapters.openai_agents.tools`."""

from typing import Any

import pytest

from agentproof._recorder.adapters.openai_agents.tools import Calls, calls_of, reported


def shell(name: str) -> dict[str, Any]:
    return {"type": "shell_call", "call_id": name, "action": {"commands": [name]}}


def test_calls_of_one_family_are_answered_in_order() -> None:
    calls = Calls()
    calls.asked([shell("a"), {"type": "apply_patch_call", "call_id": "p", "operation": {}}, shell("b")])
    assert calls.start("shell") == ("a", {"commands": ["a"]})
    assert calls.start("apply_patch") == ("p", {})
    assert calls.end("shell") == "a"
    assert calls.start("shell") == ("b", {"commands": ["b"]})
    assert (calls.end("shell"), calls.end("apply_patch")) == ("b", "p")


def test_a_tool_that_nobody_asked_for_has_no_id() -> None:
    calls = Calls()
    calls.asked([{"type": "message"}, {"type": "function_call", "call_id": "f"}])
    assert calls.start("shell") == (None, None)
    assert calls.end("shell") is None


def test_a_resumed_run_goes_on_with_the_calls_that_have_no_output() -> None:
    calls = Calls()
    done = {"type": "tool_call_output_item", "raw_item": {"call_id": "a"}}
    state = {"last_model_response": {"output": [shell("a"), shell("b")]}, "generated_items": [done]}
    calls.resumed(state)
    assert calls.start("shell")[0] == "b"


@pytest.mark.parametrize("state", [None, {}, {"last_model_response": None}, {"generated_items": [1]}])
def test_a_state_of_another_shape_is_no_error(state: Any) -> None:
    calls = Calls()
    calls.resumed(state)
    assert calls.start("shell") == (None, None)


def test_runs_have_calls_of_their_own() -> None:
    calls_of({"$label": "R:x"}).asked([shell("a")])
    assert calls_of({"$label": "R:y"}).start("shell") == (None, None)
    assert calls_of({"$label": "R:x"}).start("shell")[0] == "a"


def test_what_a_provider_ran_is_reported_and_what_runs_here_is_not() -> None:
    item = {
        "type": "mcp_call",
        "id": "m1",
        "name": "lookup",
        "server_label": "srv",
        "arguments": "{}",
        "output": "42",
    }
    assert reported(item) == {
        "tool": "lookup",
        "server": "srv",
        "item_type": "mcp_call",
        "call_id": "m1",
        "arguments": "{}",
        "output": "42",
        "error": None,
    }
    assert reported(shell("a")) is None
