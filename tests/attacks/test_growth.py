"""Work grows with what a stranger sends, not with its square: each dimension is taken four times as large.

Processor time is compared, not measured against a clock: four times as much of anything may take nine times
as long (sorting, caches, noise); what grows with the square takes sixteen times.
"""

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentproof.bundle.store import Bundle
from agentproof.check import bundle as checking
from agentproof.check.bundle import Reader, check_bundle
from agentproof.claims.authored import authored_claims
from agentproof.claims.judge import judge
from agentproof.diff.align import compare_traces
from agentproof.errors import BundleError, CannotDoError, RecorderError
from agentproof.isolation.readback import RawRecording, read_mode
from agentproof.limits import MAX_ATTESTATION_BYTES, MAX_CLAIMS
from agentproof.models.manifest import Conduct, Isolation, Manifest
from agentproof.models.trace import Trace
from agentproof.record import assemble
from agentproof.render.groups import Attachment, Group
from agentproof.render.html import render_page
from agentproof.render.markdown import render_issue
from agentproof.render.story import tell
from agentproof.render.terminal import render_story
from agentproof.trust.signing import sign_statement
from tests import forge

TIMES = 4
RATIO = 9
SHORTEST = 0.04
"""Seconds of processor time that the small size is taken to need, at least; below it, noise decides."""

Shape = dict[str, Any]  # Any: a JSON document


def _seconds(work: Callable[[], object]) -> float:
    """Processor time of the quicker of two goes, without Python's collector.

    The collector looks through all that is alive whenever enough was made, also what pytest made: below that
    it costs nothing, above it as much as the work itself. With it the `keys` of 14,000 took 0.105 s and those
    of 16,000 took 0.263 s; without it 0.108 s and 0.119 s, and 64,000 0.484 s.
    """
    found = []
    for _ in range(2):
        gc.collect()
        gc.disable()
        begun = time.process_time()
        try:
            work()
            found.append(time.process_time() - begun)
        finally:
            gc.enable()
    return min(found)


def _hold_growth(small: Callable[[], object], large: Callable[[], object], name: str) -> None:
    """`large` is the work of `TIMES` as much as that of `small`; none of it may be refused."""
    before, after = _seconds(small), _seconds(large)
    assert after < RATIO * max(before, SHORTEST), f"{name}: {before:.3f} s, then {after:.3f} s"


# What a script writes into its recorder's files


def _raw(
    number: int, kind: str = "probe.checked", *, lane: object = "0:1", after: object = None, **more: object
) -> Shape:
    fields = {"label": "x", "passed": True} if kind == "probe.checked" else {}
    before = [f"0:{number - 1}"] if after is None else after
    return {"n": f"0:{number}", "lane": lane, "after": before, "kind": kind, **fields, **more}


START = _raw(0, "script.started", after=[], entry="r.py", arguments=[])


def _end(events: list[Shape]) -> list[Shape]:
    last = _raw(0, "script.ended", outcome="exited", code=0, after=[events[-1]["n"]]) | {"n": "0:end"}
    return [*events, last]


def _a_line(size: int) -> list[Shape]:
    return [START, *(_raw(n) for n in range(1, size))]


def _lanes_side_by_side(size: int) -> list[Shape]:
    return [START, *(_raw(n, lane=f"L{n}", after=["0:0"]) for n in range(1, size))]


