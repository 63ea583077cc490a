"""What a model adapter sends to its provider and what comes back (standard library only).

1. The seam is `send` of the clients of httpx and httpx2, and the reading of their responses: every adapter
   that the SDK ships goes through it (openai's client, LiteLLM, any-llm), whatever the transport below. What
   speaks over a websocket does not.
2. Only what happens inside of a call of the model is told, at the end of that call and in the order of
   sending: when a stream is let go of by its reader is a matter of time.
3. No header is told, and nothing of the query: that is where keys go. Of a host only its name is, no port.
4. A body that is no JSON is told as text, and what is too large as its size and digest.
"""

import contextlib
import contextvars
import hashlib
import json
import sys
import weakref
from types import ModuleType
from typing import Any, AsyncIterator, Dict, Iterator, List, Optional

from ... import importing
from ...events import During, guarded, journal
from ...patching import hide, patch, patch_tree
from ...values import encode, optional_text, text
from . import facts

_CLIENTS = ("httpx", "httpx2")
_MOST_BYTES = 256 * 1024
"""Of a body. Only the beginning of a longer stream is told."""
_MOST_EVENTS = 1000
"""Of a stream."""
_MOST_IN_ALL = 8 * 1024 * 1024
"""Of all bodies of a process."""
_told = 0

calling: "contextvars.ContextVar[Optional[Dict[str, str]]]" = contextvars.ContextVar(
    "agentproof_calling", default=None
)
"""The call of the model that is going on."""

_sending: "contextvars.ContextVar[bool]" = contextvars.ContextVar("agentproof_sending", default=False)


class _Exchange:
    """One request, and what has come back so far."""

    def __init__(self, call: Dict[str, str], request: Any) -> None:
        url = request.url
        self.call = call
        self.method = text(request.method)
        self.host = optional_text(url.host)
        self.path = text(url.path)
        self.sent = _held(request)
        self.status: Optional[int] = None
        self.kind = ""
        self.chunks: List[bytes] = []
        self.size = 0
        self.error: Optional[Dict[str, Any]] = None

    def got(self, chunk: Any) -> None:
        """A part of the body has come."""
        if isinstance(chunk, bytes):
            if self.size <= _MOST_BYTES:
                self.chunks.append(chunk)
            self.size += len(chunk)

    def fields(self) -> Dict[str, Any]:
        """The event's."""
        told: Dict[str, Any] = {
            "call": self.call,
            "method": self.method,
            "host": self.host,
            "path": self.path,
            "status": self.status,
            "error": self.error,
        }
        if self.sent is not None:
            told.update(_body("request", self.sent, len(self.sent)))
        received = b"".join(self.chunks)
        if self.kind.startswith("text/event-stream"):
            told.update(_stream(received, self.size))
        elif received:
            told.update(_body("response", received, self.size))
        return told


def _held(holder: Any) -> Optional[bytes]:
    """The body of a request or response that has been read; nothing is read for it."""
    found = vars(holder).get("_content")
    return found if isinstance(found, bytes) else None


def _body(name: str, data: bytes, size: int) -> Dict[str, Any]:
    if size > _MOST_BYTES or not _is_left(size):
        told: Dict[str, Any] = {name + "_size": size}
        if len(data) == size:
            told[name + "_digest"] = hashlib.sha256(data).hexdigest()
        return told
    return {name: _value(data)} if data else {}


def _is_left(size: int) -> bool:
    """Whether so much more may be told."""
    global _told
    _told += size
    return _told <= _MOST_IN_ALL


def _value(data: bytes) -> Any:
    try:
        return encode(json.loads(data))
    except (ValueError, RecursionError):
        return text(data.decode("utf-8", "replace"))


def _stream(data: bytes, size: int) -> Dict[str, Any]:
    """The data of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), up to
    the `[DONE]` that OpenAI's API ends a stream with."""
    found: List[Any] = []
    if not _is_left(len(data)):
        return {"events": found, "cut": True}
    for each in _events(data):
        if len(found) == _MOST_EVENTS:
            return {"events": found, "cut": True}
        found.append(_value(each))
    return {"events": found, "cut": True if size > len(data) or size > _MOST_BYTES else None}


def _events(data: bytes) -> Iterator[bytes]:
    lines: List[bytes] = []
    for line in data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
        if line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" "))
        elif not line and lines:
            whole = b"\n".join(lines)
            if whole == b"[DONE]":
                return
            yield whole
            lines = []


_open: Dict[str, List[_Exchange]] = {}
"""By call of the model: its exchanges, in the order of sending."""

_read: "weakref.WeakKeyDictionary[Any, _Exchange]" = weakref.WeakKeyDictionary()
"""By response whose body is yet to be read."""


