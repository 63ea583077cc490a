"""Answers websockets from the recording.

A recorded websocket is a row of rounds: messages of the client's, then messages of the host's.

1. Where each round is one request for one answer (the Responses API), every round is an exchange like any
   other: `matching` finds it, whichever websocket it was asked on.
2. Elsewhere (realtime) the rounds are played in their order. The messages of one round are a set, since a
   client sends them as its tasks come to it; one that matches none of them, but of a later round, waits for
   that.
3. A message that matches nothing ends the websocket (1008), and so does one that does not come.
"""

import asyncio
import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..models.exchanges import Answer, Exchange, body_of
from .apis import frame_items, frame_question, frame_shape, parsed
from .kept import PROTOCOL
from .matching import LEVELS, Level, Match, Matcher, Request, changes_between, numbered
from .providers import WEBSOCKET
from .relay import Client
from .websocket import Websocket

_WAIT: Final = 5.0
"""Seconds for a message beyond those that it took when this was recorded."""
_POLICY: Final = 1008
_REFUSED: Final = 409
_OPEN: Final = 101
_MESSAGE: Final = "message"
"""The method of a round that is matched like a request."""
_EVENTS: Final = {"content-type": "text/event-stream"}

Tell = Callable[[Match], None]
"""Takes note of what a message was answered with; the index is the websocket's."""


@dataclass
class _Round:
    """What one side said, then the other."""

    asked: list[tuple[int, str]] = field(default_factory=list)
    told: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _Recorded:
    """One recorded websocket."""

    index: int
    exchange: Exchange
    rounds: tuple[_Round, ...]

    @property
    def is_open(self) -> bool:
        """Whether the host agreed to it."""
        return self.exchange.answer.status == _OPEN

    @property
    def asked_first(self) -> bool:
        """Whether the client said the first word."""
        return bool(self.rounds and self.rounds[0].asked)

    @property
    def asks_by_rounds(self) -> bool:
        """Whether each of its rounds is a request with its answer."""
        path = self.exchange.path.partition("?")[0]
        return path.endswith("/responses") and all(len(each.asked) == 1 for each in self.rounds)


class Conversations:
    """Gives each recorded websocket, or each round, away once."""

    def __init__(self, exchanges: Sequence[Exchange], mask: Callable[[str], str] | None = None) -> None:
        """`mask` is done to what comes before it is compared, as it was to all that is in the recording."""
        self._mask = mask or str
        self._recorded = [
            _Recorded(index, each, tuple(_rounds(each)))
            for index, each in enumerate(exchanges)
            if each.method == WEBSOCKET
        ]
        self._unopened = list(self._recorded)
        self._free = [each for each in self._recorded if each.is_open and each.asks_by_rounds]
        found = [(each, number) for each in self._free for number in range(len(each.rounds))]
        self._places = dict(enumerate(found))
        rounds = [_as_exchange(*each, self._overlaps(each[0])) for each in found]
        self._matcher = Matcher(rounds, streamed=False)
        self._used: set[int] = set()

    def unused(self) -> tuple[int, ...]:
        """Websockets of which nothing was asked for."""
        return tuple(each.index for each in self._recorded if each.index not in self._used)

    async def answer(self, request: Request, client: Client, protocols: Sequence[str], tell: Tell) -> None:
        """Answer a handshake as the host did, and then what comes."""
        fitting = [each for each in self._unopened if _is_at(each, request)]
        fitting = [each for each in fitting if each.exchange.path == request.path] or fitting
        chosen = next(iter(fitting), None)
        if chosen is None and not self._has_rounds(request):
            reason = f"the websocket {request.path} is not in the recording"
            tell(Match(reason=reason))
            await client.refuse(_REFUSED, reason)
            return
        if chosen is not None and not chosen.is_open:
            self._open(chosen, request, tell)
            await _reject(chosen.exchange.answer, client)
            return
        # Of several that fit, one that is no row of requests is told by its first message.
        by_rounds = all(each.asks_by_rounds for each in fitting if each.is_open)
        candidates = [each for each in fitting if each.is_open and each.asked_first]
        if chosen is not None and (by_rounds or not chosen.asked_first or len(candidates) < 2):
            candidates = []
            self._open(chosen, request, tell)
        script = await client.websocket(_protocol(chosen, protocols))
        coming = _Coming(script, self._mask)
        try:
            if candidates:
                chosen = await self._like(candidates, coming)
                self._open(chosen, request, tell)
            if chosen is None or chosen.asks_by_rounds:
                await self._by_rounds(request, script, coming, tell)
            else:
                await _in_order(chosen, script, coming, tell)
        except ConnectionError:
            pass  # the script left: what it was told is noted
        finally:
            coming.stop()

    def _open(self, chosen: _Recorded, request: Request, tell: Tell) -> None:
        self._unopened.remove(chosen)
        if not (chosen.is_open and chosen.asks_by_rounds and chosen.rounds):
            self._used.add(chosen.index)
        if chosen.exchange.path != request.path or not chosen.is_open:
            tell(Match(chosen.index, "exact" if chosen.exchange.path == request.path else "items"))

    def _has_rounds(self, request: Request) -> bool:
        return any(_is_at(each, request) for each in self._free)

    def _overlaps(self, one: _Recorded) -> bool:
        mine = one.exchange
        return any(
            other is not one and other.exchange.asked < mine.done and mine.asked < other.exchange.done
            for other in self._free
        )

    async def _like(self, candidates: Sequence[_Recorded], coming: "_Coming") -> _Recorded:
        """The one of several that began as this one does."""
        first = await coming.peek()
        left = [each for each in candidates if each in self._unopened]
        if first is None or not left:
            raise ConnectionResetError("left without a word, or all are taken")
        for level in LEVELS:
            for each in left:
                if any(_level(text, first) == level for _, text in each.rounds[0].asked):
                    return each
        return left[0]

    async def _by_rounds(self, request: Request, script: Websocket, coming: "_Coming", tell: Tell) -> None:
        while (text := await coming.next()) is not None:
            body = body_of(text.encode(), "application/json")
            match = self._matcher.take(Request(request.host, _MESSAGE, request.path, body))
            if match.index is None:
                await _refuse(script, tell, match)
                return
            recorded, number = self._places[match.index]
            self._used.add(recorded.index)
            tell(replace(match, index=recorded.index, answer=None))
            for _, frame in recorded.rounds[number].told:
                await script.send(frame)
            if number == len(recorded.rounds) - 1 and recorded.exchange.answer.left_after is None:
                await _end(recorded.exchange.answer, script)
                return


