"""Tools as the SDK's own hooks and the script's own bodies show them."""

from typing import Literal

from ._base import ClassName, Event, Failure, Label, Text, Value


class ToolStarted(Event):
    """The SDK is about to run a tool."""

    kind: Literal["tool.started"]
    agent: Text
    tool: Text
    tool_kind: Literal[
        "function", "agent", "mcp", "custom", "shell", "local_shell", "apply_patch", "computer", "other"
    ]
    call_id: Text | None = None
    call_id_source: Literal["hook", "matched"] | None = None
    arguments: Value | None = None
    needs_approval: bool | None = None
    """As the tool declares it for this call (a callable is asked in a forked child); absent: not known."""
    enabled: bool | None = None


class ToolEnded(Event):
    """The tool gave its output; a start without an end means that it raised or was cancelled."""

    kind: Literal["tool.ended"]
    agent: Text
    tool: Text
    call_id: Text | None = None
    output: Value
    output_type: ClassName


class BodyStarted(Event):
    """A function of the reproduction's own files began (second evidence, CPython 3.12 and newer)."""

    kind: Literal["body.started"]
    frame: Label
    function: Text
    arguments: Value | None = None


class BodyReturned(Event):
    """That function returned."""

    kind: Literal["body.returned"]
    frame: Label
    function: Text
    value: Value


class BodyRaised(Event):
    """That function raised."""

    kind: Literal["body.raised"]
    frame: Label
    function: Text
    error: Failure
