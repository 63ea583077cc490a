"""The closed vocabulary of events: one module a surface, one class a kind.

A new kind is a new class in one of these modules and a new name in `AnyEvent`; the envelope and
the kinds that the evidence projection reads stay as they are.
"""

from typing import Annotated

from pydantic import Field

from ._base import Event, Failure, Label
from .probe import ProbeChecked, ProbeObserved
from .runs import (
    Interruption,
    ModelAnswered,
    ModelCalled,
    ModelFailed,
    ModelLeft,
    RunEnded,
    RunStarted,
    RunTaskEnded,
)
from .script import (
    Frame,
    NetworkRefused,
    ProcessEnded,
    ProcessStarted,
    RecorderFailed,
    ScriptEnded,
    ScriptStarted,
    ScriptWrote,
    SdkImported,
)
from .states import Moment, StateDecided, StateMade, StateObserved, StateRestored, StateSerialised
from .tools import BodyRaised, BodyReturned, BodyStarted, ToolEnded, ToolStarted

AnyEvent = Annotated[
    BodyRaised
    | BodyReturned
    | BodyStarted
    | ModelAnswered
    | ModelCalled
    | ModelFailed
    | ModelLeft
    | NetworkRefused
    | ProbeChecked
    | ProbeObserved
    | ProcessEnded
    | ProcessStarted
    | RecorderFailed
    | RunEnded
    | RunStarted
    | RunTaskEnded
    | ScriptEnded
    | ScriptStarted
    | ScriptWrote
    | SdkImported
    | StateDecided
    | StateMade
    | StateObserved
    | StateRestored
    | StateSerialised
    | ToolEnded
    | ToolStarted,
    Field(discriminator="kind"),
]

__all__ = [
    "AnyEvent",
    "BodyRaised",
    "BodyReturned",
    "BodyStarted",
    "Event",
    "Failure",
    "Frame",
    "Interruption",
    "Label",
    "ModelAnswered",
    "ModelCalled",
    "ModelFailed",
    "ModelLeft",
    "Moment",
    "NetworkRefused",
    "ProbeChecked",
    "ProbeObserved",
    "ProcessEnded",
    "ProcessStarted",
    "RecorderFailed",
    "RunEnded",
    "RunStarted",
    "RunTaskEnded",
    "ScriptEnded",
    "ScriptStarted",
    "ScriptWrote",
    "SdkImported",
    "StateDecided",
    "StateMade",
    "StateObserved",
    "StateRestored",
    "StateSerialised",
    "ToolEnded",
    "ToolStarted",
]