async def _in_order(chosen: _Recorded, script: Websocket, coming: "_Coming", tell: Tell) -> None:
    before = 0
    for number, each in enumerate(chosen.rounds):
        pending = [text for _, text in each.asked]
        seconds = _WAIT + (each.asked[-1][0] - before) / 1000 if pending else 0.0
        while pending:
            text = await coming.one_of(pending, chosen.rounds[number + 1 :], seconds)
            if text is None:
                if not coming.left:
                    kinds = " and ".join(sorted({_kind(one) for one in pending}))
                    await _refuse(script, tell, f"{kinds} did not come, which was sent when recorded")
                return
            if (best := _best_of(pending, text)) is None:
                await _refuse(script, tell, f"the message {_kind(text)} is not in the recording here")
                return
            place, level = best
            tell(_match(chosen.index, level, pending.pop(place), text))
        for ms, frame in each.told:
            await script.send(frame)
            before = ms
    if chosen.exchange.answer.left_after is None:
        await _end(chosen.exchange.answer, script)
    elif (text := await coming.next()) is not None:
        await _refuse(script, tell, f"the message {_kind(text)} came after all that was recorded")


class _Coming:
    """What the script sends, in the order in which it is wanted."""

    def __init__(self, script: Websocket, mask: Callable[[str], str]) -> None:
        self._script = script
        self._mask = mask
        self._early: list[str] = []
        self._getting: asyncio.Future[str | None] | None = None
        self.left = False

    async def peek(self) -> str | None:
        """The first message, which is given again."""
        if (text := await self.next()) is not None:
            self._early.append(text)
        return text

    def stop(self) -> None:
        """Wait for nothing more."""
        if self._getting is not None:
            self._getting.cancel()

    async def next(self) -> str | None:
        """The next message, whatever it is; None where the script has left."""
        return self._early.pop(0) if self._early else await self._get(None)

    async def one_of(self, pending: Sequence[str], later: Sequence[_Round], seconds: float) -> str | None:
        """The next message; None where none comes in time, or the script has left.

        What is surely for a later round, and not for `pending`, is kept for that.
        """

        def waits(text: str) -> bool:
            best = _best_of(pending, text)
            return (best is None or best[1] not in _SURE) and any(
                _level(other, text) in _SURE for each in later for _, other in each.asked
            )

        for place, text in enumerate(self._early):
            if not waits(text):
                return self._early.pop(place)
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        while (came := await self._get(max(0.0, until - clock()))) is not None and waits(came):
            self._early.append(came)
        return came

    async def _get(self, seconds: float | None) -> str | None:
        self._getting = self._getting or asyncio.ensure_future(self._script.receive())
        if not (await asyncio.wait({self._getting}, timeout=seconds))[0]:
            return None
        came, self._getting = self._getting.result(), None
        self.left = came is None
        return None if came is None else self._mask(came)


