"""Which recorded exchange answers a request.

The first that was not used yet, at the first of these levels at which there is one:

1. `exact`: host, method, path with query, body.
2. `same`: the same, but that the UUIDs in it are others.
3. `question`: what is asked is the same; ids, statuses and settings may differ (`apis.question`).
4. `items`: the conversation is the same; model, tools and instructions may be others.
5. `shape`: the same happened so far (roles, types, names), whatever was said.

At each level first what was asked in the same form, then the other one (streamed or not), of which the answer
is synthesised. JSON-RPC is a question of method and params. Where no model answers, `question` is the last
level.
At `items` and `shape` a guess may be wrong, so that some are not made: an answer that calls a tool which was
offered then and is not offered now, and one of several that were under way at the same time and asked
different things. Nor is a provider's refusal of one request (`OF_THE_REQUEST`) given to another one, from
`question` on: what is asked differently may be what it refused. Headers are never compared.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final, Literal

from ..errors import FormatError
from ..models.diff import Change, diff
from ..models.exchanges import Answer, Body, Exchange
from .apis import (
    conversation_of,
    is_rpc,
    is_streamed,
    items,
    question,
    shape,
    told_by,
    tools,
    without_stream,
)
from .providers import WEBSOCKET, answers_as_model
from .synthesis import other_form

Level = Literal["exact", "same", "question", "items", "shape"]
LEVELS: Final[tuple[Level, ...]] = ("exact", "same", "question", "items", "shape")
GUESSED: Final[frozenset[Level]] = frozenset({"items", "shape"})
"""Levels at which another question may be answered."""

OF_THE_REQUEST: Final[frozenset[int]] = frozenset({400, 404, 405, 413, 415, 422})
"""Statuses by which a provider refuses this request; a limit or a fault says nothing of what was asked."""

_UUID: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_MODEL_IN_PATH: Final = re.compile(r"/(models|tunedModels|deployments)/[^/:]+")
_MAX_CHANGES: Final = 20


@dataclass(frozen=True)
class Match:
    """What a request is answered with, or why it is not."""

    index: int | None = None
    level: Level | None = None
    answer: Answer | None = None
    synthesised: bool = False
    changes: tuple[Change, ...] = ()
    """What of the body is asked differently: recorded before, asked after; at most 20."""
    reason: str | None = None
    """Of a refusal."""


class Request:
    """A request as it is compared; all of it follows from what is kept."""

    def __init__(self, host: str, method: str, path: str, body: Body | None) -> None:
        self.host = host
        self.method = method
        self.path = path
        self.body = body
        self.document = body.document if body is not None else None
        self.streamed = is_streamed(self.document)
        plain = path.partition("?")[0]
        self._asks_model = answers_as_model(plain)
        self._place = plain if self._asks_model else path

    @cached_property
    def question(self) -> Any:  # Any: JSON documents
        """What is asked."""
        return question(self.document)

    def key(self, level: Level, *, any_form: bool = False) -> tuple[object, ...] | None:
        """What is equal where two requests match at a level; None where they cannot.

        `any_form`: whether they are streamed or not.
        """
        found = self._keys.get(level)
        if found is None or level not in ("exact", "same") or not any_form:
            return found
        return (*found[:-1], self._formless[level])

    @cached_property
    def _keys(self) -> dict[Level, tuple[object, ...]]:
        content = self._content(self.document)
        begin = (self.host, self.method)
        found: dict[Level, tuple[object, ...]] = {
            "exact": (*begin, self.path, content),
            "same": (*begin, numbered(self.path), numbered(content)),
        }
        if self.document is None:
            return found
        found["question"] = (*begin, numbered(self._place), numbered(_text(self.question)))
        if conversation_of(self.document) is not None and self._asks_model:
            family = _MODEL_IN_PATH.sub(r"/\1/*", self._place)
            found["items"] = (*begin, family, numbered(_text(items(self.document))))
            found["shape"] = (*begin, family, _text(shape(self.document)))
        return found

    @cached_property
    def _formless(self) -> dict[Level, str]:
        document = self.document
        content = self._content(without_stream(document) if isinstance(document, dict) else document)
        return {"exact": content, "same": numbered(content)}

    def _content(self, document: Any) -> str:  # Any: a JSON document
        if document is not None:
            return _text(document)
        body = self.body
        return "" if body is None else body.text if body.text is not None else f"{body.sha256} {body.size}"


class Matcher:
    """Gives each exchange away once; not for websockets, whose frames are matched one by one."""

    def __init__(self, exchanges: Sequence[Exchange], *, streamed: bool) -> None:
        """`streamed`: the script is run as streamed, where it was not so when it was recorded; its form then
        says nothing, and what was asked first is answered first."""
        self._exchanges = exchanges
        self._streamed = streamed
        self._requests = {
            index: Request(each.host, each.method, each.path, each.body)
            for index, each in enumerate(exchanges)
            if each.method != WEBSOCKET
        }
        self._unused = dict.fromkeys(self._requests)

    def take(self, request: Request) -> Match:
        """The exchange that answers a request, which no other gets."""
        reason: str | None = None
        for level in LEVELS:
            for forms in self._forms(request):
                fitting = [index for index in self._unused if self._fits(index, request, level, forms)]
                match, why = self._chosen(fitting, request, level)
                if match is not None:
                    return match
                reason = reason or why
        return self._refused(request, reason)

    def unused(self) -> tuple[int, ...]:
        """Those that nobody asked for."""
        return tuple(self._unused)

    def _forms(self, request: Request) -> Sequence[tuple[bool, ...]]:
        other = not request.streamed
        if conversation_of(request.document) is None:
            return ((request.streamed,),)
        return ((request.streamed, other),) if self._streamed else ((request.streamed,), (other,))

    def _fits(self, index: int, request: Request, level: Level, forms: tuple[bool, ...]) -> bool:
        recorded = self._requests[index]
        if recorded.streamed not in forms:
            return False
        any_form = recorded.streamed != request.streamed
        key = request.key(level, any_form=any_form)
        return key is not None and key == recorded.key(level, any_form=any_form)

    def _chosen(
        self, fitting: Sequence[int], request: Request, level: Level
    ) -> tuple[Match | None, str | None]:
        reason = None
        ranked = (
            sorted(fitting, key=lambda index: -self._likeness(index, request))
            if level in GUESSED
            else fitting
        )
        for index in ranked:
            answer, why = self._answer(index, request, level)
            if answer is not None and level in GUESSED:
                why = self._doubt(index, ranked, request)
            if answer is None or why is not None:
                reason = reason or why
                continue
            del self._unused[index]
            recorded = self._requests[index]
            synthesised = recorded.streamed != request.streamed
            changes = _changes(recorded, request, synthesised=synthesised)
            return Match(index, level, answer, synthesised, changes), None
        return None, reason

    def _answer(self, index: int, request: Request, level: Level) -> tuple[Answer | None, str | None]:
        """The answer in the form that is asked for, or why it cannot be given."""
        exchange, recorded = self._exchanges[index], self._requests[index]
        if level not in ("exact", "same") and exchange.answer.status in OF_THE_REQUEST:
            return None, f"its answer refuses what was asked then ({exchange.answer.status})"
        if level in GUESSED:
            called = {name for told in told_by(exchange) for name in told.calls}
            missing = called & tools(recorded.document or {}) - tools(request.document or {})
            if missing:
                return None, f"its answer calls {min(missing)}, which this request does not offer"
        if is_rpc(request.document):
            return _with_ids(exchange.answer, recorded.document, request.document), None
        if recorded.streamed == request.streamed:
            return exchange.answer, None
        options = (request.document or {}).get("stream_options")
        usage = isinstance(options, dict) and options.get("include_usage") is True
        answer = other_form(exchange.answer, streamed=request.streamed, usage=usage)
        form = "a stream" if request.streamed else "a whole answer"
        return answer, None if answer is not None else f"its answer cannot be given as {form}"

    def _likeness(self, index: int, request: Request) -> int:
        """How much of what is asked is the same."""
        one, other = self._requests[index].question, request.question
        return sum(one.get(name) == other.get(name) for name in {*one, *other})

    def _doubt(self, chosen: int, fitting: Iterable[int], request: Request) -> str | None:
        """Why this one is a guess among several: they were under way together, and are as like."""
        likeness = self._likeness(chosen, request)
        mine = self._exchanges[chosen]
        for index in fitting:
            each = self._exchanges[index]
            together = each.asked < mine.done and mine.asked < each.done
            if (
                together
                and self._likeness(index, request) == likeness
                and self._requests[index].question != self._requests[chosen].question
            ):
                return "several that are as like it were asked at the same time"
        return None

    def _refused(self, request: Request, reason: str | None) -> Match:
        nearest = next(
            (each for index in self._unused if (each := self._requests[index]).path == request.path), None
        )
        changes = _changes(nearest, request, synthesised=False) if nearest is not None else ()
        why = f"{request.method} {request.path} is not in the recording"
        return Match(changes=changes, reason=f"{why}: {reason}" if reason else why)


def _changes(recorded: Request, asked: Request, *, synthesised: bool) -> tuple[Change, ...]:
    one, other = recorded.document, asked.document
    if synthesised and one is not None and other is not None:
        return _differences(without_stream(one), without_stream(other))
    return changes_between(recorded.body, asked.body)


def changes_between(recorded: Body | None, asked: Body | None) -> tuple[Change, ...]:
    """Where one body is not the other; at most 20 places."""
    return _differences(_bare(recorded), _bare(asked))


def _differences(one: Any, other: Any) -> tuple[Change, ...]:  # Any: JSON documents
    try:
        return tuple(islice(diff(one, other), _MAX_CHANGES))
    except FormatError:  # too much differs to be told
        return ()


def _bare(body: Body | None) -> Any:  # Any: a JSON document
    return None if body is None else body.document if body.document is not None else body.text or body.sha256


def numbered(text: str) -> str:
    """A text with each UUID as the number of its first place."""
    seen: dict[str, int] = {}
    return _UUID.sub(lambda match: f"<id {seen.setdefault(match.group().lower(), len(seen) + 1)}>", text)


def _text(document: Any) -> str:  # Any: a JSON document
    return json.dumps(document, sort_keys=True, ensure_ascii=False)


def _with_ids(answer: Answer, recorded: Any, asked: Any) -> Answer:  # Any: JSON documents
    """An answer of JSON-RPC with the ids of the requests that it answers now."""
    pairs = [(_id_of(one), _id_of(other)) for one, other in zip(_each(recorded), _each(asked), strict=True)]
    ids = {_text(before): after for before, after in pairs if before is not None}
    if answer.binary or all(_text(after) == before for before, after in ids.items()):
        return answer

    def renamed(text: str) -> str:
        try:
            told = json.loads(text)
        except ValueError:
            return text
        for each in _each(told):
            if isinstance(each, dict) and _text(each.get("id")) in ids and "method" not in each:
                each["id"] = ids[_text(each["id"])]
        return json.dumps(told, ensure_ascii=False)

    if answer.streamed:
        lines = answer.text.splitlines(keepends=True)
        text = "".join(
            f"data: {renamed(line[5:].strip())}\n" if line.startswith("data:") else line for line in lines
        )
    else:
        text = renamed(answer.text)
    return answer.model_copy(update={"chunks": ((0, text),)})


def _each(document: Any) -> list[Any]:  # Any: JSON documents
    return document if isinstance(document, list) else [document]


def _id_of(each: Any) -> Any:  # Any: JSON documents
    return each.get("id") if isinstance(each, dict) else None
