"""What a model is offered: tools, handoffs and the output's schema, in full (standard library only)."""

from typing import Any, Dict, List, Set

from ...events import guarded
from ...values import encode, optional_text, text
from . import facts, tools

_SECRET = frozenset({"authorization", "headers"})
"""Settings of a hosted tool that are for the provider's eyes."""


@guarded("models")
def of(offered: Any, handoffs: Any, schema: Any) -> Dict[str, Any]:
    """The fields that are not empty."""
    fields: Dict[str, Any] = {
        "tools": [_tool(each) for each in _items(offered)],
        "handoffs": [_handoff(each) for each in _items(handoffs)],
        "output_schema": _output(schema),
    }
    return {name: found for name, found in fields.items() if found}


def _items(found: Any) -> List[Any]:
    return list(found) if isinstance(found, (list, tuple)) else []


def _tool(tool: Any) -> Dict[str, Any]:
    config = getattr(tool, "tool_config", None)
    if isinstance(config, dict):
        config = {name: item for name, item in config.items() if name not in _SECRET}
    return _set(
        name=facts.names_of([tool])[0],
        kind=tools.kind_of(tool),
        description=optional_text(getattr(tool, "description", None)),
        schema=getattr(tool, "params_json_schema", None),
        strict=getattr(tool, "strict_json_schema", None),
        config=config,
    )


def _handoff(handoff: Any) -> Dict[str, Any]:
    return _set(
        name=facts.names_of([handoff])[0],
        agent=optional_text(getattr(handoff, "agent_name", None)),
        description=optional_text(getattr(handoff, "tool_description", None)),
        schema=getattr(handoff, "input_json_schema", None),
    )


def _output(schema: Any) -> Any:
    # A schema class of the script's own would be its code: nothing of it is called here.
    held = getattr(schema, "_output_schema", None) if facts.is_sdk(type(schema).__module__) else None
    return encode(held) if isinstance(held, dict) else None


def _set(**fields: Any) -> Dict[str, Any]:
    return {name: encode(found) for name, found in fields.items() if found is not None}


def lacking(agent: Any, document: Any) -> List[str]:
    """The function tools that a state's JSON waits with and that neither this agent nor one that it hands
    over to has. Empty where looking does not tell: tools of MCP servers, handoffs that are made up."""
    step = document.get("last_processed_response") if isinstance(document, dict) else None
    entries = step.get("functions") if isinstance(step, dict) else None
    tools = [entry.get("tool") for entry in entries or [] if isinstance(entry, dict)]
    wanted = {tool.get("name") for tool in tools if isinstance(tool, dict)}
    known: Set[Any] = set()
    seen: Dict[int, Any] = {}
    agents = [agent]
    while agents:
        one = agents.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        own, handoffs = getattr(one, "tools", None), getattr(one, "handoffs", None)
        if not isinstance(own, list) or not isinstance(handoffs, list) or getattr(one, "mcp_servers", None):
            return []
        known.update(getattr(tool, "name", None) for tool in own)
        agents.extend(handoffs)
    return sorted(text(name) for name in wanted - known if isinstance(name, str))
