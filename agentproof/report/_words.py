"""One sentence for each event.

A kind that has no sentence of its own is told by its name and its fields, so that a new kind of event
shows up in reports on the day that it is first recorded.
"""

from collections.abc import Iterable
from functools import singledispatch
from typing import Any, Literal

from ..claims._items import Item, call_id_of, fields_of, is_call, is_output, items_of, text_of, type_of
from ..models.events import (
    ApprovalAsked,
    BodyRaised,
    BodyReturned,
    BodyStarted,
    ContextDecided,
    Event,
    Failure,
    GuardrailRan,
    HandoffMade,
    HookCalled,
    Interruption,
    McpCalled,
    ModelAnswered,
    ModelCalled,
    ModelFailed,
    ModelLeft,
    NetworkRefused,
    ProbeChecked,
    ProbeObserved,
    ProcessEnded,
    ProcessStarted,
    RecorderFailed,
    ResultObserved,
    RunEnded,
    RunStarted,
    RunTaskEnded,
    ScriptEnded,
    ScriptStarted,
    ScriptWrote,
    SdkImported,
    SessionUsed,
    SpanEnded,
    StateDecided,
    StateMade,
    StateObserved,
    StateRestored,
    StateSerialised,
    StreamAgent,
    StreamBegan,
    StreamCancelled,
    StreamEnded,
    StreamItem,
    ToolEnded,
    ToolReported,
    ToolStarted,
)
from ._text import one_line, value_text

Tone = Literal["script", "run", "model", "tool", "state", "decision", "minor", "failure"]
"""What an event is about, for its colour; `minor` ones may be folded away."""

_TONES: tuple[tuple[Tone, tuple[type[Event], ...]], ...] = (
    ("failure", (ModelFailed, BodyRaised, NetworkRefused, RecorderFailed)),
    ("decision", (StateDecided, ContextDecided, ApprovalAsked)),
    ("tool", (ToolStarted, ToolEnded, ToolReported, McpCalled)),
    ("state", (StateMade, StateObserved, StateRestored, StateSerialised, ResultObserved)),
    ("model", (ModelCalled, ModelAnswered, ModelLeft)),
    ("run", (RunStarted, RunEnded, HandoffMade, GuardrailRan, StreamCancelled)),
    (
        "minor",
        (
            BodyStarted,
            BodyReturned,
            HookCalled,
            RunTaskEnded,
            SdkImported,
            SpanEnded,
            StreamAgent,
            StreamBegan,
            StreamEnded,
            StreamItem,
        ),
    ),
)

_MOMENTS = {
    "decision": "a decision was made",
    "restore": "a state was made, read or written",
    "run_start": "a run began",
    "run_end": "a run ended",
    "exit": "the script ended",
    "body": "a function of the script returned",
}


def tone(event: Event) -> Tone:
    """What the event is about."""
    failed = getattr(event, "error", None) is not None or getattr(event, "outcome", None) in _BAD_ENDS
    if failed:
        return "failure"
    return next((name for name, kinds in _TONES if isinstance(event, kinds)), "script")


_BAD_ENDS = ("raised", "killed", "timed_out", "too_much_output", "out_of_memory", "unfinished")


def sentence(event: Event) -> str:
    """What happened, in one line of plain text."""
    return one_line(_say(event), 400)


def describe_failure(error: Failure) -> str:
    """An exception in one line, as a traceback's last."""
    name = error.type.removeprefix("builtins:").replace(":", ".")
    message = error.message if isinstance(error.message, str) else value_text(error.message)
    return one_line(f"{name}: {message}" if message else name, 300)


def describe_items(value: Any, limit: int = 3) -> str:  # Any: a value
    """The items of a model's answer in a few words."""
    return _listed((_item(item) for item in items_of(value)), limit) or "nothing"


def details(event: Event) -> list[str]:
    """What an event carries, one line a part: what a model is told, what a session holds after a run."""
    if isinstance(event, ModelCalled):
        return [_item_of(item) for item in items_of(event.input)]
    if isinstance(event, RunEnded):
        return [f"in the session: {_item_of(item)}" for item in items_of(event.session_after)]
    return []


def _item_of(item: Item) -> str:
    role = item.get("role")
    return f"{role}: {_item(item)}" if isinstance(role, str) else _item(item)


def describe_call(tool: str | None, arguments: Any, call_id: str | None) -> str:  # Any: a value
    """`pay({"amount": 100}) for call_1`."""
    inside = arguments if isinstance(arguments, str) else "" if arguments is None else value_text(arguments)
    text = f"{tool or 'a tool'}({one_line(inside, 100)})"
    return f"{text} for {call_id}" if call_id else text


