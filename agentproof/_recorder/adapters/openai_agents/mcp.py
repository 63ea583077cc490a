"""MCP servers: what the SDK asks of them, and the requests that this takes (standard library only).

1. `MCPServer` is patched with every subclass; only the outermost call is told.
2. Each request of a client session made inside of one is told too: pages, attempts, the handshake. What came
   back is told once and not again where it is the same; of a tool's call it is told by the call itself.
"""

import contextvars
import inspect
import json
import sys
from types import ModuleType
from typing import Any, Dict, List, Optional, Set, Tuple

from ... import importing
from ...events import During, guarded, journal
from ...patching import hide, patch, patch_tree
from ...values import encode, optional_text, text
from . import facts

_OPERATIONS = (
    *("connect", "cleanup", "list_tools", "list_prompts", "get_prompt"),
    *("list_resources", "list_resource_templates", "read_resource"),
)

_inside: "contextvars.ContextVar[Tuple[int, ...]]" = contextvars.ContextVar("agentproof_in_mcp", default=())
_server: "contextvars.ContextVar[Optional[str]]" = contextvars.ContextVar("agentproof_mcp", default=None)
"""The name of the server that is asked."""


def _told(tell: Any) -> Any:
    """Stand in the place of a method, and tell it with `tell`."""

    def make(original: Any) -> Any:
        if not inspect.iscoroutinefunction(original):
            return original

        async def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
            if journal().is_silent or id(self) in _inside.get():
                return await original(self, *args, **kwargs)
            try:
                with During(_inside, (*_inside.get(), id(self))), During(_server, _name(self)):
                    result = await original(self, *args, **kwargs)
            except BaseException as raised:
                tell(original, self, args, kwargs, None, raised)
                hide(raised)
                raise
            tell(original, self, args, kwargs, result, None)
            return result

        return ask

    return make


def _name(server: Any) -> Optional[str]:
    try:
        found = server.name  # a property of the SDK's servers, and of a script's
    except Exception:
        return None
    named: Optional[str] = optional_text(found)
    return named


@guarded("mcp")
def _called(
    original: Any, server: Any, args: Any, kwargs: Any, result: Any, error: Optional[BaseException]
) -> None:
    given = inspect.signature(original).bind(server, *args, **kwargs).arguments
    fields: Dict[str, Any] = {
        "server": _name(server),
        "tool": text(given.get("tool_name")),
        "arguments": encode(given.get("arguments")),
    }
    if error is not None:
        fields["error"] = facts.error(error)
    else:
        fields["result"] = encode(result)
    journal().emit("mcp.called", fields)


def _used(name: str) -> Any:
    @guarded("mcp")
    def tell(
        original: Any, server: Any, args: Any, kwargs: Any, result: Any, error: Optional[BaseException]
    ) -> None:
        given = inspect.signature(original).bind(server, *args, **kwargs).arguments
        arguments = {
            key: encode(given[key]) for key in ("name", "arguments", "cursor", "uri") if key in given
        }
        fields: Dict[str, Any] = {"server": _name(server), "operation": name, "arguments": arguments or None}
        if error is not None:
            fields["error"] = facts.error(error)
        elif name == "list_tools":
            fields["names"] = facts.names_of(result)
        journal().emit("mcp.used", fields)

    return tell


_known: Set[Tuple[Optional[str], str]] = set()
"""What came back so far, by server."""


def _requesting(original: Any) -> Any:
    async def send_request(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        is_client = any(base.__name__ == "ClientSession" for base in type(self).__mro__)
        if journal().is_silent or not is_client or not _inside.get():
            return await original(self, request, *args, **kwargs)
        try:
            result = await original(self, request, *args, **kwargs)
        except BaseException as raised:
            _requested(request, None, raised)
            hide(raised)
            raise
        _requested(request, result, None)
        return result

    return send_request


@guarded("mcp")
def _requested(request: Any, result: Any, error: Optional[BaseException]) -> None:
    request = getattr(request, "root", request)
    method = text(request.method)
    is_call = method == "tools/call"
    params = encode(getattr(request, "params", None), wire=_WIRE)
    if isinstance(params, dict):
        params = {key: each for key, each in params.items() if not (is_call and key == "arguments")}
    fields: Dict[str, Any] = {"server": _server.get(), "method": method, "params": params or None}
    if error is not None:
        fields["error"] = facts.error(error)
    elif not is_call:
        found = encode(result, wire=_WIRE)
        key = _server.get(), json.dumps([method, params, found], sort_keys=True)
        fields["again"] = True if key in _known else None
        fields["result"] = None if key in _known else found
        _known.add(key)
    journal().emit("mcp.requested", fields)


_WIRE = ("mcp.", "mcp_types.")


def install() -> List[str]:
    """Hook servers once the script uses them: later releases import them when they are first asked for."""
    for name, hook in (
        ("agents.mcp.server", _hook_servers),
        ("mcp.client.session", _hook_sessions),
    ):
        module = sys.modules.get(name)
        if module is None:
            importing.finder.when_loaded(name, hook)
        else:
            hook(module)
    return []


def _hook_servers(module: ModuleType) -> None:
    makers = {name: _told(_used(name)) for name in _OPERATIONS}
    patch_tree(module.MCPServer, {**makers, "call_tool": _told(_called)})


def _hook_sessions(module: ModuleType) -> None:
    # The class itself has it in mcp 2, one above it in mcp 1.
    for cls in module.ClientSession.__mro__:
        if patch(cls, "send_request", _requesting):
            return
