"""`openai-agents`: its names, and the JSON of its `RunState`.

Approvals lie in `context.approvals` by tool, and from about 0.22 in `context.function_tool_approvals` by
agent and tool. 0.20 and newer keep in `context.tool_invocations` which calls were executed.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..adapter import Sdk

_LEFT_OUT: Final = frozenset(
    {
        "$schemaVersion",
        "trace",
        "_generated_items_last_processed_marker",
        "generated_items_last_processed_marker",
    }
)
"""Keys that say nothing about the run: the format, the trace's ids, a marker that `to_json()` itself sets
(0.11 and newer)."""


class OpenaiAgents:
    """See `Sdk`."""

    distribution = "openai-agents"
    package = "agents"
    adapter = "openai_agents"
    related: tuple[str, ...] = ("openai", "pydantic", "mcp", "griffelib", "griffe", "litellm", "websockets")
    state_mark = b'"$schemaVersion"'
    schema_key = "$schemaVersion"
    model_error = "agents.exceptions:ModelBehaviorError"

    def is_state(self, document: Any) -> bool:  # Any: JSON, here and below
        return isinstance(document, dict) and self.schema_key in document

    def comparable(self, state: Any) -> Any:
        if isinstance(state, list):
            return [self.comparable(part) if isinstance(part, dict | list) else part for part in state]
        if not isinstance(state, dict):
            return state
        left_out = _LEFT_OUT if self.is_state(state) else ()
        kept = {
            key: self.comparable(part) if isinstance(part, dict | list) else part
            for key, part in state.items()
            if key not in left_out
        }
        context = kept.get("context")
        if left_out and isinstance(context, dict):
            kept["context"] = {
                key: part for key, part in context.items() if key not in ("context", "context_meta")
            }
        return kept

    def approved_in(self, state: Any) -> Iterator[tuple[str, Any]]:
        stack = [state]
        while stack:
            part = stack.pop()
            if isinstance(part, list):
                stack.extend(part)
            if not isinstance(part, dict):
                continue
            by_tool = part.get("approvals")
            for name, record in by_tool.items() if isinstance(by_tool, dict) else ():
                if isinstance(record, Mapping):
                    yield _tool(str(name)), record.get("approved")
            by_agent = part.get("function_tool_approvals")
            for record in by_agent if isinstance(by_agent, list) else ():
                if isinstance(record, Mapping) and isinstance(record.get("decision"), Mapping):
                    yield _tool(str(record.get("tool_key"))), record["decision"].get("approved")
            stack.extend(part.values())

    def calls_in(self, state: Any) -> Mapping[str, Any]:
        context = state.get("context") if isinstance(state, dict) else None
        calls = context.get("tool_invocations") if isinstance(context, dict) else None
        return calls if isinstance(calls, dict) else {}

    def was_executed(self, call: Any) -> bool:
        return isinstance(call, dict) and call.get("executed") is True


def _tool(key: str) -> str:
    """The tool of an approval's key, which may carry a namespace."""
    return key.rpartition(".")[2].rpartition(":")[2]


SDK: Final[Sdk] = OpenaiAgents()
