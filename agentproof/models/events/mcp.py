"""MCP servers: calls of their tools, and what else the SDK asks of them."""

from typing import Literal

from ..items import fields_of
from ..text import value_text
from .base import SEES_MORE, Event, Failure, ListOf, Text, Value
from .phrases import describe_call, describe_failure, listed


class McpCalled(Event):
    """A tool of an MCP server was called, and what the server gave."""

    tone = "tool"
    no_evidence = SEES_MORE

    kind: Literal["mcp.called"]
    server: Text | None = None
    tool: Text
    arguments: Value | None = None
    result: Value | None = None
    error: Failure | None = None

    def words(self) -> str:
        call = describe_call(self.tool, self.arguments, None)
        given = describe_failure(self.error) if self.error else value_text(self.result, 120)
        return f"MCP server {self.server} is asked for {call}: {given}"


class McpUsed(Event):
    """An MCP server was used for something else than a tool's call."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["mcp.used"]
    server: Text | None = None
    operation: Text
    """The method's name, such as `list_tools` or `connect`."""
    arguments: Value | None = None
    names: ListOf[Text] | None = None
    """The tools that are left after filters."""
    error: Failure | None = None

    def words(self) -> str:
        asked = f"MCP server {self.server}: {self.operation}"
        if self.arguments is not None:
            asked += f" {value_text(self.arguments, 100)}"
        if self.error is not None:
            return f"{asked} raises {describe_failure(self.error)}"
        return asked if self.names is None else f"{asked}: {listed(self.names, 8) or 'none'}"


class McpRequested(Event):
    """One request of a client session to its server, inside of what `mcp.used` or `mcp.called` tells."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["mcp.requested"]
    server: Text | None = None
    method: Text
    """Such as `tools/list`."""
    params: Value | None = None
    """Without a call's arguments, which `mcp.called` tells."""
    result: Value | None = None
    """Absent for a tool's call, and where it is the same as before."""
    again: bool = False
    """True where this server gave the same answer to the same question before."""
    error: Failure | None = None

    def words(self) -> str:
        asked = f"{self.method} is sent to MCP server {self.server}"
        if self.error is not None:
            return f"{asked}: {describe_failure(self.error)}"
        if self.again:
            return f"{asked}: the same as before"
        given = fields_of(self.result)
        following = given.get("nextCursor", given.get("next_cursor"))
        return asked + (f": a page, the next one at {value_text(following, 40)}" if following else "")

    def details(self) -> list[str]:
        """What was asked and what came back."""
        told = [("asked", self.params), ("came back", self.result)]
        return [f"{what}: {value_text(value, 400)}" for what, value in told if value is not None]
