"""An answer in the form in which it was not recorded: a stream of a whole answer, a whole answer of a stream.

For Responses and Chat Completions. A synthesised stream has the events that these APIs send for such an
answer; where the real one would have broken its texts, and what it tells in events alone, is not known. An
error and an answer that was cut off are the same in both forms.
"""

import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from ..models.exchanges import Answer
from .apis import events_of

_PIECE: Final = 16
"""Letters of one delta."""
_STEPS: Final = {
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_list_tools": ("in_progress", "completed"),
    "web_search_call": ("in_progress", "searching", "completed"),
}
"""The events of a hosted tool's progress."""
_ENDS: Final = {
    "completed": "response.completed",
    "failed": "response.failed",
    "incomplete": "response.incomplete",
}
_OTHERWISE: Final = (AttributeError, KeyError, TypeError, ValueError)
"""What an answer brings about that looks like one of these APIs', and is not."""
_CHAT_TEXTS: Final = ("reasoning_content", "reasoning", "content", "refusal")

_Json = dict[str, Any]  # Any: a JSON document of a provider's API


def other_form(answer: Answer, *, streamed: bool, usage: bool) -> Answer | None:
    """`answer` as a stream or as a whole; None where this API's other form is not known.

    `usage`: whether a stream of Chat Completions was asked to tell what it used.
    """
    if answer.streamed == streamed or answer.end != "complete" or (answer.status or 0) >= 400:
        return answer
    texts: list[str] | None = None
    if streamed:
        with suppress(*_OTHERWISE):
            texts = _streamed(answer.text, usage=usage)
    else:
        whole = whole_of(events_of(answer.text))
        texts = None if whole is None else [json.dumps(whole, ensure_ascii=False)]
    if texts is None:
        return None
    kind = "text/event-stream; charset=utf-8" if streamed else "application/json"
    return answer.model_copy(
        update={
            "headers": {**answer.headers, "content-type": kind},
            "chunks": tuple((0, text) for text in texts),
            "left_after": None,
        }
    )


def _streamed(text: str, *, usage: bool) -> list[str] | None:
    try:
        told = json.loads(text)
    except ValueError:
        return None
    match told:
        case {"object": "response", "output": list()}:
            events = [*_response_events(told)]
            return [f"event: {each['type']}\ndata: {_compact(each)}\n\n" for each in events]
        case {"choices": list()}:
            return [
                *(f"data: {_compact(each)}\n\n" for each in _chat_chunks(told, usage=usage)),
                "data: [DONE]\n\n",
            ]
    return None


def whole_of(events: Sequence[Any]) -> _Json | None:  # Any: JSON documents
    """The whole answer that a stream's events bring; None where this API's other form is not known."""
    told = [each for each in events if isinstance(each, dict)]
    with suppress(*_OTHERWISE):
        ended = [each["response"] for each in told if each.get("type") in _ENDS.values()]
        if ended:
            return dict(ended[-1])
        chunks = [each for each in told if isinstance(each.get("choices"), list)]
        return _folded(chunks) if chunks else None
    return None


def _compact(document: _Json) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)] or [""]


