"""Lifecycle hooks: tool runs, handoffs, model and agent hooks, of the run and of agents.

The Runner supplies `RunHooks()` when the script passes none, so the patched base class is always
called. A hook that calls its `super()` is told once. Standard library only.
"""

import contextvars
import inspect
import sys
from typing import Any, Dict, List, Tuple

from ...events import During, guarded, journal
from ...events import run as current_run
from ...patching import hide, patch, patch_tree
from ...values import encode, optional_text, text, type_name
from . import facts, tool_bodies, tools

_inside: "contextvars.ContextVar[Tuple[Any, ...]]" = contextvars.ContextVar("agentproof_in_hook", default=())

known: Dict[str, List[str]] = {}
"""The hooks that this release has, by scope."""

gaps: List[Tuple[str, str]] = []
"""(what, why) for hooks of the script's whose calls cannot be told."""


def _hook(scope: str, name: str) -> Any:
    def make(original: Any) -> Any:
        if not inspect.iscoroutinefunction(original):
            return original

        async def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
            inside = _inside.get()
            key = (scope, name, id(self), *(id(each) for each in (*args, *kwargs.values())))
            if key not in inside and not journal().is_silent:
                _told(scope, name, args, kwargs)
            try:
                with During(_inside, (*inside, key)):
                    return await original(self, *args, **kwargs)
            except BaseException as raised:
                hide(raised)
                raise

        return hook

    return make


@guarded("hooks")
def _told(scope: str, name: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
    given = dict(zip(("context", "agent", "third", "fourth"), args, strict=False))
    for key, item in kwargs.items():
        given[_PLACES.get(key, key)] = item
    if name in ("on_tool_start", "on_tool_end") and scope == "run":
        _tool(name, given)
        return
    agent = given.get("agent")
    fields: Dict[str, Any] = {"scope": scope, "hook": name, "agent": _name(agent)}
    if name == "on_handoff":
        fields["other"] = _name(given.get("third"))
        if scope == "run":
            made = {"from_agent": text(fields["agent"]), "to_agent": text(fields["other"])}
            journal().emit("handoff.made", made)
    elif name in ("on_agent_end", "on_end"):
        fields["output"] = encode(given.get("third"))
    elif name in ("on_tool_start", "on_tool_end"):
        fields["tool"] = _name(given.get("third"))
        fields["call_id"] = optional_text(getattr(given.get("context"), "tool_call_id", None))
        if name == "on_tool_end":
            fields["output"] = encode(given.get("fourth"))
    if scope == "run":
        own = getattr(agent, "hooks", None)
        fields["agent_has_hooks"] = None if _is_unseen(own, "agent") else own is not None
    journal().emit("hook.called", fields)


_PLACES = {
    "context": "context",
    "agent": "agent",
    "from_agent": "agent",
    "to_agent": "third",
    "source": "third",
    "tool": "third",
    "output": "third",
    "response": "third",
    "system_prompt": "third",
    "result": "fourth",
    "input_items": "fourth",
}
"""Where a hook's parameters stand, when they are given by name."""


def _name(found: Any) -> Any:
    return optional_text(getattr(found, "name", None))


def _tool(name: str, given: Dict[str, Any]) -> None:
    context, agent, tool = given["context"], given["agent"], given["third"]
    kind = tools.kind_of(tool)
    call_id = optional_text(getattr(context, "tool_call_id", None))
    pending = tools.calls_of(current_run.get())
    fields: Dict[str, Any] = {"agent": text(_name(agent)), "tool": text(_name(tool)), "call_id": call_id}
    if name == "on_tool_end":
        ended = pending.end(kind) if kind in tools.NATIVE else None
        fields["call_id"] = call_id or ended
        output = given.get("fourth")
        fields.update(output=encode(output), output_type=type_name(output))
        arguments = getattr(context, "tool_arguments", None)
        if tool_bodies.ran_nothing(current_run.get(), tool, fields["call_id"], arguments):
            fields["without_body"] = True
        journal().emit("tool.ended", fields)
        return
    matched, action = pending.start(kind) if kind in tools.NATIVE else (None, None)
    arguments = getattr(context, "tool_arguments", None)
    fields["tool_kind"] = kind
    fields["call_id"] = call_id or matched
    if fields["call_id"] is not None:
        fields["call_id_source"] = "matched" if call_id is None else "hook"
    fields["arguments"] = action if arguments is None else encode(arguments)
    fields["needs_approval"] = tools.needs_approval(tool, pending.approval_of(fields["call_id"]))
    fields["enabled"] = tools.is_enabled(tool, context, agent)
    if kind == "agent":
        fields["extractor"] = tools.has_extractor(tool)
    tool_bodies.started(current_run.get(), tool, fields["call_id"])
    journal().emit("tool.started", fields)


def see(hooks: Any) -> None:
    """Hook the class of an object that is passed as hooks without being derived from the SDK's."""
    if hooks is None:
        return
    if _is_unseen(hooks, "run"):
        gap = ("hooks", "the script's RunHooks are a mock, or have hooks set on the object itself")
        if gap not in gaps:
            gaps.append(gap)
    if isinstance(hooks, _base("run")):
        return
    for cls in type(hooks).__mro__:
        for name in known["run"]:
            if name in vars(cls) and cls.__module__ != "unittest.mock":
                patch(cls, name, _hook("run", name))


def _is_unseen(hooks: Any, scope: str) -> bool:
    """True where what is called is not the method of the object's class."""
    held = getattr(hooks, "__dict__", None) or {}
    return type(hooks).__module__ == "unittest.mock" or any(name in held for name in known[scope])


def _base(scope: str) -> Any:
    lifecycle = sys.modules[facts.PACKAGE + ".lifecycle"]
    stem = {"run": "RunHooks", "agent": "AgentHooks"}[scope]
    # Since 0.2 `RunHooks` is an alias of a generic base class.
    return getattr(lifecycle, stem + "Base", None) or getattr(lifecycle, stem)


def install() -> List[str]:
    """Hook RunHooks and AgentHooks, with every subclass."""
    for scope in ("run", "agent"):
        base = _base(scope)
        known[scope] = sorted(name for name in vars(base) if name.startswith("on_"))
        patch_tree(base, {name: _hook(scope, name) for name in known[scope]})
    wanted = ("on_tool_start", "on_tool_end", "on_handoff", "on_llm_start", "on_llm_end")
    return ["this release has no {}".format(name) for name in wanted if name not in known["run"]]
