"""What a provider was asked and what it answered, in order, in words.

A request is told as its conversation, an answer as what it says and calls, whichever API it is of; what is
none of these is told as JSON. Every text is cut.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from ..live.apis import conversation_of, events_of, instructions, is_rpc, parsed, told_by, tools
from ..live.providers import WEBSOCKET
from ..live.synthesis import whole_of
from ..models.exchanges import EXCHANGES, Body, Exchange, Exchanges
from ..models.manifest import Answered
from ..models.text import clip, visible
from .story import Story, mode_words

_Json = Any  # a JSON document, or a part of one
_NAMES: Final = 300
_IDLE: Final = ("id", "role", "status", "type")
_TEXTS: Final = ("text", "refusal", "thinking")
_GIVEN: Final = "function_call_output", "custom_tool_call_output", "tool_result", "tool"
_CALLS: Final = "function_call", "custom_tool_call", "tool_use", "mcp_call"


@dataclass(frozen=True)
class Said:
    """Who says something, and what."""

    who: str
    text: str
    answers: bool
    """Whether the provider says it."""


@dataclass(frozen=True)
class ExchangeTold:
    """One request with its answer, or one websocket."""

    number: int
    """From 1."""
    request: str
    """Its method, host and path."""
    facts: tuple[str, ...]
    """The model, the status, tokens, how it came, what it is called there."""
    said: tuple[Said, ...]
    used: tuple[str, ...]
    """How the script's runs got it, where that was not by the same request; or that none did."""


def exchanges_of(story: Story) -> Exchanges | None:
    """What a provider was asked in a bundle; None where there was none."""
    data = story.bundle.members.get(EXCHANGES)
    return None if data is None or story.manifest.provider is None else Exchanges.from_bytes(data)


def tell_exchanges(story: Story, *, limit: int) -> Iterator[ExchangeTold]:
    """Each exchange in words; no text of one is longer than about `limit` characters."""
    exchanges, provider = exchanges_of(story), story.manifest.provider
    if exchanges is None or provider is None:
        return
    for index, each in enumerate(exchanges.exchanges):
        said = [
            Said(visible(who), clip(visible(text, lines=True).strip(), limit), answers)
            for who, text, answers in _said(each)
        ]
        yield ExchangeTold(
            number=index + 1,
            request=visible(f"{_method(each)} {each.host}{each.path}"),
            facts=tuple(visible(fact) for fact in _facts(each)),
            said=tuple(each for each in said if each.text),
            used=tuple(_used(index, provider.answers, unused=index in provider.unused)),
        )


def _method(exchange: Exchange) -> str:
    return "websocket" if exchange.method == WEBSOCKET else exchange.method


def _facts(exchange: Exchange) -> Iterator[str]:
    answer = exchange.answer
    told = told_by(exchange)
    asked = _document(exchange.body).get("model")
    answered = dict.fromkeys(each.model for each in told if each.model)
    names = [str(asked)] if isinstance(asked, str) and asked not in answered else []
    if models := " → ".join([*names, *answered]):
        yield models
    yield _outcome(exchange)
    tokens = [each.tokens for each in told if each.tokens is not None]
    if tokens:
        yield f"{sum(tokens):,} tokens"
    if exchange.frames:
        yield f"{len(exchange.frames)} messages"
    elif answer.streamed:
        yield f"streamed in {len(answer.chunks)} part{'' if len(answer.chunks) == 1 else 's'}"
    if answer.left_after is not None and answer.end != "complete":
        yield "the script did not wait for it"
    yield from (answer.headers[name] for name in ("x-request-id", "request-id") if name in answer.headers)


def _outcome(exchange: Exchange) -> str:
    answer = exchange.answer
    if answer.status is None:
        return {"unreachable": "the host could not be reached"}.get(answer.end, "no answer")
    return f"status {answer.status}{', cut off' if answer.end == 'cut' else ''}"


def _used(index: int, rows: Iterable[Answered], *, unused: bool) -> Iterator[str]:
    if unused:
        yield "asked for in no run that is kept"
    lines: dict[str, list[str]] = {}
    for row in rows:
        if row.exchange == index:
            how = _BY[row.by] if row.by != "exact" else ""
            made = "put into a stream, or the reverse" if row.synthesised else ""
            if words := "; ".join(filter(None, (how, made))):
                lines.setdefault(words, []).append(row.mode)
    for words, modes in lines.items():
        yield f"{mode_words(tuple(dict.fromkeys(modes)))}: {words}"


