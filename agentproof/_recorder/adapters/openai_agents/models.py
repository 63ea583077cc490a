"""Calls of the model: the full request, the answer, the stream (standard library only).

1. `Model.get_response` and `stream_response` are patched on the base class and on every subclass. A
   model that asks another one is one call.
2. A stream is passed on item by item, with its end, its failure and its early close.
3. In a run that the `streamed` mode rerouted, a model that cannot stream is fed from its
   `get_response`; some bugs show only with the items' own events, so both kinds are made.
"""

import contextlib
import contextvars
import inspect
import json
import sys
from typing import Any, AsyncIterator, Dict, List, Optional, Set, Tuple

from ...events import During, guarded, journal, watching
from ...events import run as current_run
from ...patching import hide, is_coroutine_function, patch_tree
from ...values import encode, optional_text, text, type_name
from . import exchanges, facts, offers, tool_bodies, tools

_PARAMETERS = (
    "system_instructions",
    "input",
    "model_settings",
    "tools",
    "output_schema",
    "handoffs",
    "tracing",
)

_inside: "contextvars.ContextVar[bool]" = contextvars.ContextVar("agentproof_in_model", default=False)

rerouted: "contextvars.ContextVar[bool]" = contextvars.ContextVar("agentproof_rerouted", default=False)
"""True inside of a run that the `streamed` mode turned from plain to streamed."""


