"""Guardrails of all four kinds as they ran, and `needs_approval` callbacks as they were asked.

Standard library only.
"""

import inspect
import sys
from typing import Any, Dict, List, Optional, Tuple

from ...events import guarded, journal, run
from ...patching import hide, is_coroutine_function, patch, replace_everywhere
from ...values import encode, optional_text
from . import facts, tools


def _guardrail(kind: str) -> Any:
    def make(original: Any) -> Any:
        async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if journal().is_silent:
                return await original(self, *args, **kwargs)
            try:
                result = await original(self, *args, **kwargs)
            except BaseException as raised:
                _ran(kind, original, self, args, kwargs, None, raised)
                hide(raised)
                raise
            _ran(kind, original, self, args, kwargs, result, None)
            return result

        return run

    return make


@guarded("guardrails")
def _ran(
    kind: str,
    original: Any,
    found: Any,
    args: Tuple[Any, ...],
    kwargs: Dict[str, Any],
    result: Any,
    error: Optional[BaseException],
) -> None:
    given = inspect.signature(original).bind(found, *args, **kwargs).arguments
    data = given.get("data")
    context = getattr(data, "context", None)
    agent = given.get("agent", getattr(data, "agent", None))
    fields: Dict[str, Any] = {
        "guardrail_kind": kind,
        "name": facts.guardrail_name(found),
        "agent": optional_text(getattr(agent, "name", None)),
        "tool": optional_text(getattr(context, "tool_name", None)),
        "call_id": optional_text(getattr(context, "tool_call_id", None)),
    }
    if result is not None:
        told = facts.guardrail_output(getattr(result, "output", result))
        fields.update({name: told[name] for name in ("tripped", "behavior", "info") if name in told})
        if kind == "output":
            fields["checked"] = encode(getattr(result, "agent_output", None))
    if error is not None:
        fields["error"] = facts.error(error)
    journal().emit("guardrail.ran", fields)


def _asking(original: Any) -> Any:
    """The SDK's own evaluation of a `needs_approval` setting."""

    async def evaluate(setting: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(setting, bool) or not callable(setting) or journal().is_silent:
            return await original(setting, *args, **kwargs)
        try:
            answer = await original(setting, *args, **kwargs)
        except BaseException as raised:
            _asked(args, None, raised)
            hide(raised)
            raise
        _asked(args, answer, None)
        return answer

    return evaluate


@guarded("approvals")
def _asked(args: Tuple[Any, ...], answer: Any, error: Optional[BaseException]) -> None:
    context = args[0] if args else None
    call_id = args[2] if len(args) > 2 else None
    calls = tools.calls_of(run.get())
    name = calls.name_of(optional_text(call_id))
    fields: Dict[str, Any] = {
        "tool": optional_text(getattr(context, "tool_name", None)) or optional_text(name),
        "call_id": optional_text(call_id),
        "arguments": encode(args[1]) if len(args) > 1 else None,
        "answer": answer if isinstance(answer, bool) else None,
        "error": None if error is None else facts.error(error),
    }
    calls.approval_asked(fields["call_id"], fields["answer"])
    journal().emit("approval.asked", fields)


def install() -> List[str]:
    """Hook the guardrail classes, and the function that asks `needs_approval` callbacks."""
    gaps: List[str] = []
    module = sys.modules["agents.guardrail"]
    patch(module.InputGuardrail, "run", _guardrail("input"))
    patch(module.OutputGuardrail, "run", _guardrail("output"))
    for_tools = sys.modules.get("agents.tool_guardrails")
    if for_tools is None:
        gaps.append("this release has no tool guardrails")
    else:
        patch(for_tools.ToolInputGuardrail, "run", _guardrail("tool_input"))
        patch(for_tools.ToolOutputGuardrail, "run", _guardrail("tool_output"))
    approvals = sys.modules.get("agents.util._approvals")
    function = getattr(approvals, "evaluate_needs_approval_setting", None)
    if function is None or not is_coroutine_function(function):
        gaps.append("needs_approval callbacks: this release does not tell when it asks them")
    else:
        replace_everywhere(facts.PACKAGE, function, _asking)
    return gaps
