"""What `from agentproof import probe` gives inside of a recording (standard library only)."""

import os
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Optional

from .events import guarded, journal
from .values import encode, text

_root = ""


def make(root: str) -> Dict[str, ModuleType]:
    """The modules `agentproof` and `agentproof.probe`, as the script sees them."""
    global _root
    _root = os.path.join(root, "")
    package = ModuleType("agentproof", "A stand-in inside of a recording: only `probe` is here.")
    module = ModuleType("agentproof.probe", __doc__)
    package.__path__ = []
    module.check = check  # type: ignore[attr-defined]
    module.observe = observe  # type: ignore[attr-defined]
    package.probe = module  # type: ignore[attr-defined]
    return {"agentproof": package, "agentproof.probe": module}


def check(label: str, condition: Any) -> bool:
    """State that `condition` holds; gives it back as a bool."""
    if not isinstance(label, str):
        raise TypeError("probe.check: the label is a text")
    passed = bool(condition)
    _emit("probe.checked", label, lambda: {"passed": passed}, sys._getframe(1))
    return passed


def observe(label: str, value: Any) -> Any:
    """Write down a value under a label; gives it back."""
    if not isinstance(label, str):
        raise TypeError("probe.observe: the label is a text")
    _emit("probe.observed", label, lambda: {"value": encode(value)}, sys._getframe(1))
    return value


@guarded("probe")
def _emit(kind: str, label: str, fields: Callable[[], Dict[str, Any]], frame: Any) -> None:
    journal().emit(kind, {"label": text(label), **fields(), "frame": _place(frame)})


def _place(frame: Any) -> Optional[Dict[str, Any]]:
    code = frame.f_code
    if not code.co_filename.startswith(_root):
        return None
    name = getattr(code, "co_qualname", code.co_name)
    return {"file": code.co_filename[len(_root) :], "line": frame.f_lineno, "function": name}
