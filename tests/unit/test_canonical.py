"""One order, numbered names, states under their digests: rules of `agentproof.record.canonical`."""

import itertools
import random
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from agentproof.errors import RecorderError, UsageError
from agentproof.record.canonical import Canonical, canonicalise, settle_printed
from agentproof.record.repeats import agreement
from agentproof.record.tokens import generated_ids


@dataclass(frozen=True)
class _Stream:
    data: bytes = b""
    truncated: bool = False

    @property
    def size(self) -> int:
        return len(self.data)


def _raw(n: str, kind: str, *, lane: str = "m", after: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    return {"n": n, "lane": lane, "after": list(after), "kind": kind, **fields}


def _tool(n: str, name: str, *, lane: str, after: tuple[str, ...], end: bool = False) -> dict[str, Any]:
    extra: dict[str, Any] = (
        {"output": name, "output_type": "builtins:str"} if end else {"tool_kind": "function"}
    )
    kind = "tool.ended" if end else "tool.started"
    return _raw(n, kind, lane=lane, after=after, agent="a", tool=name, call_id=f"c_{name}", **extra)


def _canonical(events: list[dict[str, Any]], **options: Any) -> Canonical:
    settings: dict[str, Any] = {
        "ending": None,
        "streams": {"stdout": _Stream(), "stderr": _Stream()},
        "paths": {},
        "shared_ids": frozenset(),
    }
    return canonicalise("as-written", events, **{**settings, **options})


START = _raw("0", "script.started", entry="r.py", arguments=[])
PARALLEL = [
    START,
    _tool("1", "x", lane="b", after=("0",)),
    _tool("2", "y", lane="c", after=("0",)),
    _tool("3", "x", lane="b", after=("1",), end=True),
    _tool("4", "y", lane="c", after=("2",), end=True),
    _raw("5", "script.ended", after=("0", "3", "4"), outcome="exited", code=0),
]


def _interleavings() -> list[list[dict[str, Any]]]:
    middle = PARALLEL[1:5]
    return [
        [PARALLEL[0], *order, PARALLEL[5]]
        for order in itertools.permutations(middle)
        if order.index(middle[0]) < order.index(middle[2]) and order.index(middle[1]) < order.index(middle[3])
    ]


def test_the_order_of_parallel_tools_is_the_same_however_they_raced() -> None:
    traces = {_canonical(order).trace.to_bytes() for order in _interleavings()}
    assert len(traces) == 1


def test_lane_names_play_no_part() -> None:
    renamed = [{**event, "lane": {"b": "z"}.get(event["lane"], event["lane"])} for event in PARALLEL]
    assert _canonical(renamed).trace == _canonical(PARALLEL).trace


def test_parallel_tools_are_written_one_lane_after_the_other_and_stay_unordered() -> None:
    events = _canonical(PARALLEL).trace.events
    assert [(event.kind, event.after) for event in events] == [
        ("script.started", None),
        ("tool.started", None),
        ("tool.ended", None),
        ("tool.started", (1,)),
        ("tool.ended", None),
        ("script.ended", (3, 5)),
    ]


def test_repeats_that_raced_differently_agree_but_for_the_order() -> None:
    orders = _interleavings()
    assert agreement(_canonical(orders[0]), _canonical(orders[0])) == ("same", ())
    assert agreement(_canonical(orders[0]), _canonical(orders[-1])) == ("order", ())


def test_repeats_that_did_different_things_differ_and_say_where() -> None:
    other = [*PARALLEL[:-1], {**PARALLEL[-1], "code": 1}]
    word, pointers = agreement(_canonical(PARALLEL), _canonical(other))
    assert (word, pointers) == ("differ", ("/events/5/code",))


def test_an_ancestor_lane_goes_on_before_work_that_nobody_waits_for() -> None:
    events = [
        START,
        _tool("1", "x", lane="b", after=("0",)),
        _raw("2", "probe.checked", after=("0",), label="x", passed=True),
        _tool("3", "x", lane="b", after=("1",), end=True),
    ]
    kinds = [event.kind for event in _canonical(events).trace.events]
    assert kinds == ["script.started", "probe.checked", "tool.started", "tool.ended"]


def test_labels_are_numbered_by_first_appearance() -> None:
    made = _raw(
        "1", "state.made", after=("0",), state={"$label": "S:b"}, snapshot={"$state": {"x": 0.5, "$label": 1}}
    )
    again = _raw(
        "2", "state.made", after=("1",), state={"$label": "S:a"}, snapshot={"$state": {"x": 0.5, "$label": 1}}
    )
    result = _canonical([START, made, again])
    assert [getattr(event, "state", None) for event in result.trace.events] == [None, "S1", "S2"]
    (content,) = result.states.values()
    assert content == b'{\n  "$label": 1,\n  "x": 0.5\n}\n'


TRACE_ID = "trace_" + "ab" * 16
UUID = "0b54c6a1-92a7-4c3e-8b1a-5a3f2d1c0e9f"


def test_generated_ids_keep_their_shape_and_stay_equal_to_themselves() -> None:
    event = _tool("1", "x", lane="m", after=("0",), end=True)
    event["output"] = [
        TRACE_ID,
        UUID,
        TRACE_ID,
        f"call_{UUID.replace('-', '')}",
        "<X object at 0x7f12ab34cd56>",
    ]
    trace = _canonical([START, event]).trace
    assert trace.events[1].to_shape()["output"] == [
        "trace_" + "1".zfill(32),
        "00000000-0000-4000-8000-000000000001",
        "trace_" + "1".zfill(32),
        "call_00000000000040008000000000000001",
        "<X object at 0x000000000001>",
    ]


def test_an_id_that_both_repeats_share_is_the_scripts_own() -> None:
    event = _tool("1", "x", lane="m", after=("0",), end=True) | {"output": TRACE_ID}
    shared = generated_ids([START, event], _Stream(b""))
    trace = _canonical([START, event], shared_ids=shared).trace
    assert trace.events[1].to_shape()["output"] == TRACE_ID


def test_paths_of_this_machine_become_tokens_everywhere() -> None:
    event = _tool("1", "x", lane="m", after=("0",), end=True) | {"output": {"/run/w/a": ["in /run/w/a/b"]}}
    result = _canonical(
        [START, event],
        paths={"/run": "<run>", "/run/w": "<work>"},
        streams={"stdout": _Stream(b"at /run/w\n"), "stderr": _Stream()},
    )
    assert result.trace.events[1].to_shape()["output"] == {"<work>/a": ["in <work>/a/b"]}
    assert result.trace.events[2].to_shape()["text"] == "at <work>\n"
    assert result.trace.events[2].to_shape()["size"] == len("at <work>\n")


@pytest.mark.parametrize("where", ["output", "state"])
def test_two_keys_that_would_become_one_are_refused(where: str) -> None:
    document = {"/home/me/work/x": 1, "<work>/x": 2}
    tool = _tool("1", "x", lane="m", after=("0",), end=True)
    event: dict[str, Any] = {**tool, "output": document}
    if where == "state":
        event = _raw("1", "state.made", after=("0",), state={"$label": "S:1"}, snapshot={"$state": document})
    with pytest.raises(UsageError, match="two keys"):
        _canonical([START, event], paths={"/home/me/work": "<work>"})


def test_names_that_tempfile_made_are_numbered_and_the_scripts_own_are_not() -> None:
    def _event(random_part: str) -> dict[str, Any]:
        own = "/scratch/fixed_name_abcdefgh.db"
        return _tool("1", "x", lane="m", after=("0",), end=True) | {
            "output": [f"/scratch/tmp{random_part}/a.db", f"/scratch/db-{random_part}.sqlite", own]
        }

    paths = {"/scratch": "<tmp>"}
    runs = [[START, _event(random_part)] for random_part in ("a1b2c3d4", "z_x9y8w7")]
    first, second = (generated_ids(run, paths=paths) for run in runs)
    outputs = [
        _canonical(run, paths=paths, shared_ids=first & second).trace.events[1].to_shape()["output"]
        for run in runs
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0] == [
        "<tmp>/tmp00000001/a.db",
        "<tmp>/db-00000002.sqlite",
        "<tmp>/fixed_name_abcdefgh.db",
    ]


def test_output_that_is_not_utf8_is_kept() -> None:
    trace = _canonical([START], streams={"stdout": _Stream(b"a\xff"), "stderr": _Stream()}).trace
    assert trace.events[1].to_shape()["text"] == {"$str": [97, 0xDCFF]}


def test_a_process_that_died_gets_its_end_from_the_host() -> None:
    trace = _canonical(PARALLEL[:2], ending={"kind": "script.ended", "outcome": "timed_out"}).trace
    assert trace.events[2].to_shape() == {
        "kind": "script.ended",
        "outcome": "timed_out",
        "seq": 3,
        "after": [1],
    }


@pytest.mark.parametrize(
    "events",
    [
        [{**START, "after": ["9"]}],
        [{**START, "after": ["1"]}, {**START, "n": "1", "after": ["0"]}],
        [{**START, "kind": "no.such.kind"}],
        [{**START, "surprise": 1}],
        [{"kind": "script.started"}],
        [START, {"n": "1", "kind": "probe.checked", "label": "x", "passed": True}],
        [START, {**_raw("1", "probe.checked", label="x", passed=True), "after": 5}],
        [START, {**_raw("1", "probe.checked", label="x", passed=True), "after": [5]}],
        [START, _raw("1", "loopback.bound", ports=5)],
        [START, _raw("1", "loopback.bound")],
    ],
    ids=[
        "dangling",
        "cycle",
        "unknown kind",
        "unknown field",
        "no name",
        "no lane",
        "after a number",
        "after numbers",
        "ports a number",
        "no ports",
    ],
)
def test_what_the_recorder_never_writes_is_its_fault(events: list[dict[str, Any]]) -> None:
    with pytest.raises(RecorderError):
        _canonical(events)


def test_many_lanes_take_linear_space_in_after() -> None:
    chosen = random.Random(1)  # noqa: S311  not for secrets
    events = [START]
    for number in range(1, 300):
        before = str(chosen.randrange(number))
        events.append(_tool(str(number), f"t{number}", lane=f"l{number}", after=(before,)))
    trace = _canonical(events).trace
    assert all(event.after is None or len(event.after) == 1 for event in trace.events)


BOUND = _raw("8", "loopback.bound", after=("1",), ports=[40111, 40222])


def _prints(text: str) -> list[dict[str, Any]]:
    return [
        START,
        _raw("1", "probe.observed", after=("0",), label="x", value=text),
        BOUND,
        _raw("9", "script.ended", after=("8",), outcome="exited", code=0),
    ]


def test_ports_that_the_script_bound_are_numbered_in_addresses_and_nowhere_else() -> None:
    text = "http://127.0.0.1:40222/v1, localhost:40111, [::1]:40222, 127.0.0.1:80, 10.0.0.1:40222"
    _, observed, bound, _ = _canonical(_prints(text)).trace.events
    assert getattr(observed, "value", None) == (
        "http://127.0.0.1:<port-1>/v1, localhost:<port-2>, [::1]:<port-1>, 127.0.0.1:80, 10.0.0.1:40222"
    )
    assert getattr(bound, "ports", None) == 2


def _with_state(*results: str) -> Canonical:
    state = {"tool_output_guardrail_results": list(results), "others": list(results)[:1] * 2}
    return _canonical(
        [
            START,
            _raw("1", "state.made", after=("0",), state={"$label": "S:1"}, snapshot={"$state": state}),
            _raw("2", "script.ended", after=("1",), outcome="exited", code=0),
        ]
    )


def test_lists_that_racing_tools_append_to_agree_in_any_order() -> None:
    one, other = _with_state("a", "a", "b"), _with_state("a", "b", "a")
    assert one.trace.to_bytes() != other.trace.to_bytes()
    assert agreement(one, other) == ("order", ())


def test_other_lists_must_be_in_the_same_order() -> None:
    word, pointers = agreement(_with_state("a", "b"), _with_state("b", "a"))
    assert (word, pointers) == ("differ", ("/events/1/snapshot",))


def test_lanes_side_by_side_are_not_ordered_by_where_this_machine_ran_them() -> None:
    def recorded(path: str) -> Canonical:
        lanes = [
            _raw("1", "probe.observed", lane="b", after=("0",), label="x", value=f"{path}/1"),
            _raw("2", "probe.observed", lane="c", after=("0",), label="x", value=f"{path}/2"),
        ]
        ending = _raw("3", "script.ended", after=("1", "2"), outcome="exited", code=0)
        return _canonical([START, *lanes, ending], paths={path: "<work>"})

    traces = {recorded(f"/dev/shm/run-{number}").trace.to_bytes() for number in range(20)}
    assert len(traces) == 1


def test_a_numbered_id_is_never_one_that_the_script_itself_uses() -> None:
    own = [str(uuid.UUID(int=number, version=4)) for number in (1, 2)]
    runs = [
        [
            START,
            _raw(
                "1",
                "probe.observed",
                after=("0",),
                label="random",
                value=[str(uuid.uuid4()), uuid.uuid4().hex],
            ),
            _raw("2", "probe.observed", after=("1",), label="own", value=[*own, uuid.UUID(own[0]).hex]),
        ]
        for _ in range(2)
    ]
    first, second = (generated_ids(run) for run in runs)
    _, generated, constant = _canonical(runs[0], shared_ids=first & second).trace.events
    numbered = [str(uuid.UUID(int=3, version=4)), uuid.UUID(int=2, version=4).hex]
    assert (getattr(generated, "value", None), getattr(constant, "value", None)) == (
        numbered,
        [*own, uuid.UUID(own[0]).hex],
    )


def test_an_id_of_the_scripts_own_is_found_behind_any_letter_and_in_any_key() -> None:
    own = "12345678-1234-4234-8234-123456789012"
    event = _raw(
        "1", "probe.observed", after=("0",), label="x", value={f"\n{own}": [f"x\n{own}", f"\t{own}"]}
    )
    shared = generated_ids([START, event])
    assert shared == {own}
    _, observed = _canonical([START, event], shared_ids=shared).trace.events
    assert getattr(observed, "value", None) == event["value"]


def test_the_scripts_end_stands_last_also_where_threads_ended_before_it() -> None:
    threads = [
        _raw(f"{n}", "probe.checked", lane=f"t{n}", after=("0",), label="x", passed=True) for n in (1, 2)
    ]
    end = _raw("9", "script.ended", after=("0",), outcome="exited", code=0)
    kinds = [event.kind for event in _canonical([START, *threads, end]).trace.events]
    assert kinds == ["script.started", "probe.checked", "probe.checked", "script.ended"]
    assert [event.kind for event in _canonical([START, end, *threads]).trace.events] == kinds


def _said(text: bytes) -> Canonical:
    streams = {"stdout": _Stream(text), "stderr": _Stream()}
    return _canonical(
        [START, _raw("1", "script.ended", after=("0",), outcome="exited", code=0)], streams=streams
    )


def test_repeats_that_print_otherwise_and_do_the_same_are_one_trace() -> None:
    """Journey 2: a time stamp undid two violations that both repeats had seen."""
    one, other = _said(b"go\ntook 0.05s\n"), _said(b"go\ntook 0.0613s\n")
    assert agreement(one, other)[0] == "differ"
    settled, found = settle_printed([one, other])
    assert agreement(*settled)[0] == "same"
    assert settled[0].trace.to_bytes() == settled[1].trace.to_bytes()
    last = settled[0].trace.events[-1].to_shape()
    assert (last["text"], last["size"]) == ("go\ntook <varies>\n", len("go\ntook <varies>\n"))
    assert found.pointers == (f"/events/{len(one.trace.events) - 1}/text",)
    assert found.lines == (("took 0.05s", "took 0.0613s"),)


def test_a_stream_that_only_one_repeat_wrote_to_still_differs() -> None:
    settled, found = settle_printed([_said(b"x"), _said(b"")])
    assert not found.pointers
    assert agreement(*settled)[0] == "differ"
