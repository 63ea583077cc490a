"""Values of any shape in a bundle that is sound otherwise: a report, and never an exception.

The fuzzers of bytes do not get past the encoding. Here a draft with an event of nearly every kind has
values of its traces and states exchanged for others that the format allows, is judged, and sealed with
the evidence id that follows: it is a bundle that anybody can make, and nothing in it is false.
"""

import copy
import hashlib
from typing import Any

import pydantic_core
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agentproof.check.bundle import Reader, check_bundle
from agentproof.claims import explain
from agentproof.errors import BundleError, FormatError
from agentproof.models.events import KINDS
from agentproof.models.manifest import Judgement
from agentproof.models.trace import Trace
from agentproof.models.wire import encode, kinds_of
from tests import forge
from tests.claims.builder import Json, Script, function_call, function_output, message, state_json

READER = Reader(trust=forge.trust_in(forge.REPORTER), sources=forge.sources())
ERROR: Json = {"type": "builtins:KeyError", "message": "x", "bases": ["builtins:Exception"]}
ITEM: Json = {"type": "tool_call_output_item", "agent": "a", "raw": function_output(), "output": ["ok"]}
LIVE: Json = [{"call_id": "call_1", "output": ["ok"], "output_type": "builtins:list"}]
FRAME: Json = {"file": "reproduction.py", "line": 1, "function": "main"}