class _Numbered:
    """Makes events, each with the next number."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def __call__(self, kind: str, **fields: Any) -> _Json:  # Any: parts of a JSON document
        return {"type": f"response.{kind}", "sequence_number": next(self._numbers), **fields}


def _response_events(response: _Json) -> Iterator[_Json]:
    event = _Numbered()
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield event("created", response=begun)
    yield event("in_progress", response=begun)
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item.get("id")}
        started = {**item, "status": "in_progress"} if "status" in item else dict(item)
        yield event("output_item.added", output_index=index, item={**started, **_emptied(item)})
        yield from _item_events(event, item, place)
        yield event("output_item.done", output_index=index, item=item)
    end = _ENDS.get(str(response.get("status")), "response.completed")
    yield event(end.removeprefix("response."), response=response)


def _emptied(item: _Json) -> _Json:
    """What an item has not yet when it begins."""
    match item.get("type"):
        case "message":
            return {"content": []}
        case "function_call" | "mcp_call":
            return {"arguments": ""}
        case "custom_tool_call":
            return {"input": ""}
        case "reasoning":
            return {"summary": []}
    return {}


def _item_events(event: _Numbered, item: _Json, place: _Json) -> Iterator[_Json]:
    match item.get("type"):
        case "message":
            for index, part in enumerate(item.get("content") or ()):
                yield from _part_events(event, part, {**place, "content_index": index})
        case "function_call":
            arguments = item.get("arguments") or ""
            more = {"name": item.get("name")}
            yield from _deltas(event, "function_call_arguments", {"arguments": arguments}, place, more)
        case "custom_tool_call":
            yield from _deltas(event, "custom_tool_call_input", {"input": item.get("input") or ""}, place)
        case "mcp_call":
            yield event("mcp_call.in_progress", **place)
            yield from _deltas(event, "mcp_call_arguments", {"arguments": item.get("arguments") or ""}, place)
            yield event("mcp_call.completed", **place)
        case "reasoning":
            yield from _reasoning_events(event, item, place)
        case kind if kind in _STEPS:
            first, *others = _STEPS[kind]
            yield event(f"{kind}.{first}", **place)
            if kind == "code_interpreter_call":
                yield from _deltas(
                    event, "code_interpreter_call_code", {"code": item.get("code") or ""}, place
                )
            for step in others:
                yield event(f"{kind}.{step}", **place)


def _deltas(
    event: _Numbered, kind: str, whole: dict[str, str], place: _Json, more: _Json | None = None
) -> Iterator[_Json]:
    """A text in pieces, and whole under its name."""
    (text,) = whole.values()
    for piece in _pieces(text):
        yield event(f"{kind}.delta", delta=piece, **place)
    yield event(f"{kind}.done", **whole, **(more or {}), **place)


def _part_events(event: _Numbered, part: _Json, place: _Json) -> Iterator[_Json]:
    """A part of a message: a text with its annotations, or a refusal."""
    refused = part.get("type") == "refusal"
    field, kind = ("refusal", "refusal") if refused else ("text", "output_text")
    more: _Json = {} if refused else {"logprobs": []}
    begun = {**part, field: ""} if refused else {**part, field: "", "annotations": []}
    yield event("content_part.added", part=begun, **place)
    for piece in _pieces(part.get(field) or ""):
        yield event(f"{kind}.delta", delta=piece, **more, **place)
    for index, annotation in enumerate(part.get("annotations") or ()):
        yield event("output_text.annotation.added", annotation=annotation, annotation_index=index, **place)
    yield event(f"{kind}.done", **{field: part.get(field)}, **more, **place)
    yield event("content_part.done", part=part, **place)


def _reasoning_events(event: _Numbered, item: _Json, place: _Json) -> Iterator[_Json]:
    """Its summary and, of open models, its text."""
    for field, index_name, part_kind, text_kind in (
        ("summary", "summary_index", "reasoning_summary_part", "reasoning_summary_text"),
        ("content", "content_index", "content_part", "reasoning_text"),
    ):
        for index, part in enumerate(item.get(field) or ()):
            at = {**place, index_name: index}
            text = part.get("text") or ""
            yield event(f"{part_kind}.added", part={**part, "text": ""}, **at)
            for piece in _pieces(text):
                yield event(f"{text_kind}.delta", delta=piece, **at)
            yield event(f"{text_kind}.done", text=text, **at)
            yield event(f"{part_kind}.done", part=part, **at)


def _chat_chunks(told: _Json, *, usage: bool) -> Iterator[_Json]:
    base = {name: part for name, part in told.items() if name not in {"choices", "object", "usage"}}
    base["object"] = "chat.completion.chunk"
    base |= {"usage": None} if usage else {}
    for choice in told["choices"]:
        for delta in _chat_deltas(choice["message"]):
            yield {**base, "choices": [_choice(choice["index"], delta, None)]}
        yield {**base, "choices": [_choice(choice["index"], {}, choice.get("finish_reason"))]}
    if usage:
        yield {**base, "choices": [], "usage": told.get("usage")}


def _choice(index: int, delta: _Json, finish_reason: str | None) -> _Json:
    return {"index": index, "delta": delta, "finish_reason": finish_reason, "logprobs": None}


def _chat_deltas(message: _Json) -> Iterator[_Json]:
    content = "" if message.get("content") is not None else None
    yield {"role": "assistant", "content": content, **({"refusal": None} if "refusal" in message else {})}
    for field in _CHAT_TEXTS:
        if isinstance(message.get(field), str):
            yield from ({field: piece} for piece in _pieces(message[field]))
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") or {}
        yield {"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]}
        for piece in _pieces(function.get("arguments") or ""):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _folded(chunks: Sequence[_Json]) -> _Json:
    """The whole answer that chunks of Chat Completions are."""
    whole = {name: part for name, part in chunks[0].items() if name not in {"choices", "usage"}}
    whole["object"] = "chat.completion"
    choices: dict[int, _Json] = {}
    for chunk in chunks:
        whole |= {"usage": chunk["usage"]} if chunk.get("usage") else {}
        for each in chunk["choices"]:
            message = {"role": "assistant", "content": None}
            new = {"index": each["index"], "message": message, "logprobs": None, "finish_reason": None}
            choice = choices.setdefault(each["index"], new)
            _fold(choice["message"], each.get("delta") or {})
            choice["finish_reason"] = each.get("finish_reason") or choice["finish_reason"]
    for choice in choices.values():
        if calls := choice["message"].get("tool_calls"):
            choice["message"]["tool_calls"] = [calls[index] for index in sorted(calls)]
    return {**whole, "choices": [choices[index] for index in sorted(choices)]}


def _fold(message: _Json, delta: _Json) -> None:
    for field in _CHAT_TEXTS:
        if isinstance(delta.get(field), str):
            message[field] = (message.get(field) or "") + delta[field]
    for part in delta.get("tool_calls") or ():
        new = {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
        call = message.setdefault("tool_calls", {}).setdefault(part["index"], new)
        call |= {name: part[name] for name in ("id", "type") if part.get(name)}
        for name, text in (part.get("function") or {}).items():
            call["function"][name] = (call["function"].get(name) or "") + (text or "")
