"""Parts of the SDK that have no hooks of their own (realtime, voice, sandboxes, MCP's manager …): each call
across the border between them and the script (standard library only).

1. Told is what the script asks of the SDK, what the SDK asks of what the script put in the place of one of
   its classes (a model, a sandbox), and the outermost of what the SDK asks of itself: who called is known by
   the module of the calling frame. In realtime and voice, where little is asked, all of it is told.
2. Entry points are the public methods and functions that wait, or whose first word says that they start,
   steer or end work (docs/coverage.md).
3. Of bytes and audio, and of what is large, the length and digest are told.
4. A call is told when it begins and when it ends, so that one that never ends is seen.
"""

import contextvars
import functools
import hashlib
import inspect
import json
import sys
from types import FunctionType, ModuleType
from typing import Any, Dict, List, Optional, Tuple

from ... import importing
from ...events import During, guarded, journal
from ...patching import hide, is_coroutine_function, patch, patch_tree
from ...values import encode, text, type_name
from . import facts

_PARTS = {
    "agents.realtime": "realtime",
    "agents.voice": "voice",
    "agents.sandbox": "sandbox",
    "agents.extensions.sandbox": "sandbox",
    "agents.mcp.manager": "mcp-manager",
    "agents.responses_websocket_session": "websocket",
    "agents.extensions.experimental.codex": "codex",
}
"""Packages and modules, each with a word for the part."""

_VERBS = (
    *("abort", "add", "apply", "approve", "begin", "cancel", "cleanup", "close", "connect", "delete"),
    *("disconnect", "dispose", "end", "exec", "extract", "finish", "flush", "force", "interrupt", "kill"),
    *("read", "reject", "resume", "run", "send", "shutdown", "start", "stop", "stream", "update", "write"),
)
_ALL_OF = frozenset({"realtime", "voice"})
_INNER = ("_", "runtime")
"""How modules begin that are the SDK's own business: each run goes through those of sandboxes."""
_MOST = 8192
"""Letters of JSON of one value; what is larger is told by its class, size and digest."""
_LONG = 64
"""Letters of hexadecimal beyond which bytes are told by their digest."""

_inside: "contextvars.ContextVar[bool]" = contextvars.ContextVar("agentproof_in_surface", default=False)
"""Within a call of the script's that is told."""


def install() -> List[str]:
    """Hook what is loaded, and what will be."""
    for name, part in _PARTS.items():
        for loaded in [each for each in sys.modules.copy() if each == name or each.startswith(name + ".")]:
            _hook(sys.modules[loaded], part)
        importing.finder.when_below(name, functools.partial(_hook, part=part))
    return []


def _hook(module: Optional[ModuleType], part: str) -> None:
    if module is None or any(each.startswith(_INNER) for each in module.__name__.split(".")):
        return
    for name, found in list(vars(module).items()):
        if getattr(found, "__module__", None) != module.__name__ or name.startswith("_"):
            continue
        if isinstance(found, type):
            _hook_class(found, part)


def _hook_class(cls: type, part: str) -> None:
    telling = functools.partial(_telling, part=part)
    makers = {name: telling for base in cls.__mro__ for name in _entry_points(base)}
    if cls.__name__ == "RealtimeSession":
        _hook_events(cls)
    if not makers:
        return
    if _is_open(cls):
        patch_tree(cls, makers)
    else:
        for name, make in makers.items():
            patch(cls, name, make)


def _hook_events(cls: type) -> None:
    """What a realtime session tells its reader, in the order in which it does."""

    def waiting(original: Any) -> Any:
        async def put(self: Any, event: Any) -> Any:
            done = await original(self, event)
            _told_reader(event, done)
            return done

        return put

    def at_once(original: Any) -> Any:
        def put(self: Any, event: Any) -> Any:
            done = original(self, event)
            _told_reader(event, done)
            return done

        return put

    patch(cls, "_put_event", waiting)
    patch(cls, "_put_event_nowait", at_once)


@guarded("surfaces")
def _told_reader(event: Any, done: Any) -> None:
    # A closed session says False; what the model told is the call of `on_event` before.
    if journal().is_silent or done is False or event.type == "raw_model_event":
        return
    fields = {name: _told(value) for name, value in vars(event).items() if name not in ("info", "type")}
    journal().emit("surface.told", {"part": "realtime", "name": text(str(event.type), 100), "fields": fields})


def _is_open(cls: type) -> bool:
    """Whether scripts are meant to put a class of their own in its place."""
    return bool(getattr(cls, "__abstractmethods__", None))


@functools.lru_cache(maxsize=None)
def _entry_points(cls: type) -> Tuple[str, ...]:
    """Those that this class of the SDK's defines itself."""
    if not facts.is_sdk(cls.__module__):
        return ()
    return tuple(name for name, held in vars(cls).items() if _is_entry_point(name, held))


