"""What requests ask and answers tell, in the APIs of OpenAI (Responses, Chat Completions), Anthropic, Gemini.

A question is what a request asks without what releases of an SDK word in their own way: ids, statuses, empty
values, and the settings of the model.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..models.exchanges import Exchange

Document = Mapping[str, Any]  # Any: a JSON document of a provider's API

_CONVERSATIONS: Final = ("input", "messages", "contents")
_INSTRUCTIONS: Final = ("instructions", "system", "systemInstruction", "system_instruction")
_IDLE: Final = frozenset({"annotations", "caller", "created_at", "id", "logprobs", "phase", "status"})
"""Of an item: what releases add, drop or make anew, and what asks nothing."""
# Tuples: what is looked up in them may be any JSON, also what no set can look up.
_TEXTS: Final = ("input_text", "output_text", "text")
_CALLS: Final = ("custom_tool_call", "function_call", "tool_use")
_FINAL: Final = ("response.completed", "response.done", "response.failed", "response.incomplete")
_DONE: Final = "[DONE]"
_DEEPEST: Final = 64
_SAID: Final = ("audio", "item", "item_id", "response_id")
"""Of a websocket's message: what is no setting."""


@dataclass(frozen=True)
class Told:
    """What one answer of a model says of itself."""

    model: str | None
    tokens: int | None
    calls: tuple[str, ...]
    """The tools that it calls, by name."""


def told_by(exchange: Exchange) -> list[Told]:
    """What the answers of an exchange say of themselves: one, or as many as a websocket had."""
    if exchange.frames:
        frames = [parsed(text) for who, _, text in exchange.frames if who == "server"]
        return [_told([each]) for each in frames if isinstance(each, dict) and each.get("type") in _FINAL]
    answer = exchange.answer
    if answer.binary or not answer.chunks:
        return []
    documents = events_of(answer.text) if answer.streamed else [parsed(answer.text)]
    documents = [part for each in documents for part in (each if isinstance(each, list) else [each])]
    return [_told([each for each in documents if isinstance(each, dict)])]


def events_of(text: str) -> list[Any]:  # Any: JSON documents
    """The documents of a stream of server-sent events, in order."""
    found = []
    for event in re.split(r"\r?\n\r?\n", text):
        lines = [line[5:].removeprefix(" ") for line in event.splitlines() if line.startswith("data:")]
        data = "\n".join(lines)
        if lines and data != _DONE and (document := parsed(data)) is not None:
            found.append(document)
    return found


def is_streamed(body: Any) -> bool:  # Any: a JSON document
    """Whether a request asks for a stream."""
    return isinstance(body, dict) and body.get("stream") is True


def without_stream(body: Document) -> Document:
    """A request without what says that it asks for a stream."""
    return {name: part for name, part in body.items() if name not in {"stream", "stream_options"}}


def is_rpc(body: Any) -> bool:  # Any: a JSON document
    """Whether this is JSON-RPC, as MCP is."""
    each = body[0] if isinstance(body, list) and body else body
    return isinstance(each, dict) and "jsonrpc" in each


def question(body: Any) -> Any:  # Any: JSON documents
    """What a request asks; of what is no model's conversation everything but nothings."""
    if is_rpc(body):
        return [_rpc_question(each) for each in (body if isinstance(body, list) else [body])]
    name = conversation_of(body)
    if name is None:
        return _clean(body, frozenset())
    asked = {
        "model": body.get("model"),
        "items": items(body),
        "tools": sorted(tools(body)),
        "instructions": _clean(instructions(body)),
        "format": _format(body),
        "previous_response_id": body.get("previous_response_id"),
        "conversation": body.get("conversation"),
        "prompt": body.get("prompt"),
    }
    return {name: part for name, part in asked.items() if part}


def conversation_of(body: Any) -> str | None:  # Any: a JSON document
    """The field that holds a model's conversation; None where there is none."""
    if not isinstance(body, dict):
        return None
    return next((name for name in _CONVERSATIONS if name in body), None)


def instructions(body: Document) -> Any:  # Any: a part of a JSON document
    """What a model is told beside the conversation."""
    return next((body[name] for name in _INSTRUCTIONS if body.get(name)), None)


def items(body: Document) -> list[Any]:  # Any: parts of a JSON document
    """The conversation of a request, without what asks nothing."""
    found = body.get(conversation_of(body) or "")
    if isinstance(found, str):
        found = [{"role": "user", "content": found}]
    return [_clean(each, _IDLE) for each in found] if isinstance(found, list) else []


def shape(body: Document) -> list[list[str]]:
    """What happened so far in a conversation, not what was said: (role, type, name) of each item."""
    found = []
    for each in items(body):
        item = each if isinstance(each, dict) else {}
        found.append([str(item.get(name, "")) for name in ("role", "type", "name")] + _parts(item))
    return found


def tools(body: Document) -> set[str]:
    """The names of the tools that a request offers; a hosted tool has its type's."""
    found = set()
    for each in body.get("tools") or () if isinstance(body.get("tools"), list) else ():
        if isinstance(each, dict):
            function = each.get("function")
            declared = each.get("functionDeclarations") or each.get("function_declarations")
            if isinstance(declared, list):
                found |= {str(one.get("name")) for one in declared if isinstance(one, dict)}
            elif isinstance(function, dict):
                found.add(str(function.get("name")))
            else:
                found.add(str(each.get("name") or each.get("type")))
    return found


