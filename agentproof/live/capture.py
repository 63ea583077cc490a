"""Asks the hosts, once, and keeps what was asked and answered.

1. A key is put in place of its placeholder in headers and URL, on the way to its own host alone; never in a
   body, which a model could repeat.
2. On the way in every key is taken out of headers, bodies and messages, in every spelling and also where it
   comes in pieces, before the script or the recording sees it.
3. What is kept is what the client was given: the same few headers, the same chunks.
4. A client that leaves is noted; what its answer still brings is read for a while, and kept.
"""

import asyncio
import base64
import codecs
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

import h11
from wsproto.utilities import ProtocolError

from ..errors import CannotDoError, UsageError
from ..limits import MAX_EXCHANGES_BYTES, MAX_LINES
from ..models.exchanges import Answer, Body, End, Exchange, Exchanges, Frame, Host, body_of
from .apis import told_by
from .kept import ANSWER_HEADERS, PROTOCOL, REQUEST_HEADERS, denial, kept_headers, kept_path
from .keys import KeyRemover
from .providers import WEBSOCKET, Endpoint, merged, placeholder
from .relay import Asked, Client, Refusal
from .upstream import Unreadable, Upstream
from .websocket import Rejected, Websocket

_DRAIN: Final = 30.0
"""Seconds for which an answer is read that its client does not wait for any more."""
_SILENCE: Final = 600.0
"""Seconds without a byte after which a host is taken for silent."""
_UNAUTHORIZED: Final = 401
_KEY: Final = re.compile(r"[!-~]+")
_ROUND: Final = 40
"""Bytes of the encoding around a text, roughly."""
_RESPONSE_CREATE: Final = re.compile(r'"type"\s*:\s*"response\.create"')
"""A websocket's message that asks for an answer, and is paid for."""


@dataclass(frozen=True)
class Summary:
    """What a capture did, for whoever pays for it."""

    requests: int
    streamed: int
    models: tuple[str, ...]
    """As the answers name them, each once."""
    tokens: int | None
    """Of all answers together, as they say; None where none says."""
    seconds: float
    """From the first request to the last answer."""
    refused: tuple[Refusal, ...]
    denied: tuple[str, ...]
    """Hosts that refused the key (401)."""
    unreachable: tuple[str, ...]