def _item(item: Item) -> str:
    kind = type_of(item) or "an item"
    if is_call(item):
        name = item.get("name") or kind
        as_id = f" as {call_id_of(item)}" if call_id_of(item) else ""
        return f"call {describe_call(str(name), item.get('arguments'), None)}{as_id}"
    if is_output(item):
        return f"output of {call_id_of(item)}: {value_text(item.get('output'), 60)}"
    if kind == "message":
        return f"“{one_line(text_of(item), 80)}”"
    return kind


def _listed(texts: Iterable[str], limit: int) -> str:
    found = list(texts)
    more = f" and {len(found) - limit} more" if len(found) > limit else ""
    return ", ".join(found[:limit]) + more


def _for(call_id: str | None) -> str:
    return f" for {call_id}" if call_id else ""


@singledispatch
def _say(event: Event) -> str:
    shape = {
        name: value for name, value in event.to_shape().items() if name not in ("kind", "seq", "run", "after")
    }
    name = str(getattr(event, "kind", "event")).replace(".", " ").replace("_", " ")
    return ", ".join([name, *(f"{key} {value_text(value, 60)}" for key, value in shape.items())])


# The script


@_say.register
def _(event: ScriptStarted) -> str:
    given = f" with {_listed(event.arguments, 6)}" if event.arguments else ""
    return f"the script {event.entry} begins{given}"


@_say.register
def _(event: SdkImported) -> str:
    return f"the script has imported {event.module}; observation begins"


@_say.register
def _(event: ScriptWrote) -> str:
    return f"the script wrote {event.size:,} bytes to {event.stream}"


@_say.register
def _(event: ScriptEnded) -> str:
    match event.outcome:
        case "exited":
            return f"the script exits with {event.code}"
        case "raised" if event.error is not None:
            at = event.frames[-1] if event.frames else None
            where = f" at {at.file}:{at.line}" if at else ""
            return f"the script raises {describe_failure(event.error)}{where}"
        case outcome:
            return f"the script ends: {outcome.replace('_', ' ')}"


@_say.register
def _(event: NetworkRefused) -> str:
    target = f" to {value_text(event.target, 80)}" if event.target is not None else ""
    return f"the script asks for the network ({event.operation}{target}) and is refused"


@_say.register
def _(event: ProcessStarted) -> str:
    seen = "recorded too" if event.observed else "not observed"
    return f"the script starts a process of {event.program} ({seen})"


@_say.register
def _(event: ProcessEnded) -> str:
    how = f"raises {describe_failure(event.error)}" if event.error else f"exits with {event.code}"
    return f"that process {how}"


@_say.register
def _(event: RecorderFailed) -> str:
    return f"the recorder failed at {event.part}: {event.error}"


@_say.register
def _(event: ProbeChecked) -> str:
    return f"the script checks {event.label!r}: {'true' if event.passed else 'false'}"


@_say.register
def _(event: ProbeObserved) -> str:
    return f"the script notes {event.label!r}: {value_text(event.value)}"


# Runs and models


@_say.register
def _(event: RunStarted) -> str:
    where = f" inside {event.parent}{_for(event.call_id)}" if event.parent else ""
    if event.state is not None:
        return f"run {event.run} of {event.agent} resumes {event.state}{where}"
    return f"run {event.run} of {event.agent} begins{where}: {value_text(event.input, 100)}"


@_say.register
def _(event: RunEnded) -> str:
    if event.outcome == "raised" and event.error is not None:
        return f"run {event.run} raises {describe_failure(event.error)}"
    if event.outcome == "returned" and event.interruptions:
        return f"run {event.run} pauses for a decision on {_listed(map(_waiting, event.interruptions), 4)}"
    if event.outcome == "returned":
        return f"run {event.run} returns {value_text(event.final_output, 160)}"
    return f"run {event.run}: {event.outcome}"


def _waiting(interruption: Interruption) -> str:
    return describe_call(interruption.tool, interruption.arguments, interruption.call_id)


@_say.register
def _(event: RunTaskEnded) -> str:
    error = f" {describe_failure(event.error)}" if event.error else ""
    return f"the task of {event.run} has {event.outcome}{error}"


@_say.register
def _(event: ResultObserved) -> str:
    return f"the result {event.result} of {event.of_run} has changed, seen when {_MOMENTS[event.moment]}"


@_say.register
def _(event: ModelCalled) -> str:
    count = len(items_of(event.input))
    offered = f"; tools: {_listed(event.tools, 6)}" if event.tools else ""
    return f"the model is asked ({event.call}) with {count} item{'' if count == 1 else 's'}{offered}"


@_say.register
def _(event: ModelAnswered) -> str:
    return f"the model answers: {describe_items(event.output)}"


@_say.register
def _(event: ModelFailed) -> str:
    return f"the model raises {describe_failure(event.error)}"


@_say.register
def _(event: ModelLeft) -> str:
    return f"the SDK stops listening to {event.call}"


