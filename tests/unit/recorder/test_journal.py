"""One event a line, never raising: rules of `agentproof._recorder.events`."""

import contextvars
import os
from collections.abc import Callable
from typing import Any

import pytest

from agentproof._recorder.events import During, Journal, guarded, label, pause, run, watching

Told = Callable[[], list[dict[str, Any]]]


def test_a_field_without_a_value_is_absent_and_a_null_value_is_kept(journal: Journal, told: Told) -> None:
    journal.emit("tool.ended", {"output": None, "call_id": None, "tool": "t"})
    (event,) = told()
    assert event == {
        "n": "0:1",
        "lane": "0:1",
        "after": [],
        "kind": "tool.ended",
        "output": None,
        "tool": "t",
    }


def test_an_event_carries_the_innermost_run(journal: Journal, told: Told) -> None:
    with During(run, label("R", "1")):
        journal.emit("x", {})
    journal.emit("x", {})
    journal.emit("x", {}, of_run=label("R", "2"))
    assert [event.get("run") for event in told()] == [{"$label": "R:1"}, None, {"$label": "R:2"}]


def test_a_fault_of_the_recorders_is_told_once_and_goes_no_further(journal: Journal, told: Told) -> None:
    @guarded("hooks")
    def broken() -> None:
        raise ZeroDivisionError("no")

    for _ in range(3):
        broken()
    with watching("states"):
        raise KeyError("k")
    assert [(event["kind"], event["part"]) for event in told()] == [
        ("recorder.failed", "hooks"),
        ("recorder.failed", "states"),
    ]
    assert told()[0]["error"].startswith("ZeroDivisionError: no (test_journal.py:")


def test_what_the_recorder_does_with_the_sdk_is_no_event(journal: Journal, told: Told) -> None:
    with pause():
        assert journal.emit("x", {}) is None
    journal.silence()
    assert journal.emit("x", {}) is None
    assert told() == []


def test_a_script_that_closes_every_descriptor_loses_no_event(journal: Journal, told: Told) -> None:
    journal.emit("x", {})
    os.close(journal._descriptor)
    journal.emit("y", {})
    assert [event["kind"] for event in told()] == ["x", "y"]


def test_the_journal_does_not_take_the_descriptors_that_a_script_gets(journal: Journal) -> None:
    assert journal._descriptor >= 700


def test_another_mode_begins_with_what_both_share(journal: Journal, told: Told) -> None:
    journal.emit("x", {})
    journal.copy("streamed")
    journal.move("streamed")
    journal.emit("y", {})
    assert journal.path.endswith("/streamed.jsonl")
    assert [(event["n"], event["kind"]) for event in told()] == [("0:1", "x"), ("0:2", "y")]


def test_events_since_another_are_counted(journal: Journal) -> None:
    first = journal.emit("x", {})
    journal.emit("x", {})
    assert journal.happened_since(first) == 1


def test_a_variable_can_be_left_from_another_context() -> None:
    """As the clean-up of an abandoned async generator does."""
    variable = contextvars.ContextVar("variable", default=0)
    block = During(variable, 1)
    contextvars.copy_context().run(block.__enter__)
    block.__exit__()
    assert variable.get() == 0


@pytest.mark.parametrize("letter", ["R", "S"])
def test_labels_are_never_given_twice(journal: Journal, letter: str) -> None:
    assert journal.new_label(letter) != journal.new_label(letter)