@dataclass
class _Note:
    """One exchange under way."""

    asked: Asked
    body: Body | None
    tick: int
    began: float
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    chunks: list[tuple[int, bytes]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    end: End = "none"
    left_after: int | None = None
    closed: int | None = None
    drain_until: float = 0.0
    done: int = 0

    def ms(self) -> int:
        """Since the request."""
        return int((time.monotonic() - self.began) * 1000)


class Capture:
    """What asks the hosts for one run."""

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        keys: Mapping[str, str],
        to: Mapping[str, str],
        max_requests: int = 100,
    ) -> None:
        """`keys` are the real ones by variable, `to` the addresses on loopback that stand for hosts.

        Raises:
            UsageError: a key that no header can hold.
        """
        self._endpoints = tuple(endpoints)
        self._keys = {name: _checked(name, key.strip()) for name, key in keys.items()}
        self._to = dict(to)
        self._max_requests = max_requests
        self._remover = KeyRemover({key: placeholder(name) for name, key in self._keys.items()})
        self._notes: list[_Note] = []
        self._refused: list[Refusal] = []
        self._tick = 0
        self._asked_for = 0
        self._bytes_left = MAX_EXCHANGES_BYTES
        self._lines_left = MAX_LINES
        self._recorded = datetime.now(UTC)
        self._last = self._first = time.monotonic()

    def refused(self, refusal: Refusal) -> None:
        """Take note of what the relay refused."""
        self._refused.append(refusal)

    async def answer(self, asked: Asked, client: Client) -> None:
        """Ask the host, and answer as it does."""
        if (reason := self._reason_against(asked)) is not None:
            self.refused(Refusal(asked.endpoint.name, asked.method, asked.path, reason))
            await client.refuse(403, reason)
            return
        note = self._begin(asked)
        try:
            await self._exchange(note, client)
        except asyncio.CancelledError:  # the script ended first
            if note.left_after is None and note.end == "none":
                note.left_after = len(note.frames or note.chunks)
            raise
        finally:
            note.done = self._next_tick()
            self._last = time.monotonic()

    def exchanges(self) -> Exchanges:
        """Everything that was asked and answered.

        Raises:
            CannotDoError: it is more than a bundle may hold.
        """
        found = Exchanges(
            format="agentproof/exchanges",
            version=0,
            recorded=self._recorded.strftime("%Y-%m-%dT%H:%M:%SZ"),
            hosts=tuple(
                Host(
                    name=each.host,
                    port=each.port,
                    variable=each.variable,
                    paths=each.paths,
                    to=self._to.get(each.host),
                )
                for each in merged(self._endpoints)
            ),
            exchanges=tuple(self._exchange_of(note) for note in self._notes),
        )
        data = found.to_bytes()
        if self._is_full() or len(data) > MAX_EXCHANGES_BYTES or data.count(b"\n") > MAX_LINES:
            raise CannotDoError(
                f"what the script asked and was answered is over {MAX_EXCHANGES_BYTES // 2**20} MiB "
                f"or {MAX_LINES:,} lines",
                hint="let the script ask less, or send less with each request",
            )
        return found

    def summary(self) -> Summary:
        """What was done, in figures."""
        answers = [told for note in self._notes for told in told_by(self._exchange_of(note))]
        tokens = [count for each in answers if (count := each.tokens) is not None]
        kinds = [note.headers.get("content-type", "") for note in self._notes]
        return Summary(
            requests=self._asked_for,
            streamed=sum(kind.startswith("text/event-stream") for kind in kinds),
            models=tuple(dict.fromkeys(each.model for each in answers if each.model)),
            tokens=sum(tokens) if tokens else None,
            seconds=self._last - self._first,
            refused=tuple(self._refused),
            denied=self._hosts(lambda note: note.status == _UNAUTHORIZED),
            unreachable=self._hosts(lambda note: note.end == "unreachable"),
        )

    def _reason_against(self, asked: Asked) -> str | None:
        if not asked.secure and asked.endpoint.host not in self._to:
            return f"http://{asked.endpoint.name} would carry the key in the clear; ask it over https"
        return self._over(1)

    def _over(self, requests: int) -> str | None:
        """Why so many more requests do not go out."""
        if requests and self._asked_for + requests > self._max_requests:
            return f"more than {self._max_requests} requests; allow more with --max-requests"
        if self._is_full():
            return f"what was asked and answered is over {MAX_EXCHANGES_BYTES // 2**20} MiB"
        return None

    def _begin(self, asked: Asked) -> _Note:
        now = time.monotonic()
        if not self._notes:
            self._first = now
        self._asked_for += asked.method != WEBSOCKET
        body = body_of(self._remover.whole(asked.body), asked.header("content-type"))
        note = _Note(asked, body, self._next_tick(), now)
        self._spend(len(asked.body) + len(asked.target) + _ROUND, asked.body.count(b",") + 20)
        self._notes.append(note)
        return note

    async def _exchange(self, note: _Note, client: Client) -> None:
        endpoint = note.asked.endpoint
        try:
            upstream = await Upstream.connect(endpoint, self._to.get(endpoint.host))
        except OSError as error:
            note.end = "unreachable"
            await client.refuse(502, f"{endpoint.name} cannot be reached: {error}")
            return
        try:
            if note.asked.method == WEBSOCKET:
                await self._converse(note, upstream, client)
            else:
                await self._pass_on(note, upstream, client)
        finally:
            await upstream.close()

    async def _pass_on(self, note: _Note, upstream: Upstream, client: Client) -> None:
        asked = note.asked
        headers = self._shown_headers(asked)
        leaving = asyncio.ensure_future(client.gone())
        answer = _Passing(note, client, self._remover, self._spend)
        try:
            await upstream.ask(asked.method, self._shown(asked.target, asked), headers, asked.body)
            while (event := await _next(upstream, note, leaving)) is not None:
                match event:
                    case h11.Response():
                        await answer.head(event)
                    case h11.Data():
                        await answer.data(bytes(event.data))
                    case h11.EndOfMessage():
                        await answer.end()
                        return
                if self._is_full():
                    break
            await answer.cut()
        except Unreadable as error:
            reason = f"{asked.endpoint.name} answered in {error}, which was not asked for"
            self.refused(Refusal(asked.endpoint.name, asked.method, asked.path, reason))
            await client.refuse(502, reason)
        except ConnectionError:  # the host left before it had the whole request
            note.end = "cut" if note.status is not None else "none"
        finally:
            leaving.cancel()
            await asyncio.wait({leaving})

    async def _converse(self, note: _Note, upstream: Upstream, client: Client) -> None:
        asked = note.asked
        offered = [each.strip() for each in asked.header("sec-websocket-protocol").split(",") if each.strip()]
        try:
            server, chosen = await upstream.websocket(
                self._shown(asked.target, asked),
                self._shown_headers(asked),
                [self._shown(each, asked) for each in offered],
            )
        except Rejected as error:
            body = denial(error.body) if error.status == _UNAUTHORIZED else self._remover.whole(error.body)
            note.status, note.end = error.status, "complete"
            note.chunks = [(note.ms(), body)] if body else []
            await client.whole(error.status, [], body)
            return
        except (ConnectionError, ProtocolError):
            return
        note.status = 101
        if chosen:
            note.headers[PROTOCOL] = self._remover.text(chosen)
        script = await client.websocket(note.headers.get(PROTOCOL))
        there, back = self._there(note, script, server), self._back(note, script, server)
        await asyncio.gather(there, back)
        for each in (script, server):
            if each.fault is not None:
                reason = f"{each.fault} on a websocket"
                self.refused(Refusal(asked.endpoint.name, asked.method, asked.path, reason))

    async def _there(self, note: _Note, script: Websocket, server: Websocket) -> None:
        with suppress(ConnectionError):
            while (text := await script.receive()) is not None:
                asks = int(_RESPONSE_CREATE.search(text) is not None)
                if (reason := self._over(asks)) is not None:
                    self.refused(Refusal(note.asked.endpoint.name, WEBSOCKET, note.asked.path, reason))
                    await script.close(1008, f"agentproof: {reason}")
                    break
                self._asked_for += asks
                self._keep_frame(note, "client", text)
                await server.send(text)
        if note.end == "none":
            note.left_after = len(note.frames)
            note.end = "complete"
        await server.close(script.closed or 1000)

    async def _back(self, note: _Note, script: Websocket, server: Websocket) -> None:
        with suppress(ConnectionError):
            while (text := await server.receive()) is not None:
                clean = self._remover.text(text)
                self._keep_frame(note, "server", clean)
                if self._is_full():
                    break
                await script.send(clean)
        if note.end == "none":
            note.end = "complete" if server.closed is not None else "cut"
            note.closed = server.closed
        if server.closed is not None:
            await script.close(server.closed)
        else:
            script.cut()

    def _keep_frame(self, note: _Note, who: Literal["client", "server"], text: str) -> None:
        note.frames.append((who, note.ms(), text))
        self._spend(len(text) + _ROUND, 5)

    def _spend(self, size: int, lines: int) -> None:
        self._bytes_left -= size
        self._lines_left -= lines

    def _is_full(self) -> bool:
        return self._bytes_left < 0 or self._lines_left < 0

    def _next_tick(self) -> int:
        self._tick += 1
        return self._tick

    def _shown(self, text: str, asked: Asked) -> str:
        """With the key of the asked host, and no other, in place of its placeholder."""
        variable = asked.endpoint.variable
        key = self._keys.get(variable) if variable is not None else None
        return text.replace(placeholder(variable), key) if variable is not None and key else text

    def _shown_headers(self, asked: Asked) -> list[tuple[str, str]]:
        return [(name, self._shown(text, asked)) for name, text in asked.headers]

    def _hosts(self, is_one: Callable[[_Note], bool]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note.asked.endpoint.name for note in self._notes if is_one(note)))

    def _exchange_of(self, note: _Note) -> Exchange:
        asked = note.asked
        chunks, binary = _texts(note.chunks)
        answer = Answer(
            status=note.status,
            headers=note.headers,
            chunks=chunks,
            binary=True if binary else None,
            end=note.end,
            left_after=note.left_after,
            closed=note.closed,
        )
        headers = kept_headers(asked.headers, REQUEST_HEADERS)
        return Exchange(
            host=asked.endpoint.name,
            method=asked.method,
            path=kept_path(self._remover.text(asked.target)),
            headers={name: self._remover.text(text) for name, text in headers.items()},
            body=note.body,
            asked=note.tick,
            done=note.done or self._tick + 1,
            answer=answer,
            frames=tuple(note.frames),
        )


