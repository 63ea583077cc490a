"""The script as a process: its start, what it wrote, how it ended, what it tried to reach."""

from typing import Literal

from ..text import value_text
from .base import SEES_MORE, ClassName, Count, Event, Failure, Label, ListOf, Text, Value, Wire
from .phrases import describe_failure, listed


class ScriptStarted(Event):
    """The reproduction begins."""

    no_evidence = SEES_MORE

    kind: Literal["script.started"]
    entry: Text
    arguments: ListOf[Text] = ()
    tests: ListOf[Text] = ()
    """pytest node ids; then these are run, and the entry is the file of the first."""

    def words(self) -> str:
        if self.tests:
            return f"pytest runs {listed(self.tests, 4)}"
        given = f" with {listed(self.arguments, 6)}" if self.arguments else ""
        return f"the script {self.entry} begins{given}"


class SdkImported(Event):
    """The script's own import of the SDK is done; the hooks are in place from here on."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["sdk.imported"]
    module: Text
    hooks: Value | None = None
    """The hooks that this release has: `{"run": [names], "agent": [names]}`."""

    def words(self) -> str:
        return f"the script has imported {self.module}; observation begins"


class ScriptWrote(Event):
    """Everything that one stream of the script received, in one event at its end."""

    kind: Literal["script.wrote"]
    stream: Literal["stdout", "stderr"]
    text: Value
    size: Count
    """Bytes written; more than `text` holds where `truncated`."""
    truncated: bool

    def words(self) -> str:
        return f"the script wrote {self.size:,} bytes to {self.stream}"


class Frame(Wire):
    """A place in the reproduction's own files."""

    file: Text
    line: Count
    function: Text


RaisedIn = Literal["own", "sdk", "other"]
"""Where an error that left the reproduction was raised: `sdk` where a frame of the SDK stands below the
innermost one of the reproduction's own files; else `own` where that is the last frame, and `other` where
something else stands below it (the standard library, an assertion helper)."""

Premise = Literal["environment", "before_sdk"]
"""What an error is about that says nothing of the SDK: `environment` where something that the script takes
for granted is not there (a variable, a key, a file, a module), `before_sdk` where an assertion failed before
the script called the SDK."""


class ScriptEnded(Event):
    """How the reproduction ended."""

    kind: Literal["script.ended"]
    outcome: Literal["exited", "raised", "killed", "timed_out", "too_much_output", "out_of_memory"]
    code: int | None = None
    error: Failure | None = None
    frames: ListOf[Frame] = ()
    """For `raised`: the frames in the reproduction's own files, innermost last."""
    raised_in: RaisedIn | None = None
    premise: Premise | None = None

    def words(self) -> str:
        match self.outcome:
            case "exited":
                return f"the script exits with {self.code}"
            case "raised" if self.error is not None:
                at = self.frames[-1] if self.frames else None
                where = f" at {at.file}:{at.line}" if at else ""
                return f"the script raises {describe_failure(self.error)}{where}"
            case outcome:
                return f"the script ends: {outcome.replace('_', ' ')}"


class WarningRaised(Event):
    """Python warned, in the process where it did: of a coroutine that was dropped and never awaited.

    Warnings of the garbage collector's are not told: where it comes across a coroutine is chance."""

    tone = "failure"
    no_evidence = SEES_MORE

    kind: Literal["warning.raised"]
    category: ClassName
    file: Text
    """The file of the code that was interrupted, as that code names it."""
    line: Count
    module: Text | None = None
    raised_in: RaisedIn
    """`sdk` where the file of the SDK's that this code names holds it; `own` where it is the script's."""
    coroutine: Text | None = None
    """The qualified name of the coroutine function."""

    def words(self) -> str:
        return (
            f"Python warns: coroutine {self.coroutine} was never awaited, dropped at {self.file}:{self.line}"
        )


class NetworkRefused(Event):
    """The script asked for the network and was refused."""

    tone = "failure"
    no_evidence = SEES_MORE

    kind: Literal["network.refused"]
    operation: Text
    """The audit event, such as `socket.connect`."""
    target: Value | None = None
    loopback: bool

    def words(self) -> str:
        target = f" to {value_text(self.target, 80)}" if self.target is not None else ""
        return f"the script asks for the network ({self.operation}{target}) and is refused"


class LoopbackBound(Event):
    """The script listened on loopback, on ports that the system chose: `<port-1>` and so on in addresses."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["loopback.bound"]
    ports: Count
    """How many."""

    def words(self) -> str:
        plural = "s" if self.ports != 1 else ""
        return f"the script had listened on {self.ports} loopback port{plural} of its own"


class ProcessStarted(Event):
    """The script started another process."""

    no_evidence = SEES_MORE

    kind: Literal["process.started"]
    process: Label | None = None
    program: Text
    observed: bool

    def words(self) -> str:
        seen = "recorded too" if self.observed else "not observed"
        return f"the script starts a process of {self.program} ({seen})"


class ProcessEnded(Event):
    """A process of the script's that was recorded too ends by itself."""

    no_evidence = SEES_MORE

    kind: Literal["process.ended"]
    outcome: Literal["exited", "raised"]
    code: int | None = None
    error: Failure | None = None
    frames: ListOf[Frame] = ()
    raised_in: RaisedIn | None = None
    premise: Premise | None = None

    def words(self) -> str:
        how = f"raises {describe_failure(self.error)}" if self.error else f"exits with {self.code}"
        return f"that process {how}"


class RecorderFailed(Event):
    """A fault of the recorder's own: what it touches is not observed."""

    tone = "failure"
    no_evidence = SEES_MORE

    kind: Literal["recorder.failed"]
    part: Text
    """The surface whose observation is incomplete: hooks, models, states, sessions, runs, bodies, …"""
    error: Text

    def words(self) -> str:
        return f"the recorder failed at {self.part}: {self.error}"
