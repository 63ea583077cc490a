"""What two recordings of one script must share: rules of `agentproof.record.repeats`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from agentproof.models.events import BodyStarted, RunEnded
from agentproof.record import repeats as agreement
from agentproof.record.canonical import Canonical, Settled, canonicalise


@dataclass(frozen=True)
class _Stream:
    data: bytes = b""
    truncated: bool = False

    @property
    def size(self) -> int:
        return len(self.data)


Raw = dict[str, Any]  # Any: JSON


def _events(*bodies: Raw) -> list[Raw]:
    """Events one after the other, between a start and an end of the script."""
    start: Raw = {"kind": "script.started", "entry": "r.py"}
    end: Raw = {"kind": "script.ended", "outcome": "exited", "code": 0}
    return [
        {"n": str(n), "lane": "m", "after": [str(n - 1)] if n else [], **body}
        for n, body in enumerate((start, *bodies, end))
    ]


def _settled(
    *repeats: Sequence[Raw], outputs: Sequence[bytes] = (b"", b"")
) -> tuple[str, agreement.Settlement]:
    def canonical(number: int, settled: Settled) -> Canonical:
        return canonicalise(
            "as-written",
            repeats[number],
            ending=None,
            streams={"stdout": _Stream(outputs[number]), "stderr": _Stream()},
            paths={},
            shared_ids=frozenset(),
            settled=settled,
        )

    found = agreement.settle(repeats, canonical, [canonical(number, Settled()) for number in (0, 1)])
    return agreement.agreement(*found.canonical)[0], found


def _body(**arguments: Any) -> Raw:
    return {
        "kind": "body.started",
        "frame": {"$label": "F:1"},
        "function": "main",
        "arguments": arguments,
        "thread": False,
    }


def _arguments(found: agreement.Settlement) -> Any:
    (event,) = (e for e in found.canonical[0].trace.events if isinstance(e, BodyStarted))
    return event.arguments


TOKENS = (
    "gAAAAABpLN3QkW1vK3gq0b4Z8r1hP2xVn7cY5tD9sLmE6uAfJoIwQyTzRbGhXeNpKlMvSaUdCjFqOiWsEtYxZrVbHnPkLg==",
    "gAAAAABpLN3SXq9dU2sTzYp5a8Kc1mWvEo3jRbFhN7yLgIlZtQxVuJePkDsCnMwAoGrHfTiBqYvXzKpUlSeEjRdNmOcWhQ==",
)


@pytest.mark.parametrize(
    ("one", "other", "written"),
    [
        (TOKENS[0], TOKENS[1], "<ciphertext-1>"),
        ("at 2026-12-01T00:15:28.123456+00:00.", "at 2026-12-01T00:15:31.5+00:00.", "at <time-1>."),
        (1764547412, 1764547415, "<time-1>"),
        ({"$float": "1764547412.25"}, {"$float": "1764547415.75"}, "<time-1>"),
        ("tmp_x1y2z3a4b5c6d7", "tmp_9q8w7e6r5t4y3u", "<random-1>"),
        ("<Thing object at 0x7f00deadbeef>x", "<Thing object at 0x7f11cafebabe>x", None),
        ("9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d", "9b1deb4d3b7d1bad1bdd2b0d7b3dcb6e", "<random-1>"),
        ({"$bytes": "3f9a17c2e8b04d56a1f0"}, {"$bytes": "c07e5b91d2463fa8e90b"}, "<random-1>"),
    ],
)
def test_values_that_differ_by_nature_are_written_as_what_they_are(
    one: object, other: object, written: str | None
) -> None:
    word, found = _settled(_events(_body(given=one)), _events(_body(given=other)))
    assert word in ("same", "order")
    if written is not None:
        assert _arguments(found) == {"given": written}


def test_equal_values_stay_equal_when_they_are_numbered() -> None:
    mine, theirs = ({"first": token, "again": token, "kept": "gold"} for token in TOKENS)
    word, found = _settled(_events(_body(**mine)), _events(_body(**theirs)))
    assert word == "same"
    assert _arguments(found) == {"again": "<ciphertext-1>", "first": "<ciphertext-1>", "kept": "gold"}


def test_a_value_that_stands_beside_two_others_is_not_numbered() -> None:
    one = {"first": "x1y2z3a4b5c6d7e8", "again": "x1y2z3a4b5c6d7e8"}
    other = {"first": "9q8w7e6r5t4y3u2i", "again": "5m4n3b2v1c9x8z7l"}
    assert _settled(_events(_body(**one)), _events(_body(**other)))[0] == "differ"


@pytest.mark.parametrize(("one", "other"), [("sunny and warm", "rain"), (3, 4), ("call_12", "call_13")])
def test_another_behaviour_is_no_nature(one: object, other: object) -> None:
    word, found = _settled(_events(_body(given=one)), _events(_body(given=other)))
    assert word == "differ"
    assert agreement.touched(*found.canonical) == ("bodies",)


def test_what_was_printed_touches_no_claim() -> None:
    word, found = _settled(_events(), _events(), outputs=(b"took 12 ms\n", b"took 13 ms\n"))
    assert word == "differ"
    assert agreement.touched(*found.canonical) == ("output",)


def _run(label: str, kind: str, **fields: Any) -> Raw:
    return {"kind": kind, "run": {"$label": label}, **fields}


def _started(label: str) -> Raw:
    return _run(label, "run.started", agent="a", streamed=False, input="go")


def test_a_field_that_one_recording_could_not_look_at_is_absent_from_both() -> None:
    end = {"outcome": "returned", "final_output": "x"}
    seen = _run("R:1", "run.ended", **end, input_list=[{"role": "user"}])
    unseen = _run("R:1", "run.ended", **end, unanswered=["input_list"])
    for repeats in ((seen, unseen), (unseen, seen)):
        word, found = _settled(*(_events(_started("R:1"), end) for end in repeats))
        assert word == "same"
        assert all(
            event.input_list is None
            for event in found.canonical[0].trace.events
            if isinstance(event, RunEnded)
        )


def _hook(label: str, name: str) -> Raw:
    return _run(label, "hook.called", scope="run", hook=name, agent="a")


def test_of_a_run_that_was_cut_there_stays_what_happened_in_every_recording() -> None:
    def cut(*hooks: str, told: str) -> list[Raw]:
        end = _run(
            "R:1", "run.ended", outcome="cancelled", error={"type": "asyncio:CancelledError", "message": told}
        )
        after = [
            _started("R:2"),
            _hook("R:2", "on_agent_start"),
            _run("R:2", "run.ended", outcome="returned"),
        ]
        return _events(_started("R:1"), *(_hook("R:1", hook) for hook in hooks), end, *after)

    word, found = _settled(
        cut("on_agent_start", "on_llm_start", "on_llm_end", told="a"), cut("on_agent_start", told="b")
    )
    assert word == "same"
    kinds = [(event.kind, event.run) for event in found.canonical[0].trace.events if event.run]
    assert kinds == [
        ("run.started", "R1"),
        ("hook.called", "R1"),
        ("run.ended", "R1"),
        ("run.started", "R2"),
        ("hook.called", "R2"),
        ("run.ended", "R2"),
    ]
    assert [what for what, _ in found.notes] == ["runs that were cut"]


def test_a_run_that_was_cut_before_it_began_in_one_of_them_is_in_none() -> None:
    end = _run("R:1", "run.ended", outcome="cancelled")
    word, found = _settled(_events(_started("R:1"), end), _events())
    assert word == "same"
    assert [event.kind for event in found.canonical[0].trace.events] == ["script.started", "script.ended"]


def test_what_a_cut_run_stored_in_one_of_them_touches_the_sessions() -> None:
    stored = _run(
        "R:1",
        "session.used",
        session={"$label": "D:1"},
        operation="add_items",
        by_sdk=True,
        session_class="agents.memory:SQLiteSession",
        items=[],
    )
    end = _run("R:1", "run.ended", outcome="cancelled")
    word, found = _settled(_events(_started("R:1"), stored, end), _events(_started("R:1"), end))
    assert word == "same"
    assert found.lost == {"sessions"}


def test_work_that_another_worker_took_is_no_other_behaviour() -> None:
    def worked(*inputs: str) -> list[Raw]:
        bodies: list[Raw] = []
        for number, text in enumerate(inputs, start=1):
            label = f"R:{number}"
            bodies += [
                {**_started(label), "input": text},
                _run(label, "run.ended", outcome="returned", final_output=text),
            ]
        return _events(*bodies)

    assert _settled(worked("a", "b", "c"), worked("b", "a", "c"))[0] == "order"
    assert _settled(worked("a", "b", "c"), worked("b", "a", "a"))[0] == "differ"
