"""The script as a process: its start, what it wrote, how it ended, what it tried to reach."""

from typing import Literal

from .base import ClassName, Count, Event, Failure, Label, ListOf, Text, Value, Wire


class ScriptStarted(Event):
    """The reproduction begins."""

    kind: Literal["script.started"]
    entry: Text
    arguments: ListOf[Text] = ()
    tests: ListOf[Text] = ()
    """pytest node ids; then these are run, and the entry is the file of the first."""


class SdkImported(Event):
    """The script's own import of the SDK is done; the hooks are in place from here on."""

    kind: Literal["sdk.imported"]
    module: Text
    hooks: Value | None = None
    """The hooks that this release has: `{"run": [names], "agent": [names]}`."""


class ScriptWrote(Event):
    """Everything that one stream of the script received, in one event at its end."""

    kind: Literal["script.wrote"]
    stream: Literal["stdout", "stderr"]
    text: Value
    size: Count
    """Bytes written; more than `text` holds where `truncated`."""
    truncated: bool


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


class WarningRaised(Event):
    """Python warned, in the process where it did: of a coroutine that was dropped and never awaited.

    Warnings of the garbage collector's are not told: where it comes across a coroutine is chance."""

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


class NetworkRefused(Event):
    """The script asked for the network and was refused."""

    kind: Literal["network.refused"]
    operation: Text
    """The audit event, such as `socket.connect`."""
    target: Value | None = None
    loopback: bool


class LoopbackBound(Event):
    """The script listened on loopback, on ports that the system chose: `<port-1>` and so on in addresses."""

    kind: Literal["loopback.bound"]
    ports: Count
    """How many."""


class ProcessStarted(Event):
    """The script started another process."""

    kind: Literal["process.started"]
    process: Label | None = None
    program: Text
    observed: bool


class ProcessEnded(Event):
    """A process of the script's that was recorded too ends by itself."""

    kind: Literal["process.ended"]
    outcome: Literal["exited", "raised"]
    code: int | None = None
    error: Failure | None = None
    frames: ListOf[Frame] = ()
    raised_in: RaisedIn | None = None
    premise: Premise | None = None


class RecorderFailed(Event):
    """A fault of the recorder's own: what it touches is not observed."""

    kind: Literal["recorder.failed"]
    part: Text
    """The surface whose observation is incomplete: hooks, models, states, sessions, runs, bodies, …"""
    error: Text