@guarded("models")
def _request(model: Any, streamed: bool, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """What is asked, as it is now: the SDK goes on changing the lists that it passes."""
    given = dict(zip(_PARAMETERS, args, strict=False))
    given.update(kwargs)
    schema = given.get("output_schema")
    tool_bodies.see(given.get("tools"))
    fields: Dict[str, Any] = {
        "call": journal().new_label("M"),
        "model": type_name(model),
        "streamed": streamed,
        "instructions": encode(given.get("system_instructions")),
        "input": facts.plain_item(given.get("input")),
        "tools": facts.names_of(given.get("tools")),
        "handoffs": facts.names_of(given.get("handoffs")),
        "handoff_filters": _filters(given.get("handoffs")),
        "settings": facts.settings(given.get("model_settings")),
        "output_type": None if schema is None else _schema_name(schema),
    }
    fields["offer"] = offers.of(given.get("tools"), given.get("handoffs"), schema)
    for name in ("previous_response_id", "conversation_id"):
        fields[name] = optional_text(given.get(name))
    if given.get("prompt") is not None:
        fields["prompt"] = encode(given["prompt"])
    return fields


@guarded("models")
def _called(fields: Optional[Dict[str, Any]]) -> Optional[Dict[str, str]]:
    if fields is None:
        return None
    offer = fields.pop("offer", None)
    if offer:
        _offered(offer)
    journal().emit("model.called", fields)
    call: Dict[str, str] = fields["call"]
    return call


_told: Set[Tuple[str, str]] = set()
"""What was offered, by run: told once, since each call of a run offers the same again."""


def _offered(offer: Dict[str, Any]) -> None:
    of_run = current_run.get()
    key = of_run["$label"] if of_run else "", json.dumps(offer, sort_keys=True)
    if key not in _told:
        _told.add(key)
        journal().emit("model.offered", offer)


def _filters(handoffs: Any) -> List[str]:
    """The handoffs that change the history which the next agent gets."""
    found = [each for each in handoffs if _is_filtering(each)] if isinstance(handoffs, (list, tuple)) else []
    return facts.names_of(found)


def _is_filtering(handoff: Any) -> bool:
    return getattr(handoff, "input_filter", None) is not None or bool(
        getattr(handoff, "nest_handoff_history", None)
    )


def _schema_name(schema: Any) -> str:
    output_type = getattr(schema, "output_type", None)
    return text(getattr(output_type, "__name__", type(schema).__name__))


@guarded("models")
def _answered(call: Optional[Dict[str, str]], response: Any, stream: Optional[List[str]] = None) -> None:
    if call is None:
        return
    exchanges.finish(call)
    output = getattr(response, "output", None)
    tools.calls_of(current_run.get()).asked(output)
    journal().emit(
        "model.answered",
        {
            "call": call,
            "output": [facts.plain_item(each) for each in output]
            if isinstance(output, list)
            else encode(output),
            "usage": facts.usage(getattr(response, "usage", None)),
            "response_id": encode(getattr(response, "response_id", getattr(response, "id", None))),
            "stream": stream,
        },
    )

    for each in output if isinstance(output, list) else ():
        told = tools.reported(each)
        if told is not None:
            journal().emit("tool.reported", told)


@guarded("models")
def _failed(call: Optional[Dict[str, str]], error: BaseException, stream: Optional[List[str]] = None) -> None:
    if call is not None:
        exchanges.finish(call)
        journal().emit("model.failed", {"call": call, "error": facts.error(error), "stream": stream})


def _get_response(original: Any) -> Any:
    async def get_response(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _inside.get() or journal().is_silent:
            return await original(self, *args, **kwargs)
        call = _called(_request(self, False, args, kwargs))
        try:
            with During(_inside, True), During(exchanges.calling, call):
                response = await original(self, *args, **kwargs)
        except BaseException as raised:
            _failed(call, raised)
            hide(raised)
            raise
        _answered(call, response)
        return response

    return get_response


def _stream_response(original: Any) -> Any:
    def stream_response(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _inside.get() or journal().is_silent:
            return original(self, *args, **kwargs)
        request = _request(self, True, args, kwargs)
        if rerouted.get():
            return _rerouted(original, self, request, args, kwargs)
        given = original(self, *args, **kwargs)
        return _watched(given, request) if hasattr(given, "__aiter__") else given

    return stream_response


async def _rerouted(
    original: Any,
    model: Any,
    request: Optional[Dict[str, Any]],
    args: Tuple[Any, ...],
    kwargs: Dict[str, Any],
) -> AsyncIterator[Any]:
    """The model's own stream; or, where it has none, one made from its plain answer."""
    first: List[Any] = []
    try:
        with During(_inside, True), During(exchanges.calling, _label(request)):
            given = original(model, *args, **kwargs)
            if inspect.isawaitable(given):
                given = await given
            source = _iterator(given)
            with contextlib.suppress(StopAsyncIteration):
                first.append(await source.__anext__())
    except NotImplementedError:
        source = _fed(model, args, kwargs)
        if request is not None:
            request["synthetic"] = True
    except BaseException as raised:
        _failed(_called(request), raised, [])
        hide(raised)
        raise
    stream = _watched(source, request, first)
    try:
        async for event in stream:
            yield event
    finally:
        await _close(stream)


def _label(request: Optional[Dict[str, Any]]) -> Optional[Dict[str, str]]:
    return None if request is None else request["call"]


def _iterator(given: Any) -> Any:
    if not hasattr(given, "__aiter__"):
        raise NotImplementedError
    return given.__aiter__()


async def _fed(model: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> AsyncIterator[Any]:
    for event in _events_of(await model.get_response(*args, **kwargs)):
        yield event


async def _watched(
    given: Any, request: Optional[Dict[str, Any]], first: Optional[List[Any]] = None
) -> AsyncIterator[Any]:
    """Pass a stream on, and tell what came."""
    call = _called(request)
    kinds: List[str] = []
    response = None
    source = given.__aiter__()
    waiting = list(first or ())
    try:
        while True:
            try:
                with During(_inside, True), During(exchanges.calling, call):
                    event = waiting.pop() if waiting else await source.__anext__()
            except StopAsyncIteration:
                break
            with watching("models"):
                kinds.append(text(getattr(event, "type", type(event).__name__)))
                exchanges.made(call, event, kinds[-1])
                if kinds[-1] in ("response.completed", "response.incomplete", "response.failed"):
                    response = event.response
            yield event
    except GeneratorExit:
        await _close(source)
        _left(call, kinds, response)
        raise
    except BaseException as raised:
        _failed(call, raised, kinds)
        hide(raised)
        raise
    await _close(source)
    _answered(call, response, kinds)


@guarded("models")
def _left(call: Optional[Dict[str, str]], kinds: List[str], response: Any) -> None:
    """The SDK stops listening once the response is complete; before that, it gave up."""
    if response is not None:
        _answered(call, response, kinds)
    elif call is not None:
        exchanges.finish(call)
        journal().emit("model.left", {"call": call, "stream": kinds})


async def _close(source: Any) -> None:
    close = getattr(source, "aclose", None)
    if callable(close):
        await close()


def _events_of(answer: Any) -> List[Any]:
    responses = sys.modules["openai.types.responses"]
    given = answer.usage
    usage = None
    if given is not None and given.requests:
        usage = responses.ResponseUsage(
            input_tokens=given.input_tokens,
            output_tokens=given.output_tokens,
            total_tokens=given.total_tokens,
            input_tokens_details=given.input_tokens_details,
            output_tokens_details=given.output_tokens_details,
        )
    events: List[Any] = [
        responses.ResponseOutputItemDoneEvent(
            type="response.output_item.done", item=item, output_index=place, sequence_number=place
        )
        for place, item in enumerate(answer.output)
    ]
    response = responses.Response(
        id=answer.response_id or "resp_fed",
        object="response",
        created_at=0,
        model="fed",
        output=answer.output,
        tool_choice="auto",
        tools=[],
        parallel_tool_calls=True,
        usage=usage,
    )
    done = responses.ResponseCompletedEvent(
        type="response.completed", sequence_number=len(events), response=response
    )
    return [*events, done]


def install() -> List[str]:
    """Hook Model, with every subclass."""
    interface = sys.modules["agents.models.interface"]
    makers = {
        "get_response": lambda original: (
            _get_response(original) if is_coroutine_function(original) else original
        ),
        "stream_response": _stream_response,
    }
    patch_tree(interface.Model, makers)
    exchanges.install()
    return []