def frame_question(frame: Any) -> Any:  # Any: JSON documents
    """What a message of a websocket asks, without ids and nothings."""
    return _clean(_unnamed(frame))


def frame_items(frame: Any) -> Any:  # Any: JSON documents
    """What it adds to the conversation; settings add nothing."""
    if not isinstance(frame, dict):
        return frame
    said = {name: frame[name] for name in _SAID if name in frame}
    return [frame.get("type"), items(frame), _clean(said)]


def frame_shape(frame: Any) -> Any:  # Any: JSON documents
    """Its type, and the shape of what it adds."""
    if not isinstance(frame, dict):
        return frame
    added = frame.get("item")
    return [frame.get("type"), shape(frame), shape({"input": [added]}) if added is not None else []]


def _unnamed(frame: Any) -> Any:  # Any: JSON documents
    """Without the id that the client gave a message."""
    if not isinstance(frame, dict):
        return frame
    return {name: part for name, part in frame.items() if name != "event_id"}


def _parts(item: Document) -> list[str]:
    """The calls and results inside a message, as Chat Completions, Anthropic and Gemini have them."""
    found = list(_calls(item)) if "role" in item else []
    content = item.get("content") or item.get("parts")
    kinds = (
        [str(part.get("type", "")) for part in content if isinstance(part, dict)]
        if isinstance(content, list)
        else []
    )
    return [*found, *(kind for kind in kinds if kind not in _TEXTS)]


def _rpc_question(each: Any) -> Any:  # Any: parts of JSON documents
    if not isinstance(each, dict):
        return each
    asked = {**each, "id": None if each.get("id") is None else "any"}
    if isinstance(asked.get("params"), dict):
        # Who asks is no part of what is asked.
        asked["params"] = {
            name: part for name, part in asked["params"].items() if name not in {"_meta", "clientInfo"}
        }
    return _clean(asked, frozenset())


def _format(body: Document) -> Any:  # Any: a part of a JSON document
    text = body.get("text")
    asked = (text.get("format") if isinstance(text, dict) else None) or body.get("response_format")
    if not isinstance(asked, dict):
        return None
    schema = asked.get("json_schema")
    return asked.get("name") or (schema.get("name") if isinstance(schema, dict) else None)


def _clean(part: Any, idle: frozenset[str] = _IDLE) -> Any:  # Any: parts of JSON documents
    """Without nothings and what is idle; a text in parts is one text, arguments are what they mean."""
    if isinstance(part, list):
        return [_clean(each, idle) for each in part]
    if not isinstance(part, dict):
        return part
    cleaned = {
        name: _clean(each, idle)
        for name, each in part.items()
        if name not in idle and each not in (None, [], {})
    }
    if isinstance(arguments := cleaned.get("arguments"), str) and idle:
        cleaned["arguments"] = meant if (meant := parsed(arguments)) is not None else arguments
    if cleaned.get("type") == "message" and "role" in cleaned:
        del cleaned["type"]
    content = cleaned.get("content")
    if isinstance(content, list) and content and all(_is_text(each) for each in content):
        cleaned["content"] = "".join(each["text"] for each in content)
    return cleaned


def _is_text(part: Any) -> bool:  # Any: a part of a JSON document
    return isinstance(part, dict) and part.get("type") in _TEXTS and isinstance(part.get("text"), str)


def _told(documents: Sequence[Document]) -> Told:
    model, usage, calls = None, dict[str, Any](), list[str]()  # Any: figures, if they are
    for document in documents:
        inner: Document = next(
            (document[name] for name in ("response", "message") if isinstance(document.get(name), dict)), {}
        )
        for each in (document, inner):
            model = next(
                (each[name] for name in ("model", "modelVersion") if isinstance(each.get(name), str)), model
            )
            told = each.get("usage") or each.get("usageMetadata")
            usage |= {name: count for name, count in told.items() if count} if isinstance(told, dict) else {}
        calls += _calls(document)
    return Told(model, _tokens(usage), tuple(dict.fromkeys(calls)))


def _tokens(usage: Document) -> int | None:
    total = usage.get("total_tokens", usage.get("totalTokenCount"))
    if isinstance(total, int):
        return total
    parts = [
        usage.get(name) for name in ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens")
    ]
    counts = [count for count in parts if isinstance(count, int)]
    return sum(counts) if counts else None


def _calls(part: Any) -> Iterator[str]:  # Any: a part of a JSON document
    """The names of the tools that are called somewhere in it."""
    if isinstance(part, list):
        for each in part:
            yield from _calls(each)
    elif isinstance(part, dict):
        name = part.get("name")
        if part.get("type") in _CALLS and isinstance(name, str):
            yield name
        for field, each in part.items():
            if field == "functionCall" and isinstance(each, dict) and isinstance(each.get("name"), str):
                yield each["name"]
            elif field == "tool_calls" and isinstance(each, list):
                functions = [call.get("function") for call in each if isinstance(call, dict)]
                names = [one.get("name") for one in functions if isinstance(one, dict)]
                yield from (name for name in names if isinstance(name, str) and name)
            elif field not in {"instructions", "tools"}:
                yield from _calls(each)


def parsed(text: str) -> Any:  # Any: a JSON document
    """What a text is as JSON; None where it is none, or one that is nested deeper than answers are."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    level = [document]
    for _ in range(_DEEPEST):
        level = [
            part
            for each in level
            if isinstance(each, dict | list)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return document
    return None