def _wide(mode: Any) -> Script:  # Any: one of the two modes
    """A run with a nested one, paused, resumed, and looked at from all sides."""
    script = Script(mode)
    add = script.add
    script.knows_hooks({"run": ["on_agent_start", "on_llm_start"], "agent": ["on_start"]})
    run = script.run(session="D1", session_before=[], settings={"handoffs": 1}, usage={"requests": 0})
    add("stream.began", of_run=run)
    for scope in ("run", "agent"):
        add("hook.called", run=run, scope=scope, hook="on_llm_start", agent="a", output="x")
    add("guardrail.ran", run=run, guardrail_kind="input", name="g", tripped=False, info={"n": 1}, checked=[1])
    add(
        "guardrail.ran", run=run, guardrail_kind="tool_output", name="g", call_id="c9", behavior={"type": "x"}
    )
    add("model.offered", run=run, tools=[{"name": "pay"}], handoffs=["b"], output_schema={"type": "object"})
    script.model(run, [message("go", "user")], function_call(), message("say"), tools=["pay"], settings={})
    sent: Json = {
        "model": "m",
        "input": [message("go", "user")],
        "tools": [{"type": "function", "name": "pay"}],
    }
    came: Json = {"output": [function_call(), message("say")], "usage": {"total_tokens": 3}}
    asked: Json = {"method": "POST", "host": "h", "status": 200, "call": "M1", "run": run}
    add("model.exchanged", **asked, path="/v1/responses", request=sent, response=came)
    chat: Json = {"messages": [{"role": "user", "content": "go"}], "temperature": 1, "tools": []}
    delta: Json = {"choices": [{"delta": {"content": "say", "tool_calls": [{"index": 0, "id": "call_1"}]}}]}
    add("model.exchanged", **asked, path="/v1/chat/completions", request=chat, events=[delta])
    added: Json = {"type": "response.output_item.added", "output_index": 0, "item_id": "i"}
    add("model.streamed", run=run, call="M1", events=[added, {**added, "type": "response.output_item.done"}])
    add("handoff.made", run=run, from_agent="a", to_agent="b")
    add("approval.asked", run=run, tool="pay", call_id="call_1", arguments={"n": 1}, answer=True)
    script.tool(run, needs_approval=False, enabled=True, output=["ok"])
    add("mcp.called", run=run, server="s", tool="pay", arguments={}, result=["ok"])
    add("mcp.used", run=run, server="s", operation="list_tools", arguments={"n": 1}, names=["pay"])
    add("mcp.requested", run=run, server="s", method="tools/list", params={}, result={"nextCursor": "2"})
    call: Json = {
        "call": "C1",
        "part": "voice",
        "by_sdk": False,
        "name": "Voice.run",
        "arguments": {"n": [1]},
    }
    add("surface.called", **call)
    add("surface.told", part="realtime", name="tool_end", fields={"tool": {"fields": {"name": "pay"}}})
    add("surface.ended", call="C1", result={"$object": "m:Result", "fields": {"n": 1}})
    add("tool.reported", run=run, tool="search", item_type="mcp_call", arguments="{}", output="x", error="y")
    inner = script.run(inside=run, input=[message("in", "user")], call_id="call_1")
    script.model(inner, "go", message("inner"))
    add("body.started", run=inner, frame="F1", function="pay", arguments={"n": 1}, tool="pay")
    add("body.returned", run=inner, frame="F1", function="pay", value=["ok"])
    add("body.raised", run=inner, frame="F2", function="pay", error=ERROR)
    script.end(inner, "raised", error=ERROR)
    script.stores("D1", function_call(), function_output(), run=run, session_id="s", database="s.db")
    script.session("D1", "get_items", result=[message("go", "user")], session_id="s", database="./s.db")
    branch: Json = {
        "session": "D1",
        "session_class": "m:Session",
        "operation": "list_branches",
        "by_sdk": False,
    }
    add("session.called", **branch, arguments={"n": 1}, result=[{"branch_id": "main"}])
    script.session("D1", "pop_item", result=message("go", "user"))
    add("model.failed", run=run, call="M9", error=ERROR, stream=["response.created"])
    add("stream.item", of_run=run, name="tool_called", item=ITEM)
    add("stream.ended", of_run=run, outcome="ended", count=2, raw=["response.completed"], task_done=True)
    add("span.ended", span="T1", span_type="agent", name="a", error={"message": "x"}, data={"n": 1})
    add("run.task_ended", run=run, outcome="returned")
    result = script.end(
        run,
        waits_for=["call_1"],
        items=[ITEM],
        input_list=[message("go", "user"), function_call(), function_output()],
        usage={"requests": 1},
        guardrails={"input": [{"name": "g", "tripped": False, "info": {"n": 1}}]},
        session="D1",
        session_after=[message("go", "user"), function_call()],
        responses=1,
        final_output="x",
        output_type="builtins:str",
    )
    one = script.made(result, state_json(original_input=[message("go", "user")]), live=LIVE)
    other = script.made(result, state_json())
    script.decide(one, leaks_to=other)
    script.restored(script.serialised(one, live=LIVE), as_is=state_json(current_turn=1))
    add("context.decided", decision="approve", call_id="call_2", options={})
    resumed = script.run(state=one)
    script.tool(resumed, needs_approval=True)
    script.now[other]["context"]["usage"]["requests"] = 2
    script.end(resumed, final_output={"answer": 1})
    seen: Json = {"final_output": "x", "items": [ITEM], "interruptions": [], "usage": {"requests": 1}}
    now = {**seen, "usage": {"requests": 2}}
    add("result.observed", result=result, of_run=run, before=seen, now=now, moment="exit")
    add("probe.checked", label="fits", passed=False, frame=FRAME)
    add("probe.observed", label="seen", value={"n": 1}, frame=FRAME)
    add("test.started", test="test_a.py::test_it")
    add("test.ended", test="test_a.py::test_it", outcome="failed", error=ERROR, frames=[FRAME])
    add("network.refused", operation="socket.connect", target=["host", 1], loopback=False)
    add("process.started", process="P1", program="sh", observed=False)
    add("script.wrote", stream="stdout", text="x", size=1, truncated=False)
    return script.exit(outcome="raised", error={**ERROR, "type": "builtins:AssertionError"}, frames=[FRAME])


def _draft() -> forge.Draft:
    draft = forge.draft()
    scripts = [_wide("as-written"), _wide("streamed")]
    draft.traces = {script.mode: script.trace().to_shape() for script in scripts}
    draft.states = {digest: raw for script in scripts for digest, raw in script.states.items()}
    return draft.judged()


WIDE = _draft()
_FIXED = frozenset({"seq", "kind", "after", "snapshot", "before", "source", "input_state", "now"})
"""Of the envelope, and digests of states; values below them are exchanged all the same."""


