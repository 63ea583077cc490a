"""Tool runs as the SDK's own RunHooks tell them (standard library only).

The Runner supplies `RunHooks()` when the script passes none, so the patched base class is always
called. A hook that calls its `super()` is told once.
"""

import asyncio
import contextvars
import inspect
import json
import sys
from typing import Any, Dict, List, Optional, Tuple

from ... import snapshots
from ...events import guarded, journal
from ...patching import hide, patch_tree
from ...values import encode, optional_text, text, type_name
from . import facts

_inside: "contextvars.ContextVar[Tuple[Any, ...]]" = contextvars.ContextVar("agentproof_in_hook", default=())


def _hook(name: str) -> Any:
    def make(original: Any) -> Any:
        async def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
            key = (name, id(self), *(id(each) for each in args[:3]))
            inside = _inside.get()
            if key not in inside and not journal().is_silent:
                _told(name, args, kwargs)
            token = _inside.set((*inside, key))
            try:
                return await original(self, *args, **kwargs)
            except BaseException as raised:
                hide(raised)
                raise
            finally:
                _inside.reset(token)

        return hook

    return make


@guarded("hooks")
def _told(name: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
    given = dict(zip(("context", "agent", "tool", "result"), args, strict=False))
    given.update(kwargs)
    context, agent, tool = given["context"], given["agent"], given["tool"]
    fields: Dict[str, Any] = {
        "agent": text(getattr(agent, "name", None)),
        "tool": text(getattr(tool, "name", None)),
        "call_id": optional_text(getattr(context, "tool_call_id", None)),
    }
    if name == "on_tool_end":
        output = given.get("result", given.get("output"))
        fields.update(output=encode(output), output_type=type_name(output))
        journal().emit("tool.ended", fields)
        return
    fields["tool_kind"] = facts.tool_kind(tool)
    if fields["call_id"] is not None:
        fields["call_id_source"] = "hook"
    arguments = getattr(context, "tool_arguments", None)
    if arguments is not None:
        fields["arguments"] = encode(arguments)
    fields["needs_approval"] = _needs_approval(tool, context, arguments, fields["call_id"])
    fields["enabled"] = _is_enabled(tool, context, agent)
    journal().emit("tool.started", fields)


def _needs_approval(tool: Any, context: Any, arguments: Any, call_id: Optional[str]) -> Optional[bool]:
    declared = getattr(tool, "needs_approval", None)
    if isinstance(declared, bool):
        return declared
    if not callable(declared) or not isinstance(arguments, str):
        return None
    try:
        parsed = json.loads(arguments) if arguments else {}
    except ValueError:
        return None
    return _ask(lambda: declared(context, parsed, call_id))


def _is_enabled(tool: Any, context: Any, agent: Any) -> Optional[bool]:
    declared = getattr(tool, "is_enabled", None)
    if isinstance(declared, bool):
        return declared
    return _ask(lambda: declared(context, agent)) if callable(declared) else None


def _ask(callback: Any) -> Optional[bool]:
    """What a callback of the script says, asked in a forked child; None where that cannot be told."""

    def child() -> Any:
        asyncio._set_running_loop(None)
        answer = callback()
        if inspect.isawaitable(answer):
            answer = asyncio.run(_wait(answer))
        return bool(answer)

    try:
        answer = snapshots.ask(child)
    except snapshots.UnavailableError:
        return None
    return answer if isinstance(answer, bool) else None


async def _wait(answer: Any) -> Any:
    return await asyncio.wait_for(_as_coroutine(answer), 5)


async def _as_coroutine(answer: Any) -> Any:
    return await answer


def install() -> List[str]:
    """Hook RunHooks, with every subclass."""
    lifecycle = sys.modules["agents.lifecycle"]
    base = getattr(lifecycle, "RunHooksBase", None) or lifecycle.RunHooks
    names = [name for name in ("on_tool_start", "on_tool_end") if name in vars(base)]
    patch_tree(base, {name: _hook(name) for name in names})
    return ["this release has no {}".format(n) for n in ("on_tool_start", "on_tool_end") if n not in names]
