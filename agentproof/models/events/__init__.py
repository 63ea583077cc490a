"""The closed vocabulary of events: one module a surface, one class a kind.

A new kind is a new class in one of these modules and a new name in `AnyEvent`; the envelope and
the kinds that the evidence projection reads stay as they are.
"""

from .base import Event, Failure, Label
from .hooks import GuardrailRan, HandoffMade, HookCalled
from .probe import ProbeChecked, ProbeObserved
from .runs import (
    Interruption,
    ModelAnswered,
    ModelCalled,
    ModelFailed,
    ModelLeft,
    ModelOffered,
    ResultObserved,
    RunEnded,
    RunRefused,
    RunStarted,
    RunTaskEnded,
)
from .script import (
    Frame,
    LoopbackBound,
    NetworkRefused,
    ProcessEnded,
    ProcessStarted,
    RecorderFailed,
    ScriptEnded,
    ScriptStarted,
    ScriptWrote,
    SdkImported,
    WarningRaised,
)
from .sessions import SessionUsed
from .states import (
    ContextDecided,
    Moment,
    StateDecided,
    StateMade,
    StateObserved,
    StateRestored,
    StateSerialised,
)
from .streams import StreamAgent, StreamBegan, StreamCancelled, StreamEnded, StreamItem
from .testing import TestEnded, TestStarted
from .tools import (
    ApprovalAsked,
    BodyRaised,
    BodyReturned,
    BodyStarted,
    McpCalled,
    ToolEnded,
    ToolReported,
    ToolStarted,
)
from .tracing import SpanEnded, TraceEnded

AnyEvent = (
    ApprovalAsked
    | BodyRaised
    | BodyReturned
    | BodyStarted
    | ContextDecided
    | GuardrailRan
    | HandoffMade
    | HookCalled
    | LoopbackBound
    | McpCalled
    | ModelAnswered
    | ModelCalled
    | ModelFailed
    | ModelLeft
    | ModelOffered
    | NetworkRefused
    | ProbeChecked
    | ProbeObserved
    | ProcessEnded
    | ProcessStarted
    | RecorderFailed
    | ResultObserved
    | RunEnded
    | RunRefused
    | RunStarted
    | RunTaskEnded
    | ScriptEnded
    | ScriptStarted
    | ScriptWrote
    | SdkImported
    | SessionUsed
    | SpanEnded
    | StateDecided
    | StateMade
    | StateObserved
    | StateRestored
    | StateSerialised
    | StreamAgent
    | StreamBegan
    | StreamCancelled
    | StreamEnded
    | StreamItem
    | TestEnded
    | TestStarted
    | ToolEnded
    | ToolReported
    | ToolStarted
    | TraceEnded
    | WarningRaised
)

__all__ = [
    "AnyEvent",
    "ApprovalAsked",
    "BodyRaised",
    "BodyReturned",
    "BodyStarted",
    "ContextDecided",
    "Event",
    "Failure",
    "Frame",
    "GuardrailRan",
    "HandoffMade",
    "HookCalled",
    "Interruption",
    "Label",
    "LoopbackBound",
    "McpCalled",
    "ModelAnswered",
    "ModelCalled",
    "ModelFailed",
    "ModelLeft",
    "ModelOffered",
    "Moment",
    "NetworkRefused",
    "ProbeChecked",
    "ProbeObserved",
    "ProcessEnded",
    "ProcessStarted",
    "RecorderFailed",
    "ResultObserved",
    "RunEnded",
    "RunRefused",
    "RunStarted",
    "RunTaskEnded",
    "ScriptEnded",
    "ScriptStarted",
    "ScriptWrote",
    "SdkImported",
    "SessionUsed",
    "SpanEnded",
    "StateDecided",
    "StateMade",
    "StateObserved",
    "StateRestored",
    "StateSerialised",
    "StreamAgent",
    "StreamBegan",
    "StreamCancelled",
    "StreamEnded",
    "StreamItem",
    "TestEnded",
    "TestStarted",
    "ToolEnded",
    "ToolReported",
    "ToolStarted",
    "TraceEnded",
    "WarningRaised",
]
