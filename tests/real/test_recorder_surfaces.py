"""Each surface of the SDK that a recording tells of, from the healthy scripts that use it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentproof.environment import venv
from tests.corpus.same_program import environment as with_extras
from tests.real.test_recorder_identity import environment
from tests.unit.recorder.driver import Recorded, record

pytestmark = [pytest.mark.real, pytest.mark.slow]

SCRIPTS = Path(__file__).parents[1] / "scripts" / "healthy_more"

Recorder = Callable[[str], Recorded]
Raw = dict[str, Any]  # Any: JSON as the recorder wrote it


@pytest.fixture(scope="module", params=["0.20.0", "0.24.0"])
def prepared(request: pytest.FixtureRequest) -> Iterator[venv.PreparedEnvironment]:
    """A venv with one release."""
    with environment(request.param, "3.12") as found:
        yield found


@pytest.fixture
def recorded(prepared: venv.PreparedEnvironment, tmp_path: Path) -> Recorder:
    """Records a script as written; the recorder must not have failed anywhere."""

    return lambda name: _recorded(name, prepared, tmp_path)


def _recorded(name: str, prepared: venv.PreparedEnvironment, place: Path) -> Recorded:
    found = record(
        SCRIPTS / f"{name}.py",
        place,
        python=prepared.python,
        site_packages=prepared.site_packages,
        cache=prepared.pycache_prefix,
        # As the recorder is told of a loopback of its own, where scripts ask servers of their own.
        network="namespace",
    )["as-written"]
    assert found.of("recorder.failed") == []
    assert found.of("script.ended")[0]["code"] == 0, found.stream("stderr").decode()
    return found


def test_native_tools_are_matched_with_their_calls_and_asked_about(recorded: Recorder) -> None:
    found = recorded("m13_native_approvals")
    started = {(event["tool_kind"], event["call_id"]) for event in found.of("tool.started")}
    assert started == {("shell", "sh1"), ("shell", "sh2"), ("apply_patch", "ap1"), ("custom", "ct1")}
    # Twice: for the state that is approved, and for the one that is rejected.
    asked = sorted((event["tool"], event["call_id"], event["answer"]) for event in found.of("approval.asked"))
    once = [("free", "ct1", True), ("shell", "sh1", True), ("shell", "sh2", True)]
    assert sorted(set(asked)) == once
    bodies = sorted(event["tool"] for event in found.of("body.started") if "tool" in event)
    assert bodies == ["free", "shell", "shell"]


def test_a_real_mcp_server_and_what_it_gave_are_told(recorded: Recorder) -> None:
    found = recorded("m14_mcp_stdio")
    calls = {event["tool"]: event["result"]["fields"] for event in found.of("mcp.called")}
    assert set(calls) == {"multiply", "fail", "rows"}
    texts = [part["fields"]["text"] for part in calls["rows"]["content"]]
    assert texts == ["one", "two"]
    assert {event["tool_kind"] for event in found.of("tool.started")} == {"mcp"}
    assert [event["observed"] for event in found.of("process.started")] == [True]


def test_pages_prompts_and_connections_of_mcp_servers_are_told(recorded: Recorder) -> None:
    found = recorded("m63_mcp_pages")
    used = found.of("mcp.used")
    assert [(event["operation"], event.get("server")) for event in used if "names" not in event] == [
        ("connect", "box"),
        ("connect", "absent"),
        ("list_prompts", "box"),
        ("get_prompt", "box"),
        ("cleanup", "absent"),
        ("cleanup", "box"),
    ]
    assert [event["names"] for event in used if event["operation"] == "list_tools"] == [
        ["hammer", "drill"]
    ] * 4
    pages = [event for event in found.of("mcp.requested") if event["method"] == "tools/list"]
    assert [bool(event.get("again")) for event in pages] == [False, False, *[True] * 6]
    assert [(event.get("params") or {}).get("cursor") for event in pages[:2]] == [None, "two"]
    # The filter is the SDK's: the server gave what the agent is not offered.
    first = [tool["name"] for tool in pages[0]["result"]["tools"]]
    assert first == ["hammer", "saw"]


def test_what_is_asked_over_streamable_http_is_told(recorded: Recorder) -> None:
    found = recorded("m64_mcp_http")
    assert [event["operation"] for event in found.of("mcp.used")].count("connect") == 2
    assert len([event for event in found.of("mcp.requested") if event["method"] == "tools/list"]) == 4
    assert len(found.of("mcp.called")) == 4


def test_what_the_provider_ran_is_reported_and_never_a_tool_that_ran_here(recorded: Recorder) -> None:
    found = recorded("m15_hosted_tools")
    reported = [(event["item_type"], event["call_id"]) for event in found.of("tool.reported")]
    assert reported == [
        ("mcp_call", "mc1"),
        ("mcp_call", "mc2"),
        ("mcp_call", "mc3"),
        ("web_search_call", "ws1"),
        ("code_interpreter_call", "ci1"),
    ]
    assert found.of("tool.started") == []
    configs = [tool["config"] for event in found.of("model.offered") for tool in event.get("tools", ())]
    assert [config["require_approval"] for config in configs] == ["never", "always", "always", "always"]


def test_guardrails_and_hooks_are_told_in_their_order(recorded: Recorder) -> None:
    found = recorded("m16_guardrails_and_hooks")
    ran = [(event["guardrail_kind"], event["name"]) for event in found.of("guardrail.ran")]
    assert {kind for kind, _ in ran} == {"input", "output", "tool_input", "tool_output"}
    behaviors = {
        event["call_id"]: event["behavior"]["type"]
        for event in found.of("guardrail.ran")
        if "behavior" in event
    }
    assert behaviors["c3"] == "reject_content"
    (broken,) = [event for event in found.of("guardrail.ran") if event["name"] == "broken"]
    assert broken["error"]["type"] == "builtins:KeyError"
    first = found.of("run.started")[0]["run"]
    hooks = [(e["scope"], e["hook"]) for e in found.of("hook.called") if e["run"] == first]
    assert hooks.index(("run", "on_agent_start")) < hooks.index(("run", "on_llm_start"))
    handed = hooks.index(("run", "on_handoff"))
    assert hooks[handed:].count(("run", "on_agent_end")) == hooks[handed:].count(("agent", "on_end")) == 1


def test_handoffs_are_offered_with_their_inputs_and_filters(recorded: Recorder) -> None:
    found = recorded("m17_handoffs")
    assert len(found.of("handoff.made")) == 8
    schemas = [each["schema"] for event in found.of("model.offered") for each in event.get("handoffs", ())]
    assert any("reason" in schema.get("properties", {}) for schema in schemas)
    assert {len(event["handoff_filters"]) for event in found.of("model.called")} == {0, 1}


def test_sessions_that_fail_are_told_with_what_they_hold(recorded: Recorder) -> None:
    found = recorded("m18_failing_sessions")
    failed = [event for event in found.of("session.used") if "error" in event]
    assert [event["error"]["message"] for event in failed] == ["disk full"] * 4
    raised = [event for event in found.of("run.ended") if event["outcome"] == "raised"]
    assert [len(event["session_after"]) for event in raised] == [0, 1, 3, 1]
    classes = {event["session_class"].rpartition(":")[2] for event in found.of("session.used")}
    assert classes == {"SQLiteSession", "Failing", "AdvancedSQLiteSession"}


def test_decisions_are_told_with_their_options_and_callbacks_with_their_counts(recorded: Recorder) -> None:
    found = recorded("m19_decisions")
    options = [event["options"] for event in found.of("state.decided")]
    assert options == [{}, {"always_approve": True}, {"always_reject": True}, {}, {}]
    asked = [
        (event["tool"], event["arguments"]["n"], event["answer"]) for event in found.of("approval.asked")
    ]
    assert set(asked) == {("spend", 1, False), ("spend", 2, True)}


def test_values_keep_their_types_and_spans_their_place(recorded: Recorder) -> None:
    found = recorded("m20_typed_values")
    types = {event["output_type"].rpartition(":")[2] for event in found.of("tool.ended")}
    assert types == {
        *("NoneType", "list", "int", "str", "bool", "dict", "Decimal", "date", "Color", "bytes"),
        *("Point", "Answer", "tuple", "float", "ToolOutputImage"),
    }
    ended = found.of("span.ended")
    assert {str(event["parent"]) for event in ended if "parent" in event} <= {str(e["span"]) for e in ended}
    assert {str(event["trace"]) for event in ended} == {str(e["trace"]) for e in found.of("trace.ended")}
    (own,) = [event for event in ended if event["span_type"] == "custom"]
    assert own["data"] == {"data": {"k": 1}}
    (raised,) = [event for event in found.of("run.ended") if "cause" in event.get("error", {})]
    assert raised["error"]["cause"]["type"] == "decimal:InvalidOperation"


def test_what_went_over_the_wire_is_told_beside_what_was_asked(recorded: Recorder) -> None:
    found = recorded("m60_responses_wire")
    wire = found.of("model.exchanged")
    assert [event["status"] for event in wire] == [200, 200, 200, 500, 200, 200]
    assert {(event["method"], event["host"], event["path"]) for event in wire} == {
        ("POST", "127.0.0.1", "/v1/responses")
    }
    first = wire[0]["request"]
    assert (first["temperature"], first["max_output_tokens"]) == ({"$float": "0.5"}, 200)
    assert [tool["name"] for tool in first["tools"]] == ["weather", "clock"]
    assert wire[0]["response"]["usage"]["total_tokens"] == 15
    (streamed,) = [event for event in wire if "events" in event]
    assert streamed["events"][-1]["type"] == "response.completed"
    (made,) = found.of("model.streamed")
    kinds = [event["type"] for event in made["events"]]
    assert kinds.count("response.output_item.added") == kinds.count("response.output_item.done") == 1
    # The call that was tried again: both requests are its own, and stand before its answer.
    again = [event for event in found.events if event.get("call") == wire[3]["call"]]
    assert [event["kind"] for event in again] == [
        "model.called",
        "model.exchanged",
        "model.exchanged",
        "model.answered",
    ]


def test_a_transport_of_the_scripts_own_is_told_like_a_provider(recorded: Recorder) -> None:
    wire = recorded("m61_chat_wire").of("model.exchanged")
    assert [event["host"] for event in wire] == ["gateway.invalid"] * 4 + ["127.0.0.1"] * 4
    own, served = wire[:4], wire[4:]
    assert [event["request"] for event in own] == [event["request"] for event in served]
    assert [event.get("events") for event in own] == [event.get("events") for event in served]


def test_what_goes_on_after_a_run_is_told_apart_from_it(recorded: Recorder) -> None:
    found = recorded("m21_after_a_raise")
    outcomes = [event["outcome"] for event in found.of("run.ended")]
    assert outcomes == ["raised", "raised", "cancelled", "raised", "cancelled"]
    events = found.events
    (late,) = [
        place for place, e in enumerate(events) if e["kind"] == "body.returned" and e["value"] == "late"
    ]
    (first, *_) = [place for place, event in enumerate(events) if event["kind"] == "run.ended"]
    assert first < late
    stopped = [event for event in found.of("body.raised") if event["function"] == "waits"]
    assert {event["error"]["type"] for event in stopped} == {"asyncio.exceptions:CancelledError"}


def test_a_realtime_session_is_told_with_its_tools_and_its_line(recorded: Recorder) -> None:
    found = recorded("m63_realtime")
    told = [(event["name"], event["fields"]) for event in found.of("surface.told")]
    ran = [fields for name, fields in told if name == "tool_end"]
    assert [(each["tool"]["fields"]["name"], each["output"]) for each in ran] == [
        ("opening_hours", "9 to 5 on Monday")
    ]
    assert "handoff" in dict(told)
    sound = next(fields for name, fields in told if name == "audio")["audio"]["fields"]["data"]
    assert sound.startswith("400 bytes, sha256 ")
    calls = {(event["name"], event["by_sdk"]) for event in found.of("surface.called")}
    assert {("RealtimeSession.send_message", False), ("RealtimeSession.interrupt", False)} <= calls
    assert {("Line.connect", True), ("Line.send_event", True), ("Line.close", True)} <= calls


@pytest.mark.parametrize("version", ["0.20.0", "0.24.0"])
def test_a_voice_pipeline_is_told_with_what_it_asked_and_without_its_sound(
    version: str, tmp_path: Path
) -> None:
    with with_extras(version, "3.12", SCRIPTS / "m64_voice.py") as prepared:
        found = _recorded("m64_voice", prepared, tmp_path)
    calls = [event["name"] for event in found.of("surface.called")]
    theirs = {"Ears.transcribe", "Mouth.run", "Echo.run", "Turns.transcribe_turns"}
    assert {"VoicePipeline.run", *theirs} <= set(calls)
    ended = {event["call"]["$label"]: event for event in found.of("surface.ended")}
    spoken = [event["call"]["$label"] for event in found.of("surface.called") if event["name"] == "Mouth.run"]
    assert {ended[call]["items"] for call in spoken} == {3}
    assert not any("$bytes" in repr(event) for event in found.of("surface.called"))


def test_a_manager_of_servers_is_told_with_what_it_did_to_them(recorded: Recorder) -> None:
    found = recorded("m65_mcp_manager")
    calls = [event["name"] for event in found.of("surface.called") if not event["by_sdk"]]
    assert "MCPServerManager.reconnect" in calls


def test_what_a_branching_session_is_asked_beyond_the_four_is_told(recorded: Recorder) -> None:
    found = recorded("m70_session_branches")
    asked = [event["operation"] for event in found.of("session.called")]
    # Each once, at its outermost: `create_branch_from_content` searches and makes a branch inside of itself.
    assert asked == [
        *["store_run_usage"] * 2,
        *("create_branch_from_turn", "create_branch_from_content", "list_branches", "switch_to_branch"),
        *("find_turns_by_content", "get_conversation_turns", "get_conversation_by_turns", "switch_to_branch"),
        *("get_session_usage", "get_tool_usage", "get_turn_usage", "delete_branch", "switch_to_branch"),
        *("delete_branch", "create_branch_from_turn", "close"),
    ]
    made = found.of("session.called")[3]
    assert made["arguments"] == {"search_term": "Tromso", "branch_name": "south"}
    assert made["result"] == "south"
    refused = [event["operation"] for event in found.of("session.called") if "error" in event]
    assert refused == ["switch_to_branch", "delete_branch", "create_branch_from_turn"]
    assert not any(event["by_sdk"] for event in found.of("session.called"))
    read = [event for event in found.of("session.used") if event.get("branch") == "main"]
    assert [(event["operation"], event["by_sdk"]) for event in read] == [("get_items", False)]
    (listed,) = [
        event["result"] for event in found.of("session.called") if event["operation"] == "list_branches"
    ]
    assert {tuple(sorted(each)) for each in listed} == {
        ("branch_id", "is_current", "message_count", "user_turns")
    }


def test_what_a_run_does_in_any_script_is_told_of_no_other_surface(recorded: Recorder) -> None:
    # Each run goes through the SDK's runtime of sandboxes, whether it has one or not.
    assert recorded("m04_errors").of("surface.called") == []