def _checked(variable: str, key: str) -> str:
    if not _KEY.fullmatch(key):
        raise UsageError(
            f"${variable}: its value cannot be a key: "
            + ("it is empty" if not key else "it has other than visible ASCII characters"),
            hint=f"set {variable} to the key alone",
        )
    return key


class _Passing:
    """An answer on its way to the client and into the recording.

    One whose length was told is whole before the client gets it, since without a key it may have another
    length; so is a 401. Others pass in the pieces in which they come.
    """

    def __init__(
        self, note: _Note, client: Client, remover: KeyRemover, spend: Callable[[int, int], None]
    ) -> None:
        self._note = note
        self._client = client
        self._remover = remover
        self._pieces = remover.pieces()
        self._spend = spend
        self._whole: list[bytes] | None = None

    async def head(self, response: h11.Response) -> None:
        """Its status and headers."""
        told = [(name.decode("ascii").lower(), text.decode("latin-1")) for name, text in response.headers]
        kept = kept_headers(told, ANSWER_HEADERS)
        self._note.status = response.status_code
        self._note.headers = {name: self._remover.text(text) for name, text in kept.items()}
        if response.status_code == _UNAUTHORIZED or any(name == "content-length" for name, _ in told):
            self._whole = []
        else:
            await self._tell(lambda client: client.start(response.status_code, self._note.headers.items()))

    async def data(self, data: bytes) -> None:
        """A piece of its body."""
        clean = self._pieces.feed(data)
        if not clean:
            return
        if self._whole is not None:
            self._whole.append(clean)
            self._spend(len(clean), 0)
        else:
            self._keep(clean)
            await self._tell(lambda client: client.send(clean))

    async def end(self) -> None:
        """It is complete."""
        rest = self._pieces.end()
        self._note.end = "complete"
        if self._whole is None:
            if rest:
                self._keep(rest)
                await self._tell(lambda client: client.send(rest))
            await self._tell(lambda client: client.end())
            return
        body = b"".join([*self._whole, rest])
        status = self._note.status or 0
        if status == _UNAUTHORIZED:
            body = denial(body)
        if body:
            self._keep(body)
        await self._tell(lambda client: client.whole(status, self._note.headers.items(), body))

    async def cut(self) -> None:
        """It ends here, though it is not complete."""
        if self._note.status is None:
            return
        self._note.end = "cut"
        if self._whole:
            body = b"".join(self._whole)
            self._keep(body)
            await self._tell(
                lambda client: client.partial(self._note.status or 0, self._note.headers.items(), body)
            )

    def _keep(self, data: bytes) -> None:
        self._note.chunks.append((self._note.ms(), data))
        # What was whole first was counted as it came.
        self._spend(_ROUND + (len(data) if self._whole is None else 0), 4)

    async def _tell(self, tell: Callable[[Client], Awaitable[None]]) -> None:
        """Tell the client, unless it has left."""
        if self._note.left_after is None:
            try:
                await tell(self._client)
            except ConnectionError:
                self._note.left_after = len(self._note.chunks)


