"""Aligning two traces: each difference is named by what it is about, and nothing else is."""

import json
import time

import pytest

from agentproof.diff.align import compare_traces
from agentproof.models.comparison import TraceDifference
from agentproof.render.outcomes import place_of
from tests.claims.builder import PAY, Script, function_output, message, state_json


def paid(*, leaks: bool = False, schema: str = "1.15", output: str = "ok", extra_run: bool = False) -> Script:
    """A paused run; one of two states is approved, the other is resumed."""
    script = Script()
    if extra_run:
        script.end(script.run(agent="helper"), final_output="hello")
    run = script.run()
    script.model(run, [message("go", "user")], PAY)
    result = script.end(run, waits_for=["call_1"])
    document = {**state_json(), "$schemaVersion": schema}
    decided, untouched = script.made(result, document), script.made(result, document)
    script.decide(decided, leaks_to=untouched if leaks else None)
    resumed = script.run(state=untouched)
    if leaks:
        script.tool(resumed, output=output)
        script.model(resumed, [message("go", "user"), PAY, function_output()], message("Paid."))
        script.end(resumed, final_output="Paid.")
    else:
        script.end(resumed, waits_for=["call_1"])
    return script.exit()


def between(before: Script, after: Script) -> list[TraceDifference]:
    return list(
        compare_traces(
            before.trace(),
            lambda digest: json.loads(before.states[digest]),
            after.trace(),
            lambda digest: json.loads(after.states[digest]),
        )
    )


def test_a_trace_does_not_differ_from_itself() -> None:
    assert between(paid(leaks=True), paid(leaks=True)) == []


def test_what_no_longer_happens_is_named_with_its_event() -> None:
    found = between(paid(leaks=True), paid())
    gone = {each.subject: each for each in found if each.what == "gone"}
    assert "tool pay for call_1 in the 2nd run of a" in gone
    assert gone["a change in S2, seen at a decision"].before == {
        "changes": {"/context/approvals/pay": {"after": {"approved": ["call_1"], "rejected": []}}}
    }
    tool = gone["tool pay for call_1 in the 2nd run of a"]
    assert paid(leaks=True).trace().events[(tool.event or 0) - 1].kind == "tool.started"


def test_what_is_new_is_the_reverse_of_what_is_gone() -> None:
    forth, back = between(paid(leaks=True), paid()), between(paid(), paid(leaks=True))
    assert {each.subject for each in forth if each.what == "gone"} == {
        each.subject for each in back if each.what == "new"
    }


def test_a_changed_fact_is_given_by_pointer_with_both_values() -> None:
    (found,) = between(paid(leaks=True), paid(leaks=True, output="other"))
    assert (found.what, found.pointer, found.before, found.after) == ("changed", "/output", "ok", "other")
    assert found.subject == "the output of tool pay for call_1 in the 2nd run of a"


def test_one_more_run_moves_no_other_run() -> None:
    found = between(paid(leaks=True), paid(leaks=True, extra_run=True))
    assert {(each.what, each.subject) for each in found} == {
        ("new", "the run of helper"),
        ("new", "the end of the run of helper"),
    }


def test_another_schema_version_alone_is_no_difference() -> None:
    before, after = paid(leaks=True), Script()
    after = paid(leaks=True, schema="1.16")
    assert between(before, after) == []


def test_a_decision_that_is_kept_elsewhere_is_seen_across_schema_versions() -> None:
    found = between(paid(leaks=True), paid(schema="1.16"))
    assert "a change in S2, seen at a decision" in {each.subject for each in found}


def test_a_decision_that_another_schema_keeps_elsewhere_is_no_difference() -> None:
    before, after = paid(leaks=True), paid(leaks=True, schema="1.21")
    for digest, text in after.states.items():
        document = json.loads(text)
        moved = [
            {"agent": {"name": "a"}, "decision": decision, "tool_key": ["bare", tool]}
            for tool, decision in document["context"].pop("approvals").items()
        ]
        document["context"]["function_tool_approvals"] = moved
        after.states[digest] = json.dumps(document).encode()
    assert between(before, after) == []


