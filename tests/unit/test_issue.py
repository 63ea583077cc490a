"""What an issue's body tells first: the claims, what changed, the steps and the tools."""

from typing import Any

from markdown_it import MarkdownIt

from agentproof.check.bundle import Reader, check_bundle
from agentproof.render.issue import describe_bug
from agentproof.render.markdown import render_issue
from agentproof.render.story import Story, tell
from tests.forge import REPORTER, Draft, draft, sources, trust_in
from tests.hostile import EVIL

Event = dict[str, Any]  # Any: a JSON object


def story_of(changed: Draft) -> Story:
    reader = Reader(trust=trust_in(REPORTER), sources=sources())
    return tell(check_bundle(changed.judged().seal(), reader=reader))


def said_of(changed: Draft) -> str:
    return "\n".join(describe_bug(story_of(changed)))


def with_events(added: list[Event], *, holds: bool = True) -> Draft:
    """The draft with these events near its end, in the mode as written alone."""
    changed = draft(holds=holds)
    events = changed.traces["as-written"]["events"]
    events[-2:-2] = [dict(event) for event in added]
    for seq, event in enumerate(events, start=1):
        event["seq"] = seq
    changed.traces = {"as-written": changed.traces["as-written"]}
    changed.manifest["recordings"] = changed.manifest["recordings"][:1]
    return changed


def test_a_claim_with_several_reasons_lists_them() -> None:
    changed = draft()
    for trace in changed.traces.values():
        events = trace["events"]
        at = next(index for index, event in enumerate(events) if event["kind"] == "tool.started")
        again = [dict(event, call_id="call_2") for event in events[at : at + 2]]
        events[at + 2 : at + 2] = again
        for seq, event in enumerate(events, start=1):
            event["seq"] = seq
    text = said_of(changed)
    assert (
        "- **approval-respected** (as written and streamed):\n  - tool pay ran for call_1; the resumed"
        in text
    )
    assert "\n  - tool pay ran for call_2; the resumed state (the 2nd RunState, S2) held no approval" in text
    assert "(Streamed: the same script, its runs started by `Runner.run_streamed` instead.)" in text


def test_a_run_says_that_the_script_streams_it_and_with_what_context() -> None:
    changed = draft()
    for trace in changed.traces.values():
        for event in trace["events"]:
            if event["kind"] == "run.started" and event["run"] == "R2":
                event |= {"streamed": True, "context": "builtins:dict"}
                event.pop("routed", None)
    text = said_of(changed)
    assert "resumes S2, with a context (dict), streamed" in text
    assert "begins, streamed" not in text


def test_a_recording_that_shows_no_violation_tells_what_the_script_printed() -> None:
    text = said_of(draft(holds=True))
    assert "every claim that had something to judge holds." in text
    assert "The script prints:\n\n```text\n" in text
    assert "The script prints:" not in said_of(draft())


def test_calls_that_repeat_are_told_once_and_one_that_paused_did_not_fail() -> None:
    # Run R1 pauses for a decision; the draft's tool runs in R2.
    started, ended = (
        dict(draft().event(kind), run="R1", tool="look") for kind in ("tool.started", "tool.ended")
    )
    done = [{**each, "call_id": "c8"} for each in (started, ended)]
    waits = {**started, "tool": "ask", "call_id": "c9"}
    text = said_of(with_events([*done, *done, waits]))
    assert '- `look({"amount": 100}) for c8` (needs approval) gave `"paid 100"`, 2 times' in text
    assert '- `ask({"amount": 100}) for c9` (needs approval) had to wait for a decision' in text


def test_only_what_waited_for_a_decision_is_told_to_have_waited() -> None:
    """Journey 22: a tool without approval, inside of which another one waits."""
    started = dict(draft().event("tool.started"), run="R1")
    inside = {**started, "tool": "pay", "call_id": "c8"}
    around = {**started, "tool": "ask_the_clerk", "call_id": "c9", "needs_approval": False}
    text = said_of(with_events([around, inside]))
    assert '- `ask_the_clerk({"amount": 100}) for c9` was not over when the run paused' in text
    assert text.count("had to wait for a decision") == 1


def test_all_steps_of_a_long_story_are_folded_and_stay_text() -> None:
    noted = [{"kind": "probe.observed", "label": f"{n} {EVIL}", "value": EVIL} for n in range(60)]
    text = said_of(with_events(noted, holds=False))
    tokens = MarkdownIt("commonmark").parse(text)
    blocks = [token.content for token in tokens if token.type == "html_block"]
    assert [block.strip() for block in blocks] == ["<details><summary>All 77 steps</summary>", "</details>"]
    whole = [token.content for token in tokens if token.type == "fence"][-1]
    assert whole.startswith("   1   the script reproduction.py begins\n")
    assert len(whole) < 13_000


def test_of_a_long_story_in_which_nothing_decides_each_step_is_told_once() -> None:
    noted = [{"kind": "probe.observed", "label": f"noted {n}", "value": n} for n in range(60)]
    text = said_of(with_events(noted))
    assert text.count("the script reproduction.py begins") == 1
    assert text.count("noted 7") == 1


def test_of_a_long_story_what_led_to_the_first_violation_is_shown_where_there_is_room() -> None:
    """The draft's first violation is at a decision; what is noted after it makes the story long."""
    noted = [{"kind": "probe.observed", "label": f"{n}", "value": n} for n in range(60)]
    shown = said_of(with_events(noted, holds=False)).split("```text")[1]
    for words in ("the script reproduction.py begins", "run R1 of clerk begins", "pauses for a decision"):
        assert words in shown.partition("✗")[0]


def test_only_a_script_that_asked_for_neither_needs_no_network_and_no_key() -> None:
    refused = {"after": [1], "kind": "network.refused", "operation": "socket.connect"}
    said = {
        None: "It needs no API key and no network.",
        True: "It needs no API key and no network.",
        False: "It was recorded without API keys and without network.",
    }
    for loopback, words in said.items():
        events = [] if loopback is None else [{**refused, "loopback": loopback}]
        assert words in render_issue(story_of(with_events(events)), attachment="x.zip").text
