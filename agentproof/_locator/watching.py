"""How lines are seen: `sys.monitoring`, or a trace function before Python 3.12 (standard library only).

1. With `sys.monitoring`, a free tool id is taken; a line reports once, unless objects are followed.
2. Before 3.12 a trace function is set, unless somebody has set one: a script's own wins, at once or later,
   and what was missed is said.
"""

import sys
import threading
from typing import Any, Optional

_monitoring: Any = getattr(sys, "monitoring", None)
_tool: Optional[int] = None
_probe: Any = None
_every = False
_tracer: Any = None


def start(probe: Any) -> None:
    """Begin."""
    global _probe, _every
    _probe = probe
    _every = probe.sharing.follows
    if _monitoring is None:
        _start_tracing(probe)
    else:
        _start_monitoring(probe)


def stop() -> None:
    """Report nothing any more."""
    if _tool is not None:
        _monitoring.set_events(_tool, 0)
        _monitoring.free_tool_id(_tool)
    elif _tracer is not None and sys.gettrace() is _tracer:
        sys.settrace(None)


def again() -> None:
    """Let every line report anew."""
    if _tool is not None:
        _monitoring.restart_events()


def finish(probe: Any) -> None:
    """Say what was missed."""
    if _tracer is not None and sys.gettrace() is not _tracer:
        probe.gaps.add("the script set a trace function of its own, so lines after that are missing")


def _start_monitoring(probe: Any) -> None:
    global _tool
    events = _monitoring.events
    for tool in (3, 4, 2, 1, 0, 5):
        if _monitoring.get_tool(tool) is None:
            _monitoring.use_tool_id(tool, "agentproof explain")
            _tool = tool
            break
    else:
        probe.gaps.add("every tool id of sys.monitoring is taken by the script")
        return
    disable = _monitoring.DISABLE
    hands = probe.sharing.asks
    seen = set()

    def entered(code: Any, _offset: int) -> Any:
        follow = probe.sharing.constructors.get(code)
        if follow is not None and not probe.is_quiet:
            _guarded(probe.sharing.made, sys._getframe(1), follow)
        if not probe.is_sdk(code):
            return None if follow is not None else disable
        if code not in seen:
            seen.add(code)
            more = events.PY_RETURN | events.PY_YIELD if _every else events.PY_RETURN if hands else 0
            _monitoring.set_local_events(_tool, code, events.LINE | more)
        if not probe.is_quiet:
            if _every and not _is_sdk_frame(probe, sys._getframe(1).f_back):
                _guarded(probe.sharing.look_outside)
            _guarded(probe.entered, code)
        return None

    def line(code: Any, number: int) -> Any:
        if probe.is_quiet:
            return None
        _guarded(probe.line, code, number)
        if not _every:
            return disable
        _guarded(probe.sharing.at_line, sys._getframe(1), number)
        return None

    def returned(code: Any, _offset: int, value: Any) -> Any:
        if not probe.is_quiet:
            if _every:
                _guarded(probe.sharing.look)
            else:
                _guarded(probe.sharing.returned, sys._getframe(1), value)
        return None

    _monitoring.register_callback(_tool, events.PY_START, entered)
    _monitoring.register_callback(_tool, events.PY_RESUME, entered)
    _monitoring.register_callback(_tool, events.LINE, line)
    _monitoring.register_callback(_tool, events.PY_RETURN, returned)
    _monitoring.register_callback(_tool, events.PY_YIELD, returned)
    _monitoring.set_events(_tool, events.PY_START | events.PY_RESUME)


def _start_tracing(probe: Any) -> None:
    global _tracer
    if sys.gettrace() is not None or threading._trace_hook is not None:  # type: ignore[attr-defined]  # no getter before 3.10
        probe.gaps.add("the script has a trace function of its own, so no lines were seen")
        return

    hands = probe.sharing.asks

    def local(frame: Any, event: str, argument: Any) -> Any:
        if not probe.is_quiet:
            if event == "line":
                _guarded(probe.line, frame.f_code, frame.f_lineno)
                if _every:
                    _guarded(probe.sharing.at_line, frame, frame.f_lineno)
            elif event == "return" and _every:
                _guarded(probe.sharing.look)
            elif event == "return" and hands:
                _guarded(probe.sharing.returned, frame, argument)
        return local

    def trace(frame: Any, event: str, _argument: Any) -> Any:
        code = frame.f_code
        follow = probe.sharing.constructors.get(code)
        if follow is not None and not probe.is_quiet:
            _guarded(probe.sharing.made, frame, follow)
        if event != "call" or not probe.is_sdk(code):
            return None
        if not probe.is_quiet:
            if _every and not _is_sdk_frame(probe, frame.f_back):
                _guarded(probe.sharing.look_outside)
            _guarded(probe.entered, code)
        return local

    _tracer = trace
    threading.settrace(trace)
    sys.settrace(trace)


def _is_sdk_frame(probe: Any, frame: Any) -> bool:
    return frame is not None and probe.is_sdk(frame.f_code)


def _guarded(function: Any, *arguments: Any) -> None:
    try:
        function(*arguments)
    except Exception as error:
        _probe.failed(error)