@guarded("models")
def _begun(request: Any) -> Optional[_Exchange]:
    call = calling.get()
    if call is None or _sending.get() or journal().is_silent:
        return None
    found = _Exchange(call, request)
    _open.setdefault(call["$label"], []).append(found)
    return found


@guarded("models")
def _answered(found: _Exchange, response: Any) -> None:
    found.status = response.status_code
    found.kind = text(response.headers.get("content-type", ""))
    data = _held(response)
    if data is None:
        _read[response] = found
    else:
        found.got(data)


@guarded("models")
def _failed(found: _Exchange, error: BaseException) -> None:
    found.error = facts.error(error)


def _async_send(original: Any) -> Any:
    async def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        found = _begun(request)
        try:
            with During(_sending, True) if found is not None else contextlib.nullcontext():
                response = await original(self, request, *args, **kwargs)
        except BaseException as raised:
            if found is not None:
                _failed(found, raised)
            hide(raised)
            raise
        if found is not None:
            _answered(found, response)
        return response

    return send


def _send(original: Any) -> Any:
    def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        found = _begun(request)
        try:
            with During(_sending, True) if found is not None else contextlib.nullcontext():
                response = original(self, request, *args, **kwargs)
        except BaseException as raised:
            if found is not None:
                _failed(found, raised)
            hide(raised)
            raise
        if found is not None:
            _answered(found, response)
        return response

    return send


def _async_bytes(original: Any) -> Any:
    def aiter_bytes(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = _read.pop(self, None)
        given = original(self, *args, **kwargs)
        return given if found is None else _passed(given, found)

    return aiter_bytes


async def _passed(given: Any, found: _Exchange) -> AsyncIterator[Any]:
    try:
        async for chunk in given:
            found.got(chunk)
            yield chunk
    except GeneratorExit:
        await given.aclose()
        raise
    except BaseException as raised:
        _failed(found, raised)
        hide(raised)
        raise


def _bytes(original: Any) -> Any:
    def iter_bytes(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = _read.pop(self, None)
        given = original(self, *args, **kwargs)
        return given if found is None else _passed_on(given, found)

    return iter_bytes


def _passed_on(given: Any, found: _Exchange) -> Iterator[Any]:
    try:
        for chunk in given:
            found.got(chunk)
            yield chunk
    except GeneratorExit:
        given.close()
        raise
    except BaseException as raised:
        _failed(found, raised)
        hide(raised)
        raise


_made: Dict[str, List[Dict[str, Any]]] = {}
"""By call of the model: what its adapter gave the SDK, told beside what came over the wire."""
_PLACES = ("output_index", "content_index", "summary_index", "item_id")


def made(call: Optional[Dict[str, str]], event: Any, kind: str) -> None:
    """The adapter gave this event to the SDK."""
    if call is None or call["$label"] not in _open:
        return
    found = {name: getattr(event, name, None) for name in _PLACES}
    places = {name: encode(place) for name, place in found.items() if place is not None}
    item = getattr(event, "item", None)
    if item is not None:
        places["item"] = encode(getattr(item, "type", None))
        places.setdefault("item_id", encode(getattr(item, "id", None)))
    one = {"type": kind, **places}
    seen = _made.setdefault(call["$label"], [])
    if seen and {**seen[-1], "times": 1} == {**one, "times": 1}:
        seen[-1]["times"] = seen[-1].get("times", 1) + 1
    elif len(seen) <= _MOST_EVENTS:
        seen.append(one)


@guarded("models")
def finish(call: Optional[Dict[str, str]]) -> None:
    """Tell the exchanges of a call of the model that is over."""
    for found in _open.pop(call["$label"], ()) if call is not None else ():
        journal().emit("model.exchanged", found.fields())
    seen = _made.pop(call["$label"], None) if call is not None else None
    if seen is not None:
        is_cut = len(seen) > _MOST_EVENTS
        fields = {"call": call, "events": seen[:_MOST_EVENTS], "cut": True if is_cut else None}
        journal().emit("model.streamed", fields)


@guarded("models")
def finish_all() -> None:
    """Tell those of calls that nobody saw the end of."""
    for label in list(_open):
        finish({"$label": label})


def _hook(module: ModuleType) -> None:
    patch_tree(module.AsyncClient, {"send": _async_send})
    patch_tree(module.Client, {"send": _send})
    patch(module.Response, "aiter_bytes", _async_bytes)
    patch(module.Response, "iter_bytes", _bytes)


def install() -> None:
    """Hook the clients, now or once something imports them."""
    for name in _CLIENTS:
        module = sys.modules.get(name)
        if module is None:
            importing.finder.when_loaded(name, _hook)
        else:
            _hook(module)
