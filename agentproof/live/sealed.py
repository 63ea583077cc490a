"""Answers from the recording, and from no network.

1. `matching` says which exchange answers a request; each answers once.
2. An answer is given at once. Errors, cuts and silence come as they came: a client that waited in vain waits
   until it leaves.
3. Websockets are `conversing`'s.
4. Answers that were under way together end in the order in which they ended then, as far as their requests
   come.
5. What matches nothing is refused: 409, which no client is to try again.
"""

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from ..models.diff import Change
from ..models.exchanges import Answer, Exchanges, body_of, changed_body
from .conversing import Conversations
from .kept import PROTOCOL, kept_path
from .matching import Level, Match, Matcher, Request
from .providers import WEBSOCKET
from .relay import Asked, Client, Refusal

_TURN: Final = 1.0
"""Seconds to wait for requests that were under way together."""
_APART: Final = 0.02
"""Seconds between two answers, so that a client sees the first before the second."""
_REFUSED: Final = 409


@dataclass(frozen=True)
class Row:
    """One request of the script, or one message on a websocket, and what it was answered with."""

    host: str
    method: str
    path: str
    exchange: int | None
    """The index of the exchange that answered it; None where it was refused."""
    level: Level | Literal["refused"]
    synthesised: bool = False
    changes: tuple[Change, ...] = ()
    """What of the body was asked differently: recorded before, asked after; at most 20."""
    reason: str | None = None
    """Of a refusal."""


@dataclass(frozen=True)
class Outcome:
    """What one sealed run asked."""

    rows: tuple[Row, ...]
    """In the order in which it asked."""
    unused: tuple[int, ...]
    """Exchanges that it did not ask for."""
    refused: tuple[Refusal, ...]
    """What the relay refused, as it did when this was recorded."""


class Sealed:
    """What answers one run from a recording."""

    def __init__(
        self, exchanges: Exchanges, streamed: bool = False, mask: Callable[[str], str] | None = None
    ) -> None:
        """`streamed`: the script is run as streamed, where the recording is of the script as written.

        `mask` is what was done to every text of the recording; it is done to what is asked before it is
        compared.
        """
        self._mask = mask
        self._exchanges = exchanges.exchanges
        self._matcher = Matcher(self._exchanges, streamed=streamed)
        self._conversations = Conversations(self._exchanges, mask)
        self._rows: list[Row] = []
        self._refused: list[Refusal] = []
        self._asked = [asyncio.Event() for _ in self._exchanges]
        self._sent = [asyncio.Event() for _ in self._exchanges]

    def refused(self, refusal: Refusal) -> None:
        """Take note of what the relay refused."""
        self._refused.append(refusal)

    def outcome(self) -> Outcome:
        """What was asked so far, and what was not."""
        unused = sorted((*self._matcher.unused(), *self._conversations.unused()))
        return Outcome(tuple(self._rows), tuple(unused), tuple(self._refused))

    async def answer(self, asked: Asked, client: Client) -> None:
        """Answer as the host did."""
        host, path = asked.endpoint.name, kept_path(asked.target)
        body = body_of(asked.body, asked.header("content-type"))
        if self._mask is not None:
            path, body = self._mask(path), changed_body(body, self._mask)
        request = Request(host, asked.method, path, body)
        if asked.method == WEBSOCKET:
            protocols = [each.strip() for each in asked.header(PROTOCOL).split(",") if each.strip()]
            tell = partial(self._note, request)
            await self._conversations.answer(request, client, protocols, tell)
            return
        match = self._matcher.take(request)
        self._note(request, match)
        if match.answer is None or match.index is None:
            await client.refuse(_REFUSED, match.reason or "")
            return
        self._asked[match.index].set()
        leaving = asyncio.ensure_future(client.gone())
        try:
            await self._give(match.answer, match.index, client, leaving)
        finally:
            self._sent[match.index].set()
            leaving.cancel()
            await asyncio.wait({leaving})

    def _note(self, request: Request, match: Match) -> None:
        level = match.level or "refused"
        host, method, path = request.host, request.method, request.path
        self._rows.append(
            Row(host, method, path, match.index, level, match.synthesised, match.changes, match.reason)
        )

    async def _give(self, answer: Answer, index: int, client: Client, leaving: asyncio.Future[None]) -> None:
        whole = not answer.streamed and len(answer.chunks) <= 1
        if answer.status is None or (whole and answer.left_after == 0):
            if answer.left_after is not None:
                await leaving
            return
        headers = answer.headers.items()
        parts = [base64.b64decode(text) if answer.binary else text.encode() for _, text in answer.chunks]
        if whole:
            await self._turn(index)
            tell = client.whole if answer.end == "complete" else client.partial
            await tell(answer.status, headers, b"".join(parts))
            return
        await client.start(answer.status, headers)
        for number, part in enumerate(parts):
            if answer.left_after == number or leaving.done():
                await leaving
                return
            if number == len(parts) - 1:
                await self._turn(index)
            if part:
                await client.send(part)
        if answer.left_after is not None:
            await leaving
        elif answer.end == "complete":
            await client.end()

    async def _turn(self, index: int) -> None:
        """Wait for the answers that ended before this one while it was under way."""
        mine = self._exchanges[index]
        before = [
            other
            for other, each in enumerate(self._exchanges)
            if mine.asked < each.done < mine.done and each.method != WEBSOCKET and other != index
        ]
        waiting = [self._sent[other] for other in before if not self._sent[other].is_set()]
        if before:
            if waiting:
                waits = [asyncio.ensure_future(each.wait()) for each in waiting]
                _, late = await asyncio.wait(waits, timeout=_TURN)
                for each in late:
                    each.cancel()
            await asyncio.sleep(_APART)