def _places(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a value stands, in a document."""
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    below = [place for key, value in items for place in _places(value, (*path, key))]
    fixed = bool(path) and path[-1] in _FIXED and not isinstance(part, dict | list)
    return below if fixed or not path else [path, *below]


EVENTS = {
    mode: [place for place in _places(shape["events"]) if place[0] != 0]  # what was run is the manifest's too
    for mode, shape in WIDE.traces.items()
}
STATES = {digest: _places(pydantic_core.from_json(raw)) for digest, raw in WIDE.states.items()}

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(max_size=8)
    | st.sampled_from(
        ["call_1", "pay", "R1", "S1", "Q1", "D1", "a", "", "0", "x" * 5000, "function_call", "²"]
    )
    | st.sampled_from([ERROR, ITEM, function_call(), function_output(), message("a"), {"$float": "nan"}])
    | st.sampled_from([{"$object": "m:C", "fields": {"type": "function_call", "call_id": "call_1"}}])
    | st.sampled_from([{"$opaque": "m:C"}, {"$int": "9" * 4000}, {"$bytes": "00"}, {"$str": [0xD800]}])
)
KEYS = st.text(max_size=3) | st.sampled_from(
    ["type", "call_id", "role", "content", "output", "raw", "raw_item", "approved", "usage", "k" * 5000]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
EXCHANGES = st.lists(
    st.tuples(st.sampled_from(["as-written", "streamed", "state"]), st.integers(0, 10_000), VALUES),
    min_size=1,
    max_size=4,
)


def _put(document: Any, path: tuple[Any, ...], value: Any) -> None:  # Any: JSON
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = copy.deepcopy(value)


def _exchange_in_a_state(draft: forge.Draft, number: int, value: Any) -> None:  # Any: JSON
    digest = sorted(STATES)[number % len(STATES)]
    if digest not in draft.states:
        return  # exchanged before
    document = pydantic_core.from_json(draft.states.pop(digest))
    _put(document, STATES[digest][number % len(STATES[digest])], value)
    raw = encode(document)
    new = hashlib.sha256(raw).hexdigest()
    draft.states[new] = raw
    text = encode(draft.traces).replace(digest.encode(), new.encode())
    draft.traces = pydantic_core.from_json(text)


def _exchanged(exchanges: list[tuple[str, int, Any]]) -> forge.Draft | None:  # Any: values
    """The wide draft with these values in it; None where the format does not allow one of them."""
    draft = WIDE.copy()
    # Those in states last: they change digests that stand in traces.
    for where, number, value in sorted(exchanges, key=lambda exchange: exchange[0] == "state"):
        if where == "state":
            _exchange_in_a_state(draft, number, value)
            continue
        events = copy.deepcopy(draft.traces[where]["events"])
        try:
            _put(events, EVENTS[where][number % len(EVENTS[where])], value)
            # Read and written again, since a default is not written out.
            shape = Trace.from_shape({**draft.traces[where], "events": events}).to_shape()
        except (FormatError, KeyError, IndexError, TypeError):
            continue  # not of the event's shape, or its place went with another exchange
        draft.traces[where] = shape
    used = {digest for digest in draft.states if digest.encode() in encode(draft.traces)}
    draft.states = {digest: draft.states[digest] for digest in used}
    return draft


@settings(max_examples=30, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(EXCHANGES)
def test_values_of_any_shape_end_in_a_report(exchanges: list[tuple[str, int, Any]]) -> None:
    draft = _exchanged(exchanges)
    assume(draft is not None and draft.traces != WIDE.traces)
    assert draft is not None
    try:
        draft.judged()
    except BundleError:
        assume(False)
    bundle = draft.seal()
    report = check_bundle(bundle, reader=READER).report
    assert [check.reason for check in report.checks if check.status == "failed"] == []
    assert report.status == "CURRENT"
    for claim in Judgement.from_shape(draft.manifest["judgement"]).claims:
        for finding in claim.because:
            assert explain(claim, finding)


def test_the_draft_holds_nearly_every_kind_of_event() -> None:
    kinds = set(kinds_of(KINDS))
    held = {event["kind"] for event in WIDE.traces["as-written"]["events"]}
    # These hold no values, or are written like others that are there.
    assert kinds - held <= {
        "loopback.bound",
        "model.left",
        "process.ended",
        "recorder.failed",
        "run.refused",
        "stream.agent",
        "stream.cancelled",
        "trace.ended",
        "warning.raised",
    }
