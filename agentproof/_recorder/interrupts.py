"""Signal handlers of the script's do not run in the middle of the recorder's work (standard library only).

What such a handler raises (a timeout, most often) is meant for the script: raised while the recorder is at
work, it would be taken for a fault of the recorder's, and might leave an event half written. So a handler
waits until the recorder is done, and then runs where the script itself goes on. Only handlers written in
Python and set by the script wait; what the operating system does by itself, it does at once.
"""

import _signal  # type: ignore[import-not-found,unused-ignore]  # `signal` without its enumerations
import threading
from typing import Any, List, Tuple

from .patching import hide, is_own, replaced

_depth = 0
"""How many parts of the recorder are at work in the main thread, where Python runs all handlers."""
_waiting: List[Tuple[Any, int, Any]] = []
"""Handlers that are to run, with the signal and what it interrupted of the script's."""


class _Handler:
    """Stands where the script's handler would, and calls it."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: Any) -> Any:
        while frame is not None and is_own(frame):
            frame = frame.f_back
        if _depth:
            _waiting.append((self.handler, number, frame))
            return None
        try:
            return self.handler(number, frame)
        except BaseException as raised:
            hide(raised)
            raise


class Held:
    """Lets handlers of the script's wait until the end of a block."""

    __slots__ = ("_counts",)

    def __enter__(self) -> None:
        global _depth
        self._counts = threading.get_ident() == threading.main_thread().ident
        if self._counts:
            _depth += 1

    def __exit__(self, *_: object) -> None:
        global _depth
        if self._counts:
            _depth -= 1
            if _waiting and not _depth:
                _deliver()


def _deliver() -> None:
    """Run what waits; what one of them raises does not keep the others from running."""
    try:
        while _waiting:
            handler, number, frame = _waiting.pop(0)
            handler(number, frame)
    finally:
        if _waiting:
            _deliver()


def is_calling(frame: Any) -> bool:
    """True for the frame of ours that calls a handler."""
    return frame.f_code in (_Handler.__call__.__code__, _deliver.__code__)


def restart() -> None:
    """In a process that was just forked by the script: no part of the recorder is at work."""
    global _depth
    _depth = 0
    _waiting.clear()


def install() -> None:
    """Put ours in the place of the functions by which `signal` sets and tells handlers."""
    originals = _signal.signal, _signal.getsignal

    def signal(number: Any, handler: Any, /) -> Any:
        try:
            return _own(originals[0](number, _Handler(handler) if callable(handler) else handler))
        except BaseException as raised:
            hide(raised)
            raise

    def getsignal(number: Any, /) -> Any:
        try:
            return _own(originals[1](number))
        except BaseException as raised:
            hide(raised)
            raise

    for name, new in (("signal", signal), ("getsignal", getsignal)):
        setattr(_signal, name, new)
        replaced.append((_signal, name, new))


def _own(handler: Any) -> Any:
    return handler.handler if type(handler) is _Handler else handler