_BY: Final = {
    "same": "asked for with other generated ids",
    "question": "asked for with other settings",
    "items": "given for the same conversation with another model, tools or instructions",
    "shape": "given for another question",
}


# What is said


def _said(exchange: Exchange) -> Iterator[tuple[str, str, bool]]:
    """(who, text, whether the provider says it)."""
    if exchange.frames:
        yield from _frames(exchange.frames)
        return
    for who, text in _asked(exchange.body):
        yield who, text, False
    answer = exchange.answer
    if answer.binary:
        yield "binary", f"about {len(answer.text) * 3 // 4:,} bytes", True
        return
    documents = events_of(answer.text) if answer.streamed else [parsed(answer.text)]
    for who, text in _answered(documents, answer.text, streamed=answer.streamed):
        yield who, text, True


def _asked(body: Body | None) -> Iterator[tuple[str, str]]:
    if body is None:
        return
    if body.document is None:
        yield "body", body.text if body.text is not None else f"{body.size:,} bytes, sha256 {body.sha256}"
        return
    yield from _question(body.document)


def _question(document: _Json) -> Iterator[tuple[str, str]]:
    name = conversation_of(document)
    if name is None:
        for each in document if isinstance(document, list) else [document]:
            if isinstance(each, dict) and is_rpc(each) and "method" in each:
                yield "call", _call(each["method"], each.get("params"))
            else:
                yield "body", _text(each)
        return
    if (told := instructions(document)) is not None:
        yield "instructions", _plain(told)
    items = document[name]
    for item in items if isinstance(items, list) else [{"role": "user", "content": items}]:
        yield from _item(item)
    if offered := sorted(tools(document)):
        yield "offers", clip(", ".join(offered), _NAMES)


def _answered(documents: Sequence[_Json], text: str, *, streamed: bool) -> Iterator[tuple[str, str]]:
    """What an answer says, of whichever API; its text where that is not known."""
    told = [part for each in documents for part in (each if isinstance(each, list) else [each])]
    told = [each for each in told if isinstance(each, dict)]
    error = next((each["error"] for each in told if each.get("error")), None)
    if error is not None:
        message = error.get("message") if isinstance(error, dict) else None
        yield "error", message if isinstance(message, str) else _plain(error)
        return
    whole = whole_of(told) if streamed else next(iter(told), None)
    items = [*_items(whole)] if whole is not None else []
    items = items or [each for document in told for each in _items(document)]
    if not items and (blocks := _blocks(told)):
        items = [{"role": "assistant", "content": blocks}]
    if not items and told and is_rpc(told[0]):
        yield from (("result", _plain(each.get("result", each))) for each in told)
        return
    lines = [line for item in items for line in _item(item)]
    for who, group in groupby(lines, key=lambda line: line[0]):
        texts = [said for _, said in group]
        # What a stream brings in pieces, one API has as many messages.
        yield from [(who, "".join(texts))] if who == "model" else ((who, said) for said in texts)
    if not lines:
        yield "answer", text


def _items(document: _Json) -> Iterator[_Json]:
    """The items of a whole answer: of Responses, Chat Completions, Anthropic, Gemini."""
    if isinstance(document.get("output"), list):
        yield from document["output"]
    for choice in _list(document.get("choices")):
        if isinstance(choice, dict) and isinstance(choice.get("message"), dict):
            yield {"role": "assistant", **choice["message"]}
    if document.get("type") == "message" and isinstance(document.get("content"), list):
        yield document
    for candidate in _list(document.get("candidates")):
        if isinstance(candidate, dict) and isinstance(candidate.get("content"), dict):
            yield candidate["content"]


def _blocks(events: Iterable[Mapping[str, _Json]]) -> list[_Json]:
    """The blocks of an Anthropic stream."""
    found: dict[_Json, dict[str, _Json]] = {}
    for each in events:
        if each.get("type") == "content_block_start" and isinstance(each.get("content_block"), dict):
            found[each.get("index")] = dict(each["content_block"])
        if each.get("type") == "content_block_delta" and isinstance(each.get("delta"), dict):
            block, delta = found.setdefault(each.get("index"), {"type": "text"}), each["delta"]
            for name in ("text", "thinking"):
                block[name] = _string(block.get(name)) + _string(delta.get(name))
            if "partial_json" in delta:
                so_far = block.get("input")
                block["input"] = _string(so_far) + _string(delta["partial_json"])
    return list(found.values())


