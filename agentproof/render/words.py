"""One sentence for each event.

A kind that has no sentence of its own is told by its name and its fields, so that a new kind of event
shows up in reports on the day that it is first recorded.
"""

from functools import singledispatch

from ..claims.trace.items import fields_of, items_of
from ..models.events import (
    ApprovalAsked,
    BodyRaised,
    BodyReturned,
    BodyStarted,
    ContextDecided,
    Event,
    GuardrailRan,
    HandoffMade,
    HookCalled,
    Interruption,
    LoopbackBound,
    McpCalled,
    ModelAnswered,
    ModelCalled,
    ModelFailed,
    ModelLeft,
    ModelOffered,
    NetworkRefused,
    ProbeChecked,
    ProbeObserved,
    ProcessEnded,
    ProcessStarted,
    RecorderFailed,
    ResultObserved,
    RunEnded,
    RunRefused,
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
    TestEnded,
    TestStarted,
    ToolEnded,
    ToolReported,
    ToolStarted,
    TraceEnded,
    WarningRaised,
)
from .items import describe_call, describe_failure, describe_items, for_call, listed
from .tests import how
from .text import one_line, value_text

_MOMENTS = {
    "decision": "a decision was made",
    "restore": "a state was made, read or written",
    "run_start": "a run began",
    "run_end": "a run ended",
    "exit": "the script ended",
    "body": "a function of the script returned",
}


def sentence(event: Event) -> str:
    """What happened, in one line of plain text."""
    return one_line(_say(event), 400)


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
    if event.tests:
        return f"pytest runs {listed(event.tests, 4)}"
    given = f" with {listed(event.arguments, 6)}" if event.arguments else ""
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
def _(event: TestStarted) -> str:
    return f"test {event.test} begins"


@_say.register
def _(event: TestEnded) -> str:
    return f"test {event.test} {how(event)}"


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
    how = f" inside {event.parent}{for_call(event.call_id)}" if event.parent else ""
    if event.context is not None and event.parent is None:  # a nested run is given one by the SDK itself
        how += f", with a context ({event.context.removeprefix('builtins:').replace(':', '.')})"
    # What the streamed mode streams by itself would make every step of it look like another one.
    how += ", streamed" if event.streamed and not event.routed else ""
    if event.state is not None:
        return f"run {event.run} of {event.agent} resumes {event.state}{how}"
    return f"run {event.run} of {event.agent} begins{how}: {value_text(event.input, 100)}"


@_say.register
def _(event: RunEnded) -> str:
    if event.outcome == "raised" and event.error is not None:
        return f"run {event.run} raises {describe_failure(event.error)}"
    if event.outcome == "returned" and event.interruptions:
        return f"run {event.run} pauses for a decision on {listed(map(_waiting, event.interruptions), 4)}"
    if event.outcome == "returned":
        return f"run {event.run} returns {value_text(event.final_output, 160)}"
    if event.outcome == "unfinished":
        return f"run {event.run} has not ended when the script is over"
    return f"run {event.run}: {event.outcome}"


def _waiting(interruption: Interruption) -> str:
    return describe_call(interruption.tool, interruption.arguments, interruption.call_id)


@_say.register
def _(event: RunRefused) -> str:
    return f"{event.entry} raises {describe_failure(event.error)} before a run begins"


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
    offered = f"; tools: {listed(event.tools, 6)}" if event.tools else ""
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
    return f"tool {event.tool} gives {value_text(event.output, 160)}{for_call(event.call_id)}"


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


@_say.register
def _(event: TraceEnded) -> str:
    return f"trace{f' {event.name}' if event.name else ''} ends"


@_say.register
def _(event: ModelOffered) -> str:
    parts = [
        f"{len(found)} {what}{'s' if len(found) != 1 else ''}"
        for found, what in ((event.tools, "tool"), (event.handoffs, "handoff"))
        if isinstance(found, list) and found
    ]
    parts += ["an output schema"] if event.output_schema is not None else []
    return f"the model is offered {', '.join(parts)}"


@_say.register
def _(event: WarningRaised) -> str:
    return (
        f"Python warns: coroutine {event.coroutine} was never awaited, dropped at {event.file}:{event.line}"
    )


@_say.register
def _(event: LoopbackBound) -> str:
    return (
        f"the script had listened on {event.ports} loopback port{'s' if event.ports != 1 else ''} of its own"
    )


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


def _at_most(limit: int | None) -> str:
    return "" if limit is None else f" of at most {limit}"


@_say.register
def _(event: SessionUsed) -> str:
    who = "the SDK" if event.by_sdk else "the script"
    count = len(items_of(event.items if event.items is not None else event.result))
    verb = {
        "add_items": f"adds {count} to",
        "get_items": f"reads {count}{_at_most(event.limit)} from",
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