def test_another_order_of_the_same_facts_is_said_once() -> None:
    def two(first: str, second: str) -> Script:
        script = Script()
        run = script.run()
        script.tool(run, first, "one")
        script.tool(run, second, "two")
        script.end(run, final_output="done")
        return script.exit()

    def swapped() -> Script:
        script = Script()
        run = script.run()
        script.tool(run, "c2", "two")
        script.tool(run, "c1", "one")
        script.end(run, final_output="done")
        return script.exit()

    (found,) = between(two("c1", "c2"), swapped())
    assert found.what == "moved"
    assert found.subject.startswith("tool one for c1 in the run of a, where tool two for c2")


def test_a_large_value_is_given_by_its_beginning() -> None:
    (found,) = between(paid(leaks=True), paid(leaks=True, output="x" * 5000))
    assert isinstance(found.after, str)
    assert len(found.after) < 400
    assert found.after.endswith("…")


def test_texts_of_any_length_are_cut() -> None:
    def asked(call: str, key: str) -> Script:
        script = Script()
        run = script.run(agent="a" * 4096)
        script.tool(run, call, arguments={key: 1})
        script.end(run)
        return script.exit()

    differences = between(asked("c" * 4096, "k" * 5000), asked("c" * 4096, "other"))
    changed = [each for each in differences if each.what == "changed"]
    assert changed
    assert all(each.subject.endswith("…") and len(each.subject) == 4096 for each in changed)
    assert any((each.pointer or "").endswith("k…") for each in changed)
    gone = between(asked("c" * 4096, "k"), asked("d" * 4096, "k"))
    assert {"gone", "new"} <= {each.what for each in gone}
    assert all(len(each.subject) <= 4096 for each in gone)


def parts(*kinds: str, decides_in: int | None = None) -> Script:
    """Several parts of one kind each after another: a paused run, a decision on its state, its resumption."""
    script = Script()
    for number, kind in enumerate(kinds):
        call = f"call_{kind}"
        run = script.run(input=f"Do {kind}.")
        result = script.end(run, waits_for=[call])
        state = script.made(result, state_json())
        if decides_in != number:
            script.decide(state, call_id=call)
            resumed = script.run(state=state)
            script.tool(resumed, call)
            script.end(resumed, final_output=f"{kind} is done")
    return script.exit()


def test_a_part_that_is_left_out_moves_none_of_those_that_follow() -> None:
    found = between(parts("a", "b", "c", "d"), parts("a", "c", "d"))
    assert {each.what for each in found} == {"gone"}
    assert all(
        "call_b" in each.subject or "S2" in each.subject or " run of a" in each.subject for each in found
    )
    assert {each.subject for each in found if each.about == "tool"} == {
        "tool pay for call_b in the 4th run of a"
    }


def test_a_part_that_is_new_is_told_as_such_and_shares_no_name_with_another() -> None:
    found = between(parts("a", "c"), parts("a", "b", "c"))
    assert {each.what for each in found} == {"new"}
    assert {each.subject for each in found if each.about == "tool"} == {
        "tool pay for call_b in the 4th run of a"
    }
    assert not any("\0" in each.subject for each in found)


def test_a_run_that_is_not_resumed_is_gone_and_the_next_one_is_itself() -> None:
    found = between(parts("a", "b", "c"), parts("a", "b", "c", decides_in=1))
    assert {each.what for each in found} == {"gone"}
    assert {each.subject for each in found if each.about == "end"} == {"the end of the 4th run of a"}


def test_a_run_with_another_input_is_still_the_run_in_its_place() -> None:
    found = between(parts("a", "b"), parts("a", "x"))
    ends = {each.subject for each in found if each.about == "end" and each.what == "changed"}
    assert ends == {"the end of the 3rd run of a", "the end of the 4th run of a"}


@pytest.mark.parametrize("count", [40, 110])
def test_many_runs_in_quite_another_order_are_paired_in_bounded_time(count: int) -> None:
    kinds = [f"{number % 7}{number % 3}" for number in range(count)]
    started = time.monotonic()
    found = between(parts("x", *kinds, "y"), parts(*kinds[::-1]))
    assert found
    assert time.monotonic() - started < 20


def test_a_place_in_a_state_is_told_as_one_and_not_as_a_place_in_a_fact() -> None:
    assert place_of("/output") == "/output"
    assert place_of("/changes/~1context~1a~01") == "/context/a~1"
    assert place_of("/changes/~1items~10/before/raw_item/arguments") == "/items/0/raw_item/arguments (before)"
