"""What an event is about, for its colour and for what may be folded away."""

from typing import Literal

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
    LoopbackBound,
    McpCalled,
    ModelAnswered,
    ModelCalled,
    ModelFailed,
    ModelLeft,
    ModelOffered,
    NetworkRefused,
    RecorderFailed,
    ResultObserved,
    RunEnded,
    RunRefused,
    RunStarted,
    RunTaskEnded,
    SdkImported,
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
    TraceEnded,
    WarningRaised,
)

Tone = Literal["script", "run", "model", "tool", "state", "decision", "minor", "failure"]
"""What an event is about, for its colour; `minor` ones may be folded away."""

_TONES: tuple[tuple[Tone, tuple[type[Event], ...]], ...] = (
    ("failure", (ModelFailed, BodyRaised, RunRefused, NetworkRefused, RecorderFailed, WarningRaised)),
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
            LoopbackBound,
            ModelOffered,
            RunTaskEnded,
            SdkImported,
            SpanEnded,
            StreamAgent,
            StreamBegan,
            StreamEnded,
            StreamItem,
            TraceEnded,
        ),
    ),
)


def tone(event: Event) -> Tone:
    """What the event is about."""
    failed = getattr(event, "error", None) is not None or getattr(event, "outcome", None) in _BAD_ENDS
    if failed:
        return "failure"
    return next((name for name, kinds in _TONES if isinstance(event, kinds)), "script")


_BAD_ENDS = ("raised", "failed", "killed", "timed_out", "too_much_output", "out_of_memory", "unfinished")
