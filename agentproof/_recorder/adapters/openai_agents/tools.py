"""Tools: what kind they are, what they say of themselves, which call a native one answers.

Shell, local shell, apply_patch and computer tools have no call id in their hooks. Within one family
calls run strictly in order, so the id is that of the model's next call of the family; for a resumed
run, of the state's. Standard library only.
"""

import dis
import functools
import inspect
import types
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from ... import snapshots
from ...values import optional_text, text
from . import facts

_KINDS = {
    "FunctionTool": "function",
    "CustomTool": "custom",
    "ShellTool": "shell",
    "LocalShellTool": "local_shell",
    "ApplyPatchTool": "apply_patch",
    "ComputerTool": "computer",
}
_FAMILIES = {
    "custom_tool_call": "custom",
    "shell_call": "shell",
    "local_shell_call": "local_shell",
    "apply_patch_call": "apply_patch",
    "computer_call": "computer",
}
NATIVE = frozenset(_FAMILIES.values())
"""Kinds of tools whose hooks may lack the call id."""

_REPORTED = {
    "mcp_call",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
}


def kind_of(tool: Any) -> str:
    """What kind of tool this is; a function tool may stand for an agent or for an MCP server's tool."""
    kind = next((_KINDS[base.__name__] for base in type(tool).__mro__ if base.__name__ in _KINDS), "other")
    if kind != "function":
        return kind
    if getattr(tool, "_is_agent_tool", False) is True:
        return "agent"
    for function in reachable(getattr(tool, "on_invoke_tool", None)):
        if not facts.is_sdk(getattr(function, "__module__", None)):
            continue
        if "as_tool" in function.__qualname__:
            return "agent"
        if "mcp" in function.__qualname__.lower():
            return "mcp"
    return kind


def has_extractor(tool: Any) -> Optional[bool]:
    """For an agent as a tool: whether it has an output extractor; None where that is not told."""
    for function in reachable(getattr(tool, "on_invoke_tool", None)):
        names = getattr(function, "__code__", None)
        if names is None or "custom_output_extractor" not in names.co_freevars:
            continue
        cell = function.__closure__[names.co_freevars.index("custom_output_extractor")]
        try:
            return cell.cell_contents is not None
        except ValueError:
            return None
    return None


def reachable(function: Any, depth: int = 0, seen: Optional[Set[int]] = None) -> Iterator[Any]:
    """Functions that a callable reaches through closures, partials and wrappers."""
    seen = set() if seen is None else seen
    if depth > 6 or id(function) in seen:
        return
    seen.add(id(function))
    if isinstance(function, functools.partial):
        yield from reachable(function.func, depth + 1, seen)
        return
    if inspect.ismethod(function):
        function = function.__func__
    if not inspect.isfunction(function):
        held = getattr(function, "__dict__", None)
        for name in ("_invoke_tool_impl", "invoke", "__wrapped__", "_func"):
            inner = held.get(name) if isinstance(held, dict) else None
            if callable(inner):
                yield from reachable(inner, depth + 1, seen)
        return
    yield function
    for cell in function.__closure__ or ():
        try:
            inner = cell.cell_contents
        except ValueError:
            continue
        if inspect.isroutine(inner) or isinstance(inner, functools.partial) or _is_invoker(inner):
            yield from reachable(inner, depth + 1, seen)


def _is_invoker(found: Any) -> bool:
    return callable(found) and facts.is_sdk(type(found).__module__) and not isinstance(found, type)


def needs_approval(tool: Any, answer: Optional[bool]) -> Optional[bool]:
    """As the tool declares it, else what the SDK was told for this call. None: not known.

    A callback may count, draw lots or look at the time: it is not asked a second time.
    """
    declared = getattr(tool, "needs_approval", None)
    return declared if isinstance(declared, bool) else answer


def is_enabled(tool: Any, context: Any, agent: Any) -> Optional[bool]:
    """As the tool says just now. None: not known.

    A callback is asked, in a forked child, only where it is a function that reads and does nothing else:
    asked twice, another one may say different things, and either may be right.
    """
    declared: Any = getattr(tool, "is_enabled", None)
    if isinstance(declared, bool):
        return declared
    if not only_reads(declared):
        return None
    try:
        answer = snapshots.ask(lambda: bool(declared(context, agent)))
    except snapshots.UnavailableError:
        return None
    return answer if isinstance(answer, bool) else None


