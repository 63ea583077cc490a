"""Coroutines that were dropped and never awaited, where that happens (standard library only).

1. Python warns by a function of `warnings`, which it calls for a coroutine that goes away. That function
   stays what it is; only the `warn` that it finds is one that looks at the code which was interrupted first.
2. Told is what goes away by itself: not where the garbage collector comes across it, and not where somebody
   calls that function with a coroutine that is still held.
3. The code is the SDK's only where the SDK's file holds it, whatever name it has.
"""

import gc
import os
import sys
import types
import warnings
from typing import Any, Dict, List, Optional, Tuple

from . import genuine
from .events import journal, watching
from .plan import Plan
from .values import class_name, text

_NAME = "_warn_unawaited_coroutine"

_references: Optional[int] = None
"""How many references a coroutine has that goes away by itself; measured once."""
_collecting = False
_root = ""


def install(plan: Plan) -> List[Tuple[str, str]]:
    """Begin to note them; give (what, why) where that cannot be done."""
    global _root
    _root = os.path.join(plan.root, "")
    original = getattr(warnings, _NAME, None)
    if not isinstance(original, types.FunctionType) or "warn" not in original.__code__.co_names:
        return [("warnings", "this Python warns of coroutines in another way")]
    scope: Dict[str, Any] = {**original.__globals__, "warn": _calibrate}
    instead = types.FunctionType(original.__code__, scope, original.__name__)
    instead.__module__, instead.__qualname__, instead.__doc__ = (
        original.__module__,
        original.__qualname__,
        original.__doc__,
    )
    setattr(warnings, _NAME, instead)
    _dropped()
    scope["warn"] = _warn
    if _references is None:
        setattr(warnings, _NAME, original)
        return [("warnings", "this Python warns of coroutines in another way")]
    gc.callbacks.append(_collects)
    return []


async def _nothing() -> None:
    return


def _dropped() -> None:
    _nothing()  # type: ignore[unused-coroutine]  # this is what is measured


def _calibrate(message: Any, *, source: Any, **_: Any) -> None:
    global _references
    _references = sys.getrefcount(source)


def _collects(phase: str, _: Dict[str, int]) -> None:
    global _collecting
    _collecting = phase == "start"


def _warn(message: Any, *, source: Any, **options: Any) -> None:
    references = sys.getrefcount(source)
    with watching("warnings"):
        if not _collecting and references == _references and isinstance(source, types.CoroutineType):
            frame = sys._getframe(2)
            if frame is not None and not journal().is_silent:
                _tell(source, frame)
    # One frame more stands between the warning and the code that it is about.
    options["stacklevel"] = options.get("stacklevel", 1) + 1
    warnings.warn(message, source=source, **options)


def _tell(coroutine: Any, frame: Any) -> None:
    code = frame.f_code
    raised_in = "other"
    if genuine.is_sdk_file(code.co_filename):
        raised_in = "sdk" if genuine.is_genuine(code) else "own"
    elif code.co_filename.startswith(_root) and not genuine.is_installed(code.co_filename):
        raised_in = "own"
    name = frame.f_globals.get("__name__")
    fields = {
        "category": class_name(RuntimeWarning),
        "file": text(code.co_filename),
        "line": frame.f_lineno,
        "module": text(name) if isinstance(name, str) else None,
        "raised_in": raised_in,
        "coroutine": text(coroutine.__qualname__),
    }
    journal().emit("warning.raised", fields)