# Tools, hooks, guardrails


@_say.register
def _(event: ToolStarted) -> str:
    needs = ", which needs approval" if event.needs_approval else ""
    return f"tool {describe_call(event.tool, event.arguments, event.call_id)} starts{needs}"


@_say.register
def _(event: ToolEnded) -> str:
    return f"tool {event.tool} gives {value_text(event.output, 160)}{_for(event.call_id)}"


@_say.register
def _(event: ToolReported) -> str:
    return f"the provider reports that it ran {describe_call(event.tool, event.arguments, event.call_id)}"


@_say.register
def _(event: McpCalled) -> str:
    call = describe_call(event.tool, event.arguments, None)
    given = describe_failure(event.error) if event.error else value_text(event.result, 120)
    return f"MCP server {event.server} is asked for {call}: {given}"


@_say.register
def _(event: ApprovalAsked) -> str:
    answer = "yes" if event.answer else "no"
    if event.error is not None:
        answer = describe_failure(event.error)
    return f"does {describe_call(event.tool, event.arguments, event.call_id)} need approval? {answer}"


@_say.register
def _(event: HookCalled) -> str:
    return f"{event.scope} hook {event.hook}" + (f" of {event.agent}" if event.agent else "")


@_say.register
def _(event: HandoffMade) -> str:
    return f"{event.from_agent} hands over to {event.to_agent}"


@_say.register
def _(event: GuardrailRan) -> str:
    came = {True: "trips", False: "lets it pass", None: "ran"}[event.tripped]
    return f"{event.guardrail_kind.replace('_', ' ')} guardrail {event.name} {came}"


@_say.register
def _(event: BodyStarted) -> str:
    return f"function {event.function} begins ({event.frame})"


@_say.register
def _(event: BodyReturned) -> str:
    return f"function {event.function} returns {value_text(event.value)} ({event.frame})"


@_say.register
def _(event: BodyRaised) -> str:
    return f"function {event.function} raises {describe_failure(event.error)} ({event.frame})"


@_say.register
def _(event: SpanEnded) -> str:
    name = f" {event.name}" if event.name else ""
    error = f": {value_text(event.error, 80)}" if event.error is not None else ""
    return f"span {event.span_type}{name} ends{error}"


# States, sessions, streams


@_say.register
def _(event: StateMade) -> str:
    return f"{event.state} is made from {f'result {event.result}' if event.result else 'a result'}"


@_say.register
def _(event: StateDecided) -> str:
    verb = "approved" if event.decision == "approve" else "rejected"
    options = f" with {value_text(event.options, 80)}" if event.options else ""
    tool = f" ({event.tool})" if event.tool else ""
    refused = f", which raises {describe_failure(event.error)}" if event.error else ""
    return f"{event.call_id or 'a call'}{tool} is {verb} on {event.state}{options}{refused}"


@_say.register
def _(event: ContextDecided) -> str:
    verb = "approved" if event.decision == "approve" else "rejected"
    return f"{event.call_id or 'a call'} is {verb} on a run context"


@_say.register
def _(event: StateSerialised) -> str:
    return f"{event.state} is written as {'JSON' if event.form == 'json' else 'a string'}"


@_say.register
def _(event: StateRestored) -> str:
    return f"{event.state} is read from {'JSON' if event.form == 'json' else 'a string'}"


@_say.register
def _(event: StateObserved) -> str:
    return f"{event.state} has changed, seen when {_MOMENTS[event.moment]}"


@_say.register
def _(event: SessionUsed) -> str:
    who = "the SDK" if event.by_sdk else "the script"
    count = len(items_of(event.items if event.items is not None else event.result))
    verb = {
        "add_items": f"adds {count} to",
        "get_items": f"reads {count} from",
        "pop_item": "takes the last of",
        "clear_session": "clears",
    }[event.operation]
    failed = f", which raises {describe_failure(event.error)}" if event.error else ""
    return f"{who} {verb} session {event.session}{failed}"


@_say.register
def _(event: StreamBegan) -> str:
    return f"the stream of {event.of_run} is read"


@_say.register
def _(event: StreamItem) -> str:
    raw = fields_of(event.item).get("type")
    return f"the stream of {event.of_run} tells {event.name} ({raw})"


@_say.register
def _(event: StreamAgent) -> str:
    return f"the stream of {event.of_run} tells of agent {event.agent}"


@_say.register
def _(event: StreamCancelled) -> str:
    return f"the script cancels {event.of_run}" + (f" ({event.mode})" if event.mode else "")


@_say.register
def _(event: StreamEnded) -> str:
    error = f" {describe_failure(event.error)}" if event.error else ""
    return f"the stream of {event.of_run} has {event.outcome}{error} after {event.count} events"