_SURE: Final = frozenset({"exact", "same", "question"})


def _level(recorded: str, asked: str) -> Level | None:
    """How far one message is the other."""
    if recorded == asked:
        return "exact"
    one, other = parsed(recorded), parsed(asked)
    if one is None or other is None:
        return "same" if numbered(recorded) == numbered(asked) else None
    if one == other:
        return "exact"
    if numbered(_text(one)) == numbered(_text(other)):
        return "same"
    readings: tuple[tuple[Level, Callable[[Any], Any]], ...] = (  # Any: JSON documents
        ("question", frame_question),
        ("items", frame_items),
        ("shape", frame_shape),
    )
    for level, reading in readings:
        if numbered(_text(reading(one))) == numbered(_text(reading(other))):
            return level
    return None


def _best_of(pending: Sequence[str], text: str) -> tuple[int, Level] | None:
    """The place of what is most like `text`, the first of several, and how like it is."""
    levels = [(place, level) for place, one in enumerate(pending) if (level := _level(one, text))]
    return min(levels, key=lambda each: LEVELS.index(each[1]), default=None)


def _rounds(exchange: Exchange) -> Iterator[_Round]:
    """The rounds of a websocket; in the first the client may say nothing."""
    current = _Round()
    for who, ms, text in exchange.frames:
        if who == "client":
            if current.told:
                yield current
                current = _Round()
            current.asked.append((ms, text))
        else:
            current.told.append((ms, text))
    if current.asked or current.told:
        yield current


def _as_exchange(recorded: _Recorded, number: int, overlaps: bool) -> Exchange:
    """A round as if it had been a request, whose answer is a stream of events."""
    exchange, each = recorded.exchange, recorded.rounds[number]
    span = 2 * len(recorded.rounds) + 2
    asked, done = exchange.asked * span + 2 * number, exchange.asked * span + 2 * number + 1
    if overlaps:  # which rounds of two websockets were under way together is not known
        asked, done = exchange.asked * span, exchange.done * span
    return Exchange(
        host=exchange.host,
        method=_MESSAGE,
        path=exchange.path,
        body=body_of(each.asked[0][1].encode(), "application/json"),
        asked=asked,
        done=done,
        answer=Answer(
            status=200,
            headers=_EVENTS,
            chunks=tuple((ms, f"data: {text}\n\n") for ms, text in each.told),
            end="complete",
        ),
    )


def _is_at(recorded: _Recorded, request: Request) -> bool:
    exchange = recorded.exchange
    return (exchange.host, exchange.path.partition("?")[0]) == (
        request.host,
        request.path.partition("?")[0],
    )


def _protocol(chosen: _Recorded | None, offered: Sequence[str]) -> str | None:
    """The subprotocol that the host chose, where the script offers it."""
    kept = chosen.exchange.answer.headers.get(PROTOCOL) if chosen is not None else None
    return kept if kept in offered else None


def _match(index: int, level: Level, recorded: str, asked: str) -> Match:
    bodies = (body_of(each.encode(), "application/json") for each in (recorded, asked))
    return Match(index, level, changes=() if level == "exact" else changes_between(*bodies))


async def _refuse(script: Websocket, tell: Tell, why: str | Match) -> None:
    match = Match(reason=why) if isinstance(why, str) else why
    tell(match)
    await script.close(_POLICY, f"agentproof: {match.reason}")


async def _reject(answer: Answer, client: Client) -> None:
    if answer.status is not None:
        body = answer.text.encode() if not answer.binary else base64.b64decode(answer.text)
        await client.whole(answer.status, answer.headers.items(), body)


async def _end(answer: Answer, script: Websocket) -> None:
    """End as the host ended it."""
    if answer.end == "complete":
        await script.close(answer.closed or 1000)
    else:
        script.cut()


def _kind(text: str) -> str:
    document = parsed(text)
    kind = document.get("type") if isinstance(document, dict) else None
    return kind if isinstance(kind, str) else "of no type"


def _text(document: Any) -> str:  # Any: a JSON document
    return json.dumps(document, sort_keys=True, ensure_ascii=False)
