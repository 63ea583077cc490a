"""The SDK's objects as plain data: items, results, usage, tools, settings (standard library only).

Only attributes are read; what a release does not have is left out.
"""

import json
import sys
from typing import Any, Dict, List, Optional

from ...values import class_name, encode, failure, optional_text, register, text, type_name

PACKAGE = "agents"


def is_sdk(module: object) -> bool:
    """True for a module name inside the SDK's package."""
    return isinstance(module, str) and (module == PACKAGE or module.startswith(PACKAGE + "."))


def called_from_outside(frame: Any) -> bool:
    """True when `frame` is not code of the SDK."""
    return not is_sdk(frame.f_globals.get("__name__"))


def register_values() -> None:
    """Objects that are named, not unfolded, wherever they turn up in a value."""
    agent = sys.modules[PACKAGE + ".agent"]
    for name in ("AgentBase", "Agent"):
        if hasattr(agent, name):
            register(
                getattr(agent, name), lambda found: {"name": optional_text(getattr(found, "name", None))}
            )
    tool = sys.modules[PACKAGE + ".tool"]
    for name in ("FunctionTool", "FileSearchTool", "WebSearchTool", "ComputerTool", "HostedMCPTool"):
        if hasattr(tool, name):
            register(getattr(tool, name), lambda found: {"name": optional_text(getattr(found, "name", None))})
    context = sys.modules[PACKAGE + ".run_context"]
    register(context.RunContextWrapper, lambda found: {})


def read(holder: Any, name: str) -> Any:
    """A field of a dict or an object; None where there is none."""
    if isinstance(holder, dict):
        return holder.get(name)
    return getattr(holder, name, None)


def call_id_of(raw: Any) -> Optional[str]:
    """The id that pairs a call with its output."""
    found: Optional[str] = optional_text(read(raw, "call_id")) or optional_text(read(raw, "id"))
    return found


_WIRE = ("openai.types.",)
"""Where the models live that stand for items of the Responses API."""


def plain_item(raw: Any) -> Any:
    """A raw item as a mapping, whether the SDK holds it as a dict or as a model."""
    return encode(raw, wire=_WIRE)


def item(found: Any) -> Dict[str, Any]:
    """A run item: its type, raw item, agent, and the live output with its Python type."""
    fields: Dict[str, Any] = {
        "type": text(getattr(found, "type", type(found).__name__)),
        "raw": plain_item(getattr(found, "raw_item", None)),
    }
    agent = optional_text(getattr(getattr(found, "agent", None), "name", None))
    if agent is not None:
        fields["agent"] = agent
    if hasattr(found, "output"):
        fields["output"] = encode(found.output)
        fields["output_type"] = type_name(found.output)
    return fields


def result(found: Any) -> Dict[str, Any]:
    """What a result says, as far as it should not change any more."""
    return {
        "final_output": encode(found.final_output),
        "items": [item(each) for each in found.new_items],
        "interruptions": [interruption(each) for each in getattr(found, "interruptions", None) or ()],
        "guardrails": guardrails(found),
        "usage": usage(getattr(getattr(found, "context_wrapper", None), "usage", None)),
    }


def usage(found: Any) -> Any:
    """A `Usage` with its per-request entries; None where there is none."""
    if found is None:
        return None
    fields: Dict[str, Any] = {}
    for name in ("requests", "input_tokens", "output_tokens", "total_tokens"):
        if hasattr(found, name):
            fields[name] = encode(getattr(found, name))
    entries = getattr(found, "request_usage_entries", None)
    if isinstance(entries, list):
        names = ("input_tokens", "output_tokens", "total_tokens")
        fields["entries"] = [
            {name: encode(getattr(entry, name, None)) for name in names} for entry in entries
        ]
    return fields


def interruption(found: Any) -> Dict[str, Any]:
    """A tool call that waits for a decision."""
    raw = getattr(found, "raw_item", None)
    fields = {
        "tool": optional_text(getattr(found, "tool_name", None)) or optional_text(read(raw, "name")),
        "call_id": call_id_of(raw),
        "agent": optional_text(getattr(getattr(found, "agent", None), "name", None)),
        "arguments": arguments_of(raw),
    }
    return {name: value for name, value in fields.items() if value is not None}


def arguments_of(raw: Any) -> Any:
    """What a call asks for, by the field that its kind has."""
    for name in ("arguments", "input", "action", "operation"):
        value = read(raw, name)
        if value is not None:
            return plain_item(value)
    return None


def error(found: BaseException) -> Dict[str, Any]:
    """An exception with what the SDK attached to it."""
    fields = failure(found)
    data: Dict[str, Any] = {}
    details = getattr(found, "run_data", None)
    if details is not None:
        data["items"] = [item(each) for each in getattr(details, "new_items", None) or ()]
        agent = optional_text(getattr(getattr(details, "last_agent", None), "name", None))
        if agent is not None:
            data["last_agent"] = agent
        data["guardrails"] = guardrails(details)
    tripped = getattr(found, "guardrail_result", None)
    if tripped is not None:
        data["guardrail"] = guardrail(tripped)
    if data:
        fields["data"] = data
    return fields


GUARDRAILS = {
    "input": "input_guardrail_results",
    "output": "output_guardrail_results",
    "tool_input": "tool_input_guardrail_results",
    "tool_output": "tool_output_guardrail_results",
}


def guardrails(holder: Any) -> Dict[str, Any]:
    """The guardrail lists that a result or an error carries."""
    lists: Dict[str, Any] = {}
    for kind, name in GUARDRAILS.items():
        found = getattr(holder, name, None)
        if isinstance(found, list):
            lists[kind] = [guardrail(each) for each in found]
            if kind.startswith("tool_"):
                # The SDK appends them as its tools come to their ends, side by side: not an order of its own.
                lists[kind].sort(key=lambda each: json.dumps(each, sort_keys=True))
    return lists


def guardrail(result: Any) -> Dict[str, Any]:
    """One guardrail result."""
    name = guardrail_name(getattr(result, "guardrail", None))
    return {"name": name, **guardrail_output(getattr(result, "output", None))}


def guardrail_output(output: Any) -> Dict[str, Any]:
    """What a guardrail's function gave."""
    fields: Dict[str, Any] = {}
    tripped = getattr(output, "tripwire_triggered", None)
    if isinstance(tripped, bool):
        fields["tripped"] = tripped
    if hasattr(output, "output_info"):
        fields["info"] = encode(output.output_info)
    if hasattr(output, "behavior"):
        fields["behavior"] = encode(output.behavior)
    return fields


def guardrail_name(found: Any) -> str:
    """As `get_name()` would say, without calling a method that a script may have replaced."""
    name = getattr(found, "name", None)
    if isinstance(name, str) and name:
        return text(name)
    function = getattr(found, "guardrail_function", None)
    return text(getattr(function, "__name__", type(found).__name__))


def settings(found: Any) -> Any:
    """Model settings that are set."""
    value = encode(found)
    if isinstance(value, dict) and isinstance(value.get("fields"), dict):
        value = value["fields"]
    if isinstance(value, dict):
        return {name: each for name, each in value.items() if each is not None}
    return value


def names_of(tools: Any) -> List[str]:
    """The names of tools or handoffs as a model is offered them."""
    names: List[str] = []
    for tool in tools if isinstance(tools, (list, tuple)) else ():
        name = getattr(tool, "name", None) or getattr(tool, "tool_name", None)
        names.append(text(name) if isinstance(name, str) else class_name(type(tool)))
    return names