async def _next(
    upstream: Upstream, note: _Note, leaving: asyncio.Future[None]
) -> h11.Response | h11.Data | h11.EndOfMessage | None:
    """What comes next; None where nothing does, or where its client left before it began."""
    getting = asyncio.ensure_future(upstream.next())
    try:
        both: set[asyncio.Future[Any]] = {getting, leaving}  # Any: they are waited for alone
        await asyncio.wait(both, timeout=_SILENCE, return_when=asyncio.FIRST_COMPLETED)
        if leaving.done():
            if note.left_after is None:
                note.left_after = len(note.chunks)
                note.drain_until = time.monotonic() + _DRAIN
            if note.status is None and not getting.done():
                return None
            await asyncio.wait({getting}, timeout=max(0.0, note.drain_until - time.monotonic()))
        return getting.result() if getting.done() else None
    finally:
        getting.cancel()


def _texts(chunks: Sequence[tuple[int, bytes]]) -> tuple[tuple[tuple[int, str], ...], bool]:
    """Chunks as text, a character being in one of them, and False; or in base64, and True."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        b"".join(data for _, data in chunks).decode("utf-8")
    except UnicodeDecodeError:
        return tuple((ms, base64.b64encode(data).decode("ascii")) for ms, data in chunks), True
    return tuple((ms, decoder.decode(data)) for ms, data in chunks), False