def _lanes_in_turn(size: int) -> list[Shape]:
    """Two events a lane, with all first ones before any second one."""
    first = [_raw(n, lane=f"L{n}", after=["0:0"]) for n in range(1, size // 2)]
    second = [_raw(size + n, lane=f"L{n}", after=[f"0:{n}"]) for n in range(1, size // 2)]
    return [START, *first, *second]


def _chains_of_lanes(size: int) -> list[Shape]:
    """Chains of lanes, each 200 deep."""
    chained = (_raw(n, lane=f"L{n}", after=["0:0" if n % 200 == 1 else f"0:{n - 1}"]) for n in range(1, size))
    return [START, *chained]


def _joins(size: int) -> list[Shape]:
    """Every tenth event waits for the nine before it."""
    events = [START]
    for n in range(1, size):
        after = [f"0:{other}" for other in range(max(0, n - 9), n)] if n % 10 == 0 else [f"0:{n - n % 10}"]
        events.append(_raw(n, lane=f"L{n % 10}", after=after))
    return events


def _states(size: int) -> list[Shape]:
    """One state of 20 kB, seen again and again."""
    state = {"$state": {"items": [{"id": n, "text": "abc"} for n in range(500)]}}
    seen = {"state": {"$label": "S:1"}, "snapshot": state, "form": "json"}
    return [START, *(_raw(n, "state.serialised", **seen) for n in range(1, size // 10))]


def _ids(size: int) -> list[Shape]:
    return [START, *(_raw(n, label=f"trace_{n:032x} <o at 0x{n:012x}>") for n in range(1, size))]


def _labels(size: int) -> list[Shape]:
    return [
        START,
        *(_raw(n, "state.made", state={"$label": f"S:{n}"}, snapshot={"$state": {}}) for n in range(1, size)),
    ]


def _text(size: int) -> list[Shape]:
    return [START, _raw(1, "probe.observed", label="x", value="<tmp>/a1 /home/x 127.0.0.1:80 0x0 " * size)]


def _keys(size: int) -> list[Shape]:
    return [START, _raw(1, "probe.observed", label="x", value={f"k{n}": [n] for n in range(size // 4)})]


RECORDED = {
    make.__name__.strip("_"): (make, size)
    for make, size in (
        (_a_line, 3000),
        (_lanes_side_by_side, 3000),
        (_lanes_in_turn, 3000),
        (_chains_of_lanes, 3000),
        (_joins, 3000),
        (_states, 3000),
        (_ids, 3000),
        (_labels, 3000),
        (_text, 30_000),
        (_keys, 8000),
    )
}


def read_events(control: Path, events: list[Shape], *, died: bool = False) -> RawRecording:
    """What the host reads back of such events."""
    lines = [json.dumps(event, separators=(",", ":")) + "\n" for event in events]
    (control / "as-written.jsonl").write_text("".join(lines), encoding="utf-8")
    (control / "as-written.end.json").write_text('{"exit_code": 0}')
    return read_mode(
        control,
        "as-written",
        died="killed" if died else None,
        kept=2**20,
        most=2**24,
        why_unforked=None,
        paths={"/home/x": "<home>", "/tmp/y": "<tmp>"},
    )


def put_in_order(events: list[Shape], control: Path) -> None:
    """What the host makes of two runs that wrote these events."""
    raw = [read_events(control, events) for _ in range(2)]
    assemble._canonical("as-written", raw, lambda: None, [], [], missing=False)


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_script_writes_is_put_in_order_in_time_that_grows_with_it(name: str, tmp_path: Path) -> None:
    make, size = RECORDED[name]
    small, large = _end(make(size)), _end(make(size * TIMES))
    _hold_growth(lambda: put_in_order(small, tmp_path), lambda: put_in_order(large, tmp_path), name)


# What a stranger sends


pytestmark = pytest.mark.slow


def _draft(add: Callable[[forge.Draft, list[Shape], int], None], size: int) -> Bundle:
    draft = forge.draft(holds=True)
    for mode, trace in draft.traces.items():
        events: list[Shape] = trace["events"]
        middle: list[Shape] = []
        add(draft, middle, size)
        if mode == "as-written" or add is not _files:
            events[-2:-2] = middle
        trace["events"] = [{**event, "seq": seq} for seq, event in enumerate(events, start=1)]
    return draft.judged().seal()


def _probes(_: forge.Draft, events: list[Shape], size: int) -> None:
    events += [{"kind": "probe.checked", "label": "x", "passed": True} for _ in range(size)]


def _probe_labels(_: forge.Draft, events: list[Shape], size: int) -> None:
    events += [{"kind": "probe.checked", "label": f"x{n}", "passed": True} for n in range(size // 20)]


def _tools(_: forge.Draft, events: list[Shape], size: int) -> None:
    start = {"kind": "tool.started", "run": "R2", "agent": "clerk", "tool": "pay", "tool_kind": "function"}
    end = {"kind": "tool.ended", "run": "R2", "agent": "clerk", "tool": "pay", "output": "paid"}
    for n in range(size // 2):
        same = {"call_id": f"c{n}"}
        events.append({**start, **same, "call_id_source": "hook", "arguments": "{}", "needs_approval": False})
        events.append({**end, **same, "output_type": "builtins:str"})


def _tools_of_one_call(draft: forge.Draft, events: list[Shape], size: int) -> None:
    _tools(draft, events, size)
    for event in events:
        event["call_id"] = "c1"


def _bodies(_: forge.Draft, events: list[Shape], size: int) -> None:
    for n in range(size // 2):
        frame = {"run": "R2", "frame": f"F{n + 1}", "function": "pay"}
        events.append({"kind": "body.started", **frame, "tool": "pay"})
        events.append({"kind": "body.returned", **frame, "value": "x"})


def _bodies_within(_: forge.Draft, events: list[Shape], size: int) -> None:
    frames = [{"run": "R2", "frame": f"F{n + 1}", "function": "pay"} for n in range(size // 2)]
    events += [{"kind": "body.started", **frame, "tool": "pay"} for frame in frames]
    events += [{"kind": "body.returned", **frame, "value": "x"} for frame in reversed(frames)]


def _runs(_: forge.Draft, events: list[Shape], size: int) -> None:
    for n in range(size // 2):
        run = {"run": f"R{n + 3}"}
        events.append({"kind": "run.started", **run, "agent": "a", "streamed": False, "input": "hi"})
        events.append(
            {
                "kind": "run.ended",
                **run,
                "outcome": "returned",
                "final_output": "x",
                "output_type": "builtins:str",
            }
        )


def _made(draft: forge.Draft, events: list[Shape], size: int) -> None:
    digest = next(iter(draft.states))
    events += [
        {"kind": "state.made", "state": f"S{n + 3}", "snapshot": digest, "result": "Q2"} for n in range(size)
    ]


def _seen(draft: forge.Draft, events: list[Shape], size: int) -> None:
    before, after = draft.states
    seen = {"kind": "state.observed", "state": "S1", "moment": "decision"}
    for _ in range(size // 2):
        events.append({**seen, "before": before, "snapshot": after})
        events.append({**seen, "before": after, "snapshot": before})


def _inputs(_: forge.Draft, events: list[Shape], size: int) -> None:
    for n in range(size // 2):
        call = {"run": "R2", "call": f"M{n + 3}"}
        events.append({"kind": "model.called", **call, "model": "m:M", "streamed": False, "input": []})
        events.append({"kind": "model.answered", **call, "output": []})


def _hooks(_: forge.Draft, events: list[Shape], size: int) -> None:
    events += [
        {
            "kind": "hook.called",
            "run": "R2",
            "scope": "run",
            "hook": "on_llm_start",
            "agent": "clerk",
            "agent_has_hooks": False,
        }
        for _ in range(size)
    ]


def _in_lanes(draft: forge.Draft, events: list[Shape], size: int) -> None:
    """Events none of which waits for another."""
    first = len(draft.traces["streamed"]["events"]) - 4
    events += [{"kind": "probe.checked", "label": "x", "passed": True, "after": [first]} for _ in range(size)]


def _written(_: forge.Draft, events: list[Shape], size: int) -> None:
    text = "reproduction.py:3: RuntimeWarning: coroutine 'on_tool_end' was never awaited\n" * size
    events.append(
        {"kind": "script.wrote", "stream": "stderr", "text": text, "size": len(text), "truncated": False}
    )


def _files(draft: forge.Draft, events: list[Shape], size: int) -> None:
    if "f0.txt" not in draft.files:
        draft.files |= {f"f{n}.txt": b"x" for n in range(size // 4)}
        draft.manifest["reproduction"]["files"] = sorted(draft.files)


SENT = {
    add.__name__.strip("_"): (add, size)
    for add, size in (
        (_probes, 1000),
        (_probe_labels, 1000),
        (_tools, 1000),
        (_tools_of_one_call, 1000),
        (_bodies, 1000),
        (_bodies_within, 1000),
        (_runs, 1000),
        (_made, 1000),
        (_seen, 1000),
        (_inputs, 1000),
        (_hooks, 1000),
        (_in_lanes, 1000),
        (_written, 4000),
        (_files, 1000),
    )
}


def _check(bundle: Bundle) -> Callable[[], object]:
    def work() -> None:
        report = check_bundle(bundle, reader=Reader()).report
        assert report.status != "INVALID", report

    return work


def _read(bundle: Bundle) -> Callable[[], object]:
    checked = check_bundle(bundle, reader=Reader())

    def work() -> None:
        story = tell(checked)
        list(render_story(story, tellings=story.tellings, diffs=True, everything=True))
        render_issue(story, attachment="x.zip")
        render_page([Group("x.zip", (Attachment(story, "x.zip"),))])

    return work


def _compare(bundle: Bundle) -> Callable[[], object]:
    checked = check_bundle(bundle, reader=Reader())
    traces = list(checked.traces.values())
    state = checked.states.__getitem__

    def work() -> None:
        for _ in zip(range(1000), compare_traces(traces[0], state, traces[-1], state), strict=False):
            pass

    return work


ENTRIES = {"check": _check, "read": _read, "compare": _compare}


@pytest.mark.parametrize("name", SENT)
def test_what_a_stranger_sends_takes_time_that_grows_with_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for memo in ("_EVIDENCE", "_JUDGED"):  # what was found once is not looked for again
        monkeypatch.setattr(getattr(checking, memo), "get", lambda _key, _size, make: make())
    add, size = SENT[name]
    small, large = _draft(add, size), _draft(add, size * TIMES)
    for entry, of in ENTRIES.items():
        _hold_growth(of(small), of(large), f"{name} {entry}")


def test_claims_on_one_large_state_look_at_it_once() -> None:
    """1,300 of them over states of 2 MB took 37 minutes."""
    state = {"items": [{"text": "abc" * 10, "id": n} for n in range(20_000)]}
    draft = forge.draft()
    trace = draft.traces["as-written"]
    recordings = Manifest.from_shape({**draft.manifest, "members": []}).recordings[:1]
    for event in trace["events"]:
        for field in {"snapshot", "before"} & event.keys():
            event[field] = "a" * 64

    def judged(count: int) -> Callable[[], object]:
        tables = [
            {"id": f"c{n}", "kind": "value-at", "at": {"state": 1}, "same": {"state": 2}}
            for n in range(count)
        ]
        return lambda: judge(
            traces={"as-written": Trace.from_shape(trace)},
            state={"a" * 64: state}.__getitem__,
            recordings=recordings,
            conduct=Conduct(),
            isolation=Isolation(network="namespace", files="landlock", user="own", self_test="refused"),
            authored=authored_claims(tables, modes=["as-written"], path="r.py"),
        )

    assert _seconds(judged(1300)) < RATIO * _seconds(judged(13))


@pytest.mark.parametrize("count", [2001, 2000])
def test_more_claims_than_can_be_looked_at_are_refused(count: int) -> None:
    draft = forge.draft()
    events = draft.traces["as-written"]["events"]
    events[-2:-2] = [{"kind": "probe.checked", "label": f"x{n}", "passed": True} for n in range(count)]
    draft.traces["as-written"]["events"] = [{**each, "seq": seq} for seq, each in enumerate(events, start=1)]
    if count > MAX_CLAIMS:
        with pytest.raises(BundleError, match="at most 2000"):
            draft.judged()
        return
    draft.judged()


def test_a_statement_that_no_check_would_read_is_not_signed() -> None:
    with pytest.raises(CannotDoError, match="over the limit of"):
        sign_statement(b"x" * MAX_ATTESTATION_BYTES, forge.REPORTER)


HELD = """
import sys
from pathlib import Path
from agentproof.errors import CannotDoError
from agentproof.isolation.readback import read_mode
from agentproof.record import assemble
said = "recorded"
try:
    told = {"died": None, "kept": 2**20, "most": 2**24, "why_unforked": None, "paths": {}}
    raw = [read_mode(Path(sys.argv[1]), "as-written", **told) for _ in range(4)]
    for pair in (raw[:2], raw[2:]):
        assemble._canonical("as-written", pair, lambda: None, [], [], missing=False)
except CannotDoError as error:
    said = error.message
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) * 1024, said)
"""
MEMORY = 256 * 2**20


def _wide_text(size: int) -> list[Shape]:
    return [START, _raw(1, "probe.observed", label="x", value="a" * size + "\U0001f600")]


def _many_values(size: int) -> list[Shape]:
    return [START, *(_raw(n, "probe.observed", label="x", value=[[]] * 9000) for n in range(1, size))]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    ("events", "refused"),
    [
        (_lanes_side_by_side(14_900), False),
        (_ids(14_900), False),
        (_states(20_000), False),
        (_lanes_side_by_side(20_000), True),
        (_wide_text(11 * 2**20), True),
        (_many_values(1500), True),
    ],
    ids=["lanes", "ids", "states", "many lanes", "wide text", "many values"],
)
def test_what_a_script_writes_is_held_in_bounded_memory(
    events: list[Shape], refused: bool, tmp_path: Path
) -> None:
    lines = [json.dumps(event, separators=(",", ":"), ensure_ascii=False) for event in _end(events)]
    (tmp_path / "as-written.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "as-written.end.json").write_text('{"exit_code": 0}')
    done = subprocess.run(
        [sys.executable, "-c", HELD, str(tmp_path)], capture_output=True, text=True, check=True, timeout=300
    )
    peak, _, said = done.stdout.strip().partition(" ")
    assert int(peak) < MEMORY, said
    assert (said != "recorded") == refused, said


@pytest.mark.parametrize("depth", [200, 900, 50_000])
def test_an_event_that_is_nested_deeply_is_refused(depth: int, tmp_path: Path) -> None:
    value = '"value":' + "[" * depth + "]" * depth
    line = json.dumps(_raw(1, "probe.observed", label="x"))[:-1] + f", {value}}}\n"
    (tmp_path / "as-written.jsonl").write_text(json.dumps(START) + "\n" + line)
    with pytest.raises(RecorderError, match=r"as-written.jsonl:2"):
        read_mode(tmp_path, "as-written", died="killed", kept=1, most=1, why_unforked=None, paths={})


def test_an_event_that_takes_the_name_of_the_hosts_own_is_not_lost_silently(tmp_path: Path) -> None:
    events = [START, _raw(1), {**_raw(2), "n": "end"}]
    raw = read_events(tmp_path, events, died=True)
    with pytest.raises(RecorderError, match="end"):
        assemble._canonical("as-written", [raw], lambda: None, [], [], missing=False)
