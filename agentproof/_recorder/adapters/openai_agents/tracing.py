"""Spans as they are finished, and calls of MCP servers' tools (standard library only)."""

import inspect
import sys
from types import ModuleType
from typing import Any, Dict, List, Optional, Tuple

from ... import importing
from ...events import guarded, journal
from ...patching import hide, patch, patch_tree
from ...values import encode, optional_text, text
from . import facts


def _finish(original: Any) -> Any:
    def finish(self: Any, *args: Any, **kwargs: Any) -> Any:
        first = not journal().is_silent and getattr(self, "ended_at", None) is None
        try:
            given = original(self, *args, **kwargs)
        except BaseException as raised:
            hide(raised)
            raise
        if first:
            _finished(self)
        return given

    return finish


@guarded("spans")
def _finished(span: Any) -> None:
    data = span.span_data
    journal().emit(
        "span.ended",
        {
            "span_type": text(getattr(data, "type", type(data).__name__)),
            "name": optional_text(getattr(data, "name", None)),
            "error": None if span.error is None else encode(span.error),
        },
    )


def _call_tool(original: Any) -> Any:
    if not inspect.iscoroutinefunction(original):
        return original

    async def call_tool(self: Any, *args: Any, **kwargs: Any) -> Any:
        if journal().is_silent:
            return await original(self, *args, **kwargs)
        try:
            result = await original(self, *args, **kwargs)
        except BaseException as raised:
            _called(original, self, args, kwargs, None, raised)
            hide(raised)
            raise
        _called(original, self, args, kwargs, result, None)
        return result

    return call_tool


@guarded("mcp")
def _called(
    original: Any,
    server: Any,
    args: Tuple[Any, ...],
    kwargs: Dict[str, Any],
    result: Any,
    error: Optional[BaseException],
) -> None:
    given = inspect.signature(original).bind(server, *args, **kwargs).arguments
    fields: Dict[str, Any] = {
        "server": optional_text(getattr(server, "name", None)),
        "tool": text(given.get("tool_name")),
        "arguments": encode(given.get("arguments")),
    }
    if error is not None:
        fields["error"] = facts.error(error)
    else:
        fields["result"] = encode(result)
    journal().emit("mcp.called", fields)


def install() -> List[str]:
    """Hook finished spans, and MCP servers once the script uses them."""
    spans = sys.modules.get("agents.tracing.spans")
    gaps: List[str] = []
    if spans is None:
        gaps.append("this release has no spans")
    else:
        patch(spans.SpanImpl, "finish", _finish)
    servers = sys.modules.get("agents.mcp.server")
    if servers is None:
        # Later releases import it when it is first asked for.
        importing.finder.when_loaded("agents.mcp.server", _hook_servers)
    else:
        _hook_servers(servers)
    return gaps


def _hook_servers(module: ModuleType) -> None:
    patch_tree(module.MCPServer, {"call_tool": _call_tool})