def _is_entry_point(name: str, held: Any) -> bool:
    plain = held.__func__ if isinstance(held, (staticmethod, classmethod)) else held
    if not isinstance(plain, FunctionType):
        return False
    if name.startswith("_"):
        return name == "__aiter__" and inspect.isasyncgenfunction(plain)
    # What a script must write to put a class of its own in the place of this one is asked of it.
    is_asked = getattr(plain, "__isabstractmethod__", False)
    waits = is_coroutine_function(plain) or inspect.isasyncgenfunction(plain)
    return waits or is_asked or name.partition("_")[0] in _VERBS


def _telling(original: Any, part: str) -> Any:
    """What stands in the place of an entry point: a function of the same kind."""
    if inspect.isasyncgenfunction(original):

        async def streaming(*args: Any, **kwargs: Any) -> Any:
            call = _called(original, part, args, kwargs, sys._getframe(1))
            count, digest = 0, hashlib.sha256()
            source = original(*args, **kwargs)
            try:
                async for each in source:
                    count += 1
                    digest.update(repr(_told(each)).encode("utf-8", "replace"))
                    yield each
            except GeneratorExit:
                await source.aclose()
                _ended(call, {"left_after": count})
                raise
            except BaseException as raised:
                _ended(call, {"error": facts.error(raised), "items": count})
                hide(raised)
                raise
            _ended(call, {"items": count, "digest": digest.hexdigest()[:16]})

        return streaming
    if is_coroutine_function(original):

        async def waiting(*args: Any, **kwargs: Any) -> Any:
            call = _called(original, part, args, kwargs, sys._getframe(1))
            try:
                with During(_inside, True) if call is not None else During(_inside, _inside.get()):
                    result = await original(*args, **kwargs)
            except BaseException as raised:
                _ended(call, {"error": facts.error(raised)})
                hide(raised)
                raise
            _ended(call, {"result": _told(result)} if result is not None else {})
            return result

        return waiting

    def plain(*args: Any, **kwargs: Any) -> Any:
        call = _called(original, part, args, kwargs, sys._getframe(1))
        try:
            with During(_inside, True) if call is not None else During(_inside, _inside.get()):
                result = original(*args, **kwargs)
        except BaseException as raised:
            _ended(call, {"error": facts.error(raised)})
            hide(raised)
            raise
        _ended(call, {"result": _told(result)} if result is not None else {})
        return result

    return plain


@guarded("surfaces")
def _called(
    original: Any, part: str, args: Tuple[Any, ...], kwargs: Dict[str, Any], frame: Any
) -> Optional[Dict[str, str]]:
    """Tell that it begins; None where it is no call across the border."""
    if journal().is_silent:
        return None
    ours = facts.is_sdk(original.__globals__.get("__name__"))
    by_sdk = _is_by_sdk(frame)
    if ours and _inside.get() and part not in _ALL_OF:
        return None
    call = journal().new_label("C")
    journal().emit(
        "surface.called",
        {
            "call": call,
            "part": part,
            "by_sdk": by_sdk,
            "name": text(original.__qualname__.replace("<locals>.", ""), 200),
            "arguments": _arguments(original, args, kwargs),
        },
    )
    return call


def _is_by_sdk(frame: Any) -> bool:
    """Whether the SDK asked: a task is asked for by whoever made it, inside of a call that is told or not."""
    name = frame.f_globals.get("__name__") if frame is not None else None
    if isinstance(name, str) and name.partition(".")[0] in ("asyncio", "anyio", "contextlib", "concurrent"):
        return _inside.get()
    return facts.is_sdk(name)


@guarded("surfaces")
def _ended(call: Optional[Dict[str, str]], fields: Dict[str, Any]) -> None:
    if call is not None:
        journal().emit("surface.ended", {"call": call, **fields})


def _arguments(original: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    try:
        given = dict(inspect.signature(original).bind(*args, **kwargs).arguments)
    except TypeError:  # it raises by itself
        given = {"args": list(args), **kwargs}
    for name in ("self", "cls"):
        given.pop(name, None)
    return {text(name, 100): _told(value) for name, value in given.items()}


def _told(value: Any) -> Any:
    """A value without its bytes."""
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tobytes"):
        return _digest(value.tobytes())
    if inspect.isawaitable(value) or hasattr(value, "__anext__"):
        return {"$opaque": type_name(value)}
    told = _shortened(encode(value))
    data = json.dumps(told, sort_keys=True).encode()
    if len(data) > _MOST:
        return "{}: {}".format(type_name(value), _digest(data))
    return told


def _shortened(told: Any) -> Any:
    if isinstance(told, list):
        return [_shortened(each) for each in told]
    if isinstance(told, dict):
        if set(told) == {"$bytes"} and len(told["$bytes"]) > _LONG:
            return _digest(bytes.fromhex(told["$bytes"]))
        return {name: _shortened(each) for name, each in told.items()}
    return told


def _digest(data: bytes) -> str:
    return "{} bytes, sha256 {}".format(len(data), hashlib.sha256(data).hexdigest()[:16])
