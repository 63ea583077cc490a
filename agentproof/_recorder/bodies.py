"""Functions of the reproduction that really ran: second evidence beside the SDK's hooks.

`sys.monitoring` (CPython 3.12 and newer) limited to the reproduction's own files; nothing is patched.
A function that another one of the reproduction calls is left out: what counts here is what the SDK,
the event loop or a thread called. Standard library only.
"""

import inspect
import os
import sys
import threading
from types import CodeType
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import interrupts
from .events import journal
from .interrupts import Held
from .plan import Plan
from .values import encode, failure, text

_TOOL = 4
_LIMIT = 200
"""Calls of one function that are told; a hot loop would fill the trace with nothing new."""

_TOLD_ELSEWHERE = frozenset(
    {"get_response", "stream_response", "add_items", "get_items", "pop_item", "clear_session"}
)
"""Methods of models and sessions: they have events of their own."""


def _ignore(started: Optional[str]) -> None:
    return


on_return: Callable[[Optional[str]], None] = _ignore
"""Called after a function of the reproduction returned, with the name of its first event."""


def _no_tool(code: CodeType, caller: Any) -> Optional[str]:
    return None


tool_of: Callable[[CodeType, Any], Optional[str]] = _no_tool
"""Gives the tool that a function is the body of, by its code and the frame that called it."""

_root = ""
_installed = (os.path.join(sys.prefix, ""), os.path.join(sys.base_prefix, ""))
"""What lies there is not the reproduction's, even when its root is above."""

_disable: Any = None
_frames: Dict[int, Tuple[Dict[str, str], Optional[str]]] = {}
_counts: Dict[CodeType, int] = {}
_gaps: List[Tuple[str, str]] = []


def install(plan: Plan) -> List[Tuple[str, str]]:
    """Begin to watch; give (what, why) where that cannot be done."""
    global _root, _disable
    _root = os.path.join(plan.root, "")
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return [("bodies", "CPython before 3.12 has no sys.monitoring")]
    if monitoring.get_tool(_TOOL) is not None:
        return [("bodies", "another tool uses sys.monitoring")]
    monitoring.use_tool_id(_TOOL, "agentproof")
    _disable = monitoring.DISABLE
    events = monitoring.events
    monitoring.register_callback(_TOOL, events.PY_START, _on_start)
    monitoring.register_callback(_TOOL, events.PY_RETURN, _on_return)
    monitoring.register_callback(_TOOL, events.PY_UNWIND, _on_unwind)
    monitoring.set_events(_TOOL, events.PY_START | events.PY_RETURN | events.PY_UNWIND)
    return []


def stop() -> List[Tuple[str, str]]:
    """Watch no longer; give what was left out."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None and monitoring.get_tool(_TOOL) == "agentproof":
        monitoring.set_events(_TOOL, 0)
        monitoring.free_tool_id(_TOOL)
    return _gaps


def is_watching() -> bool:
    """True while bodies are told."""
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and monitoring.get_tool(_TOOL) == "agentproof"


def is_watched(code: CodeType) -> bool:
    """True for a function whose bodies are told."""
    return bool(_root) and _is_ours(code)


def count_of(code: CodeType) -> int:
    """How often this function has begun."""
    return _counts.get(code, 0)


def _is_ours(code: CodeType) -> bool:
    return (
        code.co_filename.startswith(_root)
        and not code.co_filename.startswith(_installed)
        and not code.co_name.startswith("<")
        and not (code.co_name in _TOLD_ELSEWHERE and code.co_qualname != code.co_name)
    )


# The callbacks are called by the interpreter itself: `_getframe(1)` is the function that is watched.


def _on_start(code: CodeType, offset: int) -> Any:
    if not _is_ours(code):
        return _disable
    with Held():
        try:
            frame = sys._getframe(1)
            caller = frame.f_back
            if journal().is_silent or (caller is not None and _is_no_site(caller)):
                return None
            count = _counts[code] = _counts.get(code, 0) + 1
            if count > _LIMIT:
                if count == _LIMIT + 1:
                    _gaps.append(
                        ("bodies", "only the first {} calls of {} are told".format(_LIMIT, code.co_name))
                    )
                return None
            label = journal().new_label("F")
            fields: Dict[str, Any] = {
                "frame": label,
                "function": text(code.co_qualname),
                "arguments": _arguments(code, frame),
                "thread": threading.current_thread() is not threading.main_thread(),
                "tool": tool_of(code, caller),
            }
            _frames[id(frame)] = label, journal().emit("body.started", fields)
        except Exception as error:
            journal().failed("bodies", error)
    return None


def _is_no_site(caller: Any) -> bool:
    """True for a caller that is the reproduction itself, or a signal."""
    return caller.f_code.co_filename.startswith(_root) or interrupts.is_calling(caller)


def _arguments(code: CodeType, frame: Any) -> Dict[str, Any]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    held = frame.f_locals
    return {name: encode(held[name]) for name in code.co_varnames[:count] if name in held and name != "self"}


def _on_return(code: CodeType, offset: int, value: Any) -> Any:
    if not _is_ours(code):
        return _disable
    with Held():
        try:
            known = _frames.pop(id(sys._getframe(1)), None)
            if known is not None and not journal().is_silent:
                label, started = known
                fields = {"frame": label, "function": text(code.co_qualname), "value": encode(value)}
                journal().emit("body.returned", fields)
                on_return(started)
        except Exception as error:
            journal().failed("bodies", error)
    return None


def _on_unwind(code: CodeType, offset: int, error: BaseException) -> Any:
    if not _is_ours(code):
        return None  # this event cannot be switched off for one function
    with Held():
        try:
            known = _frames.pop(id(sys._getframe(1)), None)
            if known is not None and not journal().is_silent:
                fields = {"frame": known[0], "function": text(code.co_qualname), "error": failure(error)}
                journal().emit("body.raised", fields)
        except Exception as fault:
            journal().failed("bodies", fault)
    return None
