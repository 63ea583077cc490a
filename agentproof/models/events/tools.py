"""Tools as the SDK's own hooks and the script's own bodies show them."""

from typing import Annotated, Literal

from ..text import value_text
from ..wire import exactly
from .base import NEEDS_NEW_PYTHON, SEES_MORE, ClassName, Event, Failure, Label, Text, Value
from .phrases import describe_call, describe_failure, for_call


class ToolStarted(Event):
    """The SDK is about to run a tool."""

    tone = "tool"

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
    """As the tool declares it; of a callback, what it told the SDK itself for this call in this run; absent:
    not known."""
    enabled: bool | None = None
    """As the tool says when it starts; of a callback only where its code reads and does nothing else, for
    another one may have a memory; absent: not known."""
    extractor: bool | None = None
    """For an agent as a tool: whether it has an output extractor of its own."""

    def words(self) -> str:
        needs = ", which needs approval" if self.needs_approval else ""
        return f"tool {describe_call(self.tool, self.arguments, self.call_id)} starts{needs}"


class ToolEnded(Event):
    """The tool gave its output; a start without an end means that it raised or was cancelled."""

    tone = "tool"

    kind: Literal["tool.ended"]
    agent: Text
    tool: Text
    call_id: Text | None = None
    output: Value
    output_type: ClassName
    without_body: Annotated[Literal[True], exactly(bool)] | None = None
    """True where the tool stands for a function of the reproduction's own that did not run, though the
    arguments are such as it takes (CPython 3.12 and newer)."""

    def words(self) -> str:
        return f"tool {self.tool} gives {value_text(self.output, 160)}{for_call(self.call_id)}"


class ToolReported(Event):
    """The provider says that it ran a tool (hosted MCP and its like): nothing ran here."""

    tone = "tool"
    no_evidence = SEES_MORE

    kind: Literal["tool.reported"]
    tool: Text
    server: Text | None = None
    item_type: Text
    call_id: Text | None = None
    arguments: Value | None = None
    output: Value | None = None
    error: Value | None = None

    def words(self) -> str:
        return f"the provider reports that it ran {describe_call(self.tool, self.arguments, self.call_id)}"


class ApprovalAsked(Event):
    """The SDK asked a tool's `needs_approval` callback."""

    tone = "decision"
    no_evidence = SEES_MORE

    kind: Literal["approval.asked"]
    tool: Text | None = None
    call_id: Text | None = None
    arguments: Value | None = None
    answer: bool | None = None
    error: Failure | None = None

    def words(self) -> str:
        answer = "yes" if self.answer else "no"
        if self.error is not None:
            answer = describe_failure(self.error)
        return f"does {describe_call(self.tool, self.arguments, self.call_id)} need approval? {answer}"


class BodyStarted(Event):
    """A function of the reproduction's own files began (second evidence, CPython 3.12 and newer)."""

    tone = "minor"
    no_evidence = NEEDS_NEW_PYTHON

    kind: Literal["body.started"]
    frame: Label
    function: Text
    arguments: Value | None = None
    thread: bool = False
    """True where it runs in a thread, which nothing can stop."""
    tool: Text | None = None
    """The tool that this function is the body of, where the SDK called it."""

    def words(self) -> str:
        return f"function {self.function} begins ({self.frame})"


class BodyReturned(Event):
    """That function returned."""

    tone = "minor"
    no_evidence = NEEDS_NEW_PYTHON

    kind: Literal["body.returned"]
    frame: Label
    function: Text
    value: Value

    def words(self) -> str:
        return f"function {self.function} returns {value_text(self.value)} ({self.frame})"


class BodyRaised(Event):
    """That function raised."""

    tone = "failure"
    no_evidence = NEEDS_NEW_PYTHON

    kind: Literal["body.raised"]
    frame: Label
    function: Text
    error: Failure

    def words(self) -> str:
        return f"function {self.function} raises {describe_failure(self.error)} ({self.frame})"