_READING = (
    *("LOAD_", "COMPARE_", "IS_OP", "CONTAINS_OP", "BINARY_SUBSCR"),
    *("UNARY_", "TO_BOOL", "JUMP_", "POP_"),
)
_MOVING = (
    *("STORE_FAST", "RETURN_", "RESUME", "COPY", "SWAP", "DUP_", "ROT_", "NOP", "CACHE", "PUSH_NULL"),
    *("EXTENDED_ARG", "GEN_START"),
)


def only_reads(function: Any) -> bool:
    """True for a function that calls nothing, keeps nothing and waits for nothing, by its own code."""
    code = getattr(function, "__code__", None) if inspect.isfunction(function) else None
    if not isinstance(code, types.CodeType) or code.co_flags & (
        inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
    ):
        return False
    names = {step.opname for step in dis.get_instructions(code)}
    return all(name.startswith(_READING + _MOVING) and name != "LOAD_BUILD_CLASS" for name in names)


class Calls:
    """The calls of one run that native tools have yet to answer, by family and in order."""

    def __init__(self) -> None:
        self._waiting: Dict[str, List[Any]] = {}
        self._started: Dict[str, List[str]] = {}
        self._names: Dict[str, str] = {}
        self._approvals: Dict[str, Optional[bool]] = {}

    def asked(self, items: Any) -> None:
        """The model answered with these items."""
        for each in items if isinstance(items, list) else ():
            family = _FAMILIES.get(str(facts.read(each, "type")))
            call, name = facts.call_id_of(each), optional_text(facts.read(each, "name")) or family
            if call is not None and name is not None:
                self._names[call] = name
            if family is not None:
                self._waiting.setdefault(family, []).append(each)

    def name_of(self, call_id: Any) -> Optional[str]:
        """The tool that a call of this run asks for."""
        return self._names.get(call_id)

    def approval_asked(self, call_id: Optional[str], answer: Optional[bool]) -> None:
        """The SDK has asked whether this call needs approval."""
        if call_id is not None:
            self._approvals[call_id] = answer

    def approval_of(self, call_id: Optional[str]) -> Optional[bool]:
        """What the SDK was last told for this call in this run; None if it did not ask or was not told."""
        return None if call_id is None else self._approvals.get(call_id)

    def resumed(self, state: Any) -> None:
        """The run goes on from this state's JSON."""
        answer = state.get("last_model_response") if isinstance(state, dict) else None
        done = {
            facts.call_id_of(facts.read(each, "raw_item"))
            for name in ("generated_items", "session_items")
            for each in (state.get(name) if isinstance(state, dict) else None) or ()
            if isinstance(each, dict) and each.get("type") == "tool_call_output_item"
        }
        output = answer.get("output") if isinstance(answer, dict) else None
        self.asked([each for each in output or () if facts.call_id_of(each) not in done])

    def start(self, family: str) -> Tuple[Optional[str], Any]:
        """The id and the arguments of the call that a tool of this family starts now."""
        waiting = self._waiting.get(family)
        if not waiting:
            return None, None
        call = waiting.pop(0)
        name = facts.call_id_of(call)
        if name is not None:
            self._started.setdefault(family, []).append(name)
        return name, facts.arguments_of(call)

    def end(self, family: str) -> Optional[str]:
        """The id of the call that a tool of this family ends now."""
        started = self._started.get(family)
        return started.pop(0) if started else None


_calls: Dict[str, Calls] = {}


def calls_of(run: Optional[Dict[str, str]]) -> Calls:
    """The pending native calls of a run."""
    return _calls.setdefault(run["$label"] if run else "", Calls())


def reported(item: Any) -> Optional[Dict[str, Any]]:
    """A tool that the provider says it ran, from an item of the model's answer."""
    kind = facts.read(item, "type")
    if kind not in _REPORTED:
        return None
    name = optional_text(facts.read(item, "name")) or text(kind).replace("_call", "")
    fields = {
        "tool": name,
        "server": optional_text(facts.read(item, "server_label")),
        "item_type": text(kind),
        "call_id": facts.call_id_of(item),
    }
    for field in ("arguments", "output", "error"):
        found = facts.read(item, field)
        fields[field] = None if found is None else facts.plain_item(found)
    return fields