def _item(item: _Json) -> Iterator[tuple[str, str]]:
    """Who says what in one item of a conversation, in whichever API's words."""
    if not isinstance(item, dict):
        yield "item", _text(item)
        return
    kind = str(item.get("type") or "")
    who = str(item.get("role") or kind or "item")
    if kind in _CALLS and "role" not in item:
        yield "calls", _call(item.get("name"), item.get("arguments", item.get("input")))
        return
    if kind in _GIVEN or who in _GIVEN:
        yield "result", _plain(item.get("output", item.get("content")))
        return
    if kind == "reasoning":
        yield "reasoning", _plain(item.get("summary"))
        return
    content = item.get("content", item.get("parts"))
    for part in content if isinstance(content, list) else [content]:
        yield from _part(who, part)
    for call in _list(item.get("tool_calls")):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield "calls", _call(function.get("name"), function.get("arguments"))
    if content is None and not item.get("tool_calls"):
        yield kind or who, _text({name: each for name, each in item.items() if name not in _IDLE})


def _part(who: str, part: _Json) -> Iterator[tuple[str, str]]:
    if part is None:
        return
    if not isinstance(part, dict):
        yield who, _plain(part)
        return
    called, given = part.get("functionCall"), part.get("functionResponse")
    if isinstance(called, dict):
        yield "calls", _call(called.get("name"), called.get("args"))
    elif isinstance(given, dict):
        yield "result", _plain(given.get("response"))
    elif part.get("type") in (*_CALLS, *_GIVEN):
        yield from _item(part)
    elif texts := [part[name] for name in _TEXTS if isinstance(part.get(name), str)]:
        yield ("reasoning" if part.get("thinking") else who), texts[0]
    else:
        yield who, f"[{part.get('type', 'part')}: {len(_text(part)):,} characters]"


def _frames(frames: Sequence[tuple[str, int, str]]) -> Iterator[tuple[str, str, bool]]:
    """The messages of a websocket: requests as such, the events of one answer as that answer."""
    for who, group in groupby(frames, key=lambda frame: frame[0]):
        texts = [text for _, _, text in group]
        if who == "client":
            for text in texts:
                document = parsed(text)
                asks = conversation_of(document) is not None
                lines = _question(document) if asks else _message(document, text)
                yield from ((by, said, False) for by, said in lines)
            continue
        told = [document for text in texts if isinstance(document := parsed(text), dict)]
        whole = whole_of(told) if len(told) == len(texts) else None
        items = [line for item in _items(whole) for line in _item(item)] if whole is not None else []
        yield from ((by, said, True) for by, said in items or _events(told, texts))


def _message(document: _Json, text: str) -> Iterator[tuple[str, str]]:
    kind = document.get("type") if isinstance(document, dict) else None
    if isinstance(document, dict) and isinstance(document.get("item"), dict):
        yield from _item(document["item"])
    else:
        rest = {**document, "type": None} if isinstance(document, dict) else text
        yield str(kind or "message"), _plain(rest)


def _events(told: Sequence[Mapping[str, _Json]], texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Events one by one; the pieces of one text as that text."""
    if len(told) != len(texts):
        yield from (("message", text) for text in texts)
        return
    for kind, group in groupby(told, key=lambda each: str(each.get("type"))):
        events = list(group)
        deltas = [each["delta"] for each in events if isinstance(each.get("delta"), str)]
        if len(deltas) == len(events):
            yield kind, "".join(deltas)
        else:
            yield from ((kind, _text({**each, "type": None})) for each in events)


def _call(name: _Json, arguments: _Json) -> str:
    return f"{name}({arguments if isinstance(arguments, str) else _text(arguments or {})})"


def _plain(part: _Json) -> str:
    """The text in a part, else its JSON."""
    if isinstance(part, str):
        return part
    texts = [each.get("text") for each in _list(part) if isinstance(each, dict)]
    parts = part.get("parts") if isinstance(part, dict) else None
    if parts is not None:
        return _plain(parts)
    if texts and all(isinstance(each, str) for each in texts):
        return "\n".join(map(str, texts))
    return _text(part)


def _document(body: Body | None) -> Mapping[str, _Json]:
    return body.document if body is not None and isinstance(body.document, dict) else {}


def _list(part: _Json) -> Sequence[_Json]:
    return part if isinstance(part, list) else ()


def _string(part: _Json) -> str:
    return part if isinstance(part, str) else ""


def _text(part: _Json) -> str:
    if isinstance(part, dict):
        part = {name: each for name, each in part.items() if each is not None}
    return json.dumps(part, ensure_ascii=False, sort_keys=True)
