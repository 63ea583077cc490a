"""Tools and the functions behind them: whether what the hooks tell is what ran (standard library only).

A function tool made by the SDK's decorator, a tool with its own `on_invoke_tool`, and a shell's executor
each stand for one function. Where that function is one of the reproduction's, its body is second evidence:
each one that begins for the SDK carries the tool's name, and the end of a tool whose body never began says
so, unless its arguments are such as the SDK refuses before it calls anything.
"""

import functools
import inspect
import json
import weakref
from types import CodeType
from typing import Any, Dict, Iterator, Optional, Tuple

from ... import bodies, snapshots
from ...events import guarded
from ...values import optional_text
from . import facts, tools

_names: "weakref.WeakKeyDictionary[CodeType, Optional[str]]" = weakref.WeakKeyDictionary()
"""The tool that a function is the body of; None for a function behind tools of several names."""

_begun: Dict[Tuple[str, str, str], Tuple[CodeType, int]] = {}
"""By run, tool and call id: the body, and how often it had begun when the tool started."""

_HELD_BY = {
    "function": "on_invoke_tool",
    "custom": "on_invoke_tool",
    "shell": "executor",
    "local_shell": "executor",
}


@guarded("bodies")
def see(offered: Any) -> None:
    """Know the functions behind these tools."""
    for tool in offered if isinstance(offered, (list, tuple)) else ():
        _body(tool)


def _body(tool: Any) -> Optional[CodeType]:
    """The function behind a tool, where it is the script's own and behind no other tool."""
    kind = tools.kind_of(tool)
    code = _code_of(getattr(tool, _HELD_BY[kind], None)) if kind in _HELD_BY else None
    if code is None or not bodies.is_watched(code):
        return None
    name = optional_text(getattr(tool, "name", None)) or kind
    if _names.setdefault(code, name) != name:
        _names[code] = None
    return code if _names[code] is not None else None


def _code_of(held: Any) -> Optional[CodeType]:
    for cells in _made_by_decorator(held):
        return _plain(cells["the_func"])
    function = _plain_function(held)
    return None if facts.is_sdk(getattr(function, "__module__", None)) else _plain(function)


def _made_by_decorator(held: Any) -> Iterator[Dict[str, Any]]:
    """What the SDK's function that calls the script's closes over."""
    for function in tools.reachable(held):
        names = function.__code__.co_freevars
        if "the_func" in names and facts.is_sdk(function.__module__):
            yield {name: cell.cell_contents for name, cell in zip(names, function.__closure__, strict=True)}


def _plain(held: Any) -> Optional[CodeType]:
    found = getattr(_plain_function(held), "__code__", None)
    return found if isinstance(found, CodeType) else None


def _plain_function(held: Any) -> Any:
    while isinstance(held, functools.partial):
        held = held.func
    return held if inspect.isroutine(held) else vars(type(held)).get("__call__")


def tool_of(code: CodeType, caller: Any) -> Optional[str]:
    """The tool whose body begins now, called by the SDK itself or by the thread that it gave it to."""
    name = _names.get(code)
    if name is None or caller is None:
        return None
    by_sdk = facts.is_sdk(caller.f_globals.get("__name__"))
    return name if by_sdk or caller.f_globals.get("__name__") == "concurrent.futures.thread" else None


@guarded("bodies")
def started(run: Optional[Dict[str, str]], tool: Any, call_id: Optional[str]) -> None:
    """A tool starts."""
    code = _body(tool)
    if code is not None and bodies.is_watching():
        _begun[_key(run, tool, call_id)] = code, bodies.count_of(code)


@guarded("bodies")
def ran_nothing(
    run: Optional[Dict[str, str]], tool: Any, call_id: Optional[str], arguments: Any
) -> Optional[bool]:
    """A tool ended: True if its body never began although its arguments are good; else None."""
    code, count = _begun.pop(_key(run, tool, call_id), (None, 0))
    if code is None or bodies.count_of(code) != count:
        return None
    try:
        good = snapshots.ask(lambda: _are_good(tool, arguments))
    except snapshots.UnavailableError:
        return None
    return True if good is True else None


def _key(run: Optional[Dict[str, str]], tool: Any, call_id: Optional[str]) -> Tuple[str, str, str]:
    return run["$label"] if run else "", str(getattr(tool, "name", "")), call_id or ""


def _are_good(tool: Any, arguments: Any) -> bool:
    """Asked in a child: the models that validate arguments may hold the script's own code."""
    for cells in _made_by_decorator(getattr(tool, "on_invoke_tool", None)):
        given = json.loads(arguments) if isinstance(arguments, str) and arguments else {}
        cells["schema"].params_pydantic_model(**given)
    return True
