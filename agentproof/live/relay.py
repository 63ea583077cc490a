"""The relay: ends TLS for the hosts that a script may ask, and hands each request to what answers it.

1. It accepts on sockets that were opened where the script runs; it runs in a thread of its own, outside.
2. A request is for the host of its socket: any other `Host`, an absolute target, or a path that the host's
   endpoints do not open is answered 403 and told to what answers (`refused`).
3. Schemes that a placeholder cannot serve (signatures made of the key, tokens bought with it) are refused by
   name.
4. What an SDK's tracing exporter sends is swallowed: answered 204, neither passed on nor kept.
5. A client is answered over HTTP/1.1 (h11) or, where it asked for that, a websocket (wsproto).
"""

import asyncio
import contextlib
import json
import re
import socket
import ssl
import threading
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import h11
from wsproto.utilities import RemoteProtocolError

from ..errors import RecorderError
from ..limits import MAX_EXCHANGES_BYTES
from .authority import Authority
from .providers import WEBSOCKET, Endpoint, merged
from .websocket import Websocket

_HEAD: Final = 2**18
_READ: Final = 2**16
_TLS_RECORD: Final = 0x16
"""The first byte of a client's greeting (RFC 8446, 5.1)."""
_CLOSE: Final = 1.0
"""Seconds for a client to take note of the end."""
_CONNECTIONS: Final = 512
_TRACING: Final = ("POST", "/v1/traces/ingest")
_EMPTY: Final = frozenset({204, 304})
"""Statuses that have no body (RFC 9110, 6.4.1)."""
_JSON: Final = ("content-type", "application/json")
_BROKEN: Final = (h11.RemoteProtocolError, RemoteProtocolError, ConnectionError, ssl.SSLError)
"""What a client may do to its connection."""

_SCHEMES: Final = re.compile(
    r"(aws4-\S+|digest|hawk|negotiate|ntlm|oauth|hmac\S*|sharedkey\S*)(?:\s|$)", re.IGNORECASE
)
_SIGNED_QUERY: Final = re.compile(r"[?&](x-amz-signature|x-goog-signature|sig)=", re.IGNORECASE)
_GRANT: Final = re.compile(rb"(?:^|&)(?:grant_type|assertion|client_assertion)=")


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    endpoint: Endpoint
    method: str
    """`WS` for a GET that asks for a websocket."""
    target: str
    headers: tuple[tuple[str, str], ...]
    """Names in small letters."""
    body: bytes = b""
    secure: bool = True
    """Whether it came over TLS."""

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str:
        """A header's first value; empty where there is none."""
        return next((text for each, text in self.headers if each == name), "")


@dataclass(frozen=True)
class Refusal:
    """A request that was not let through."""

    host: str
    method: str
    path: str
    reason: str


class Answering(Protocol):
    """What answers requests: the provider, or a recording."""

    async def answer(self, asked: Asked, client: "Client") -> None:
        """Answer through `client`; a client that was not answered to the end is cut off."""

    def refused(self, refusal: Refusal) -> None:
        """Take note of a request that the relay refused."""


class Client:
    """The side of one request that waits for an answer."""

    def __init__(self, stream: "_Stream", asked: Asked) -> None:
        self._stream = stream
        self._asked = asked

    async def start(
        self, status: int, headers: Iterable[tuple[str, str]], *, length: int | None = None
    ) -> None:
        """Send the head; without a length the body comes in chunks."""
        given = [*headers, *([("content-length", str(length))] if length is not None else [])]
        await self._stream.send(h11.Response(status_code=status, headers=given))

    async def send(self, data: bytes) -> None:
        """Send a part of the body."""
        await self._stream.send(h11.Data(data=data))

    async def end(self) -> None:
        """Say that the body is whole."""
        await self._stream.send(h11.EndOfMessage())

    async def whole(self, status: int, headers: Iterable[tuple[str, str]], body: bytes = b"") -> None:
        """Send a whole answer."""
        await self.start(status, headers, length=None if status in _EMPTY else len(body))
        if body and status not in _EMPTY:
            await self.send(body)
        await self.end()

    async def partial(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        """Send an answer that promises more than it has."""
        await self.start(status, headers, length=len(body) + 1)
        await self.send(body)

    async def refuse(self, status: int, reason: str) -> None:
        """Send an error of ours, which no client should try again."""
        error = {"message": f"agentproof: {reason}", "type": "agentproof", "code": "agentproof_refused"}
        body = json.dumps({"error": error}).encode()
        await self.whole(status, [_JSON, ("x-should-retry", "false")], body)

    async def gone(self) -> None:
        """Come back when the client has left."""
        await self._stream.watch()

    async def websocket(self, subprotocol: str | None) -> Websocket:
        """Accept a websocket."""
        return await self._stream.upgrade(self._asked, subprotocol)


class Relay:
    """Serves the sockets of one run, from `serve` to `close`."""

    def __init__(self, endpoints: Iterable[Endpoint], authority: Authority, answering: Answering) -> None:
        self._endpoints = {(each.host, each.port): each for each in merged(endpoints)}
        self._authority = authority
        self._answering = answering
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Future[None]] = set()
        self._failure: BaseException | None = None

    def serve(self, listeners: Mapping[tuple[str, int], socket.socket]) -> None:
        """Serve sockets that listen, each for a host and a port, in a thread; they are closed with the relay.

        Raises:
            RuntimeError: there is no endpoint for one of them, or the relay serves already.
        """
        if self._thread is not None:
            raise RuntimeError("a relay serves once")
        if unknown := listeners.keys() - self._endpoints.keys():
            raise RuntimeError(f"no endpoint for {sorted(unknown)}")
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(dict(listeners), ready), daemon=True)
        self._thread.start()
        ready.wait()

    def close(self) -> None:
        """End all connections and wait for the thread.

        Raises:
            RecorderError: the relay itself failed on the way.
        """
        thread, loop = self._thread, self._loop
        if thread is None or loop is None:
            return
        with contextlib.suppress(RuntimeError):  # it has ended by itself
            loop.call_soon_threadsafe(self._stop.set)
        thread.join()
        self._loop = None
        if self._failure is not None:
            raise RecorderError(f"the relay failed: {type(self._failure).__name__}") from self._failure

    def _run(self, listeners: Mapping[tuple[str, int], socket.socket], ready: threading.Event) -> None:
        try:
            asyncio.run(self._serve(listeners, ready))
        except Exception as error:  # noqa: BLE001  (told by `close`, in the thread that asked for the relay)
            self._failure = error
        finally:
            ready.set()

    async def _serve(
        self, listeners: Mapping[tuple[str, int], socket.socket], ready: threading.Event
    ) -> None:
        self._loop = asyncio.get_running_loop()
        for place, listener in listeners.items():
            listener.setblocking(False)
            self._start(self._accept(listener, self._endpoints[place]))
        ready.set()
        await self._stop.wait()
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)
        for listener in listeners.values():
            listener.close()

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = self._failure or error

    async def _accept(self, listener: socket.socket, endpoint: Endpoint) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(listener)
            if len(self._tasks) > _CONNECTIONS:
                connection.close()
            else:
                self._start(self._connection(connection, endpoint))

    async def _connection(self, connection: socket.socket, endpoint: Endpoint) -> None:
        connection.setblocking(False)
        # asyncio does so too, but not where a listener was made without naming its protocol.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        try:
            secure = await _first_byte(connection) == _TLS_RECORD
            context = self._authority.context(endpoint.host) if secure else None
            stream = await _Stream.of(connection, context)
        except OSError:  # a client that trusts another authority, or has left
            connection.close()
            return
        except asyncio.CancelledError:
            connection.close()
            raise
        try:
            await self._requests(stream, endpoint, secure)
        except _BROKEN:
            pass  # what answered has noted how far it came
        finally:
            await stream.close()

    async def _requests(self, stream: "_Stream", endpoint: Endpoint, secure: bool) -> None:
        while (asked := await stream.request(endpoint, secure=secure)) is not None:
            client = Client(stream, asked)
            if (asked.method, asked.path) == _TRACING:
                await client.start(204, [])
                await client.end()
            elif (reason := _reason_against(asked)) is not None:
                self._answering.refused(Refusal(endpoint.name, asked.method, asked.path, reason))
                await client.refuse(403, reason)
            else:
                await self._answering.answer(asked, client)
            if not stream.again():
                return


def _reason_against(asked: Asked) -> str | None:
    """Why a request is not let through."""
    return _misdirected(asked) or _made_of_the_key(asked) or _closed(asked)


def _misdirected(asked: Asked) -> str | None:
    endpoint = asked.endpoint
    if asked.header("host").lower() not in {endpoint.host, f"{endpoint.host}:{endpoint.port}"}:
        return f"{asked.header('host') or 'a request without Host'} is not the host that was connected to"
    if not asked.target.startswith("/"):
        return f"{asked.target} is not a path"
    return None


def _made_of_the_key(asked: Asked) -> str | None:
    if (scheme := _SCHEMES.match(asked.header("authorization"))) is not None:
        return f"the scheme {scheme[1]} signs with the key, which stays outside the sandbox"
    if (query := _SIGNED_QUERY.search(asked.target)) is not None:
        return f"{query[1]} is a signature made with the key, which stays outside the sandbox"
    if asked.header("content-type").startswith("application/x-www-form-urlencoded") and _GRANT.search(
        asked.body
    ):
        return "an OAuth exchange buys a token with the key, which stays outside the sandbox"
    return None


def _closed(asked: Asked) -> str | None:
    endpoint = asked.endpoint
    if endpoint.opens(asked.method, asked.path):
        return None
    equals = f"={endpoint.variable}" if endpoint.variable else ""
    return (
        f"{asked.method} {asked.path} is no model endpoint of {endpoint.name}; "
        f"name it with --live {endpoint.name}{asked.path}{equals}"
    )


async def _first_byte(connection: socket.socket) -> int | None:
    """What a client sends first, left where it is; None where it leaves without a word."""
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(connection, _set, readable)
    try:
        await readable
    finally:
        loop.remove_reader(connection)
    first = connection.recv(1, socket.MSG_PEEK)
    return first[0] if first else None


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _Stream:
    """One connection of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD)
        self._upgraded = False

    @classmethod
    async def of(cls, connection: socket.socket, context: ssl.SSLContext | None) -> "_Stream":
        """Of an accepted socket; raises OSError where TLS cannot be agreed on."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_READ)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=context)
        return cls(reader, asyncio.StreamWriter(transport, protocol, reader, loop))

    async def request(self, endpoint: Endpoint, *, secure: bool) -> Asked | None:
        """The next request with its body; None at the end of the connection."""
        head = await self._event()
        if not isinstance(head, h11.Request):
            return None
        if self._http.they_are_waiting_for_100_continue:
            await self.send(h11.InformationalResponse(status_code=100, headers=[]))
        parts, size = [], 0
        while isinstance(event := await self._event(), h11.Data):
            parts.append(bytes(event.data))
            size += len(event.data)
            if size > MAX_EXCHANGES_BYTES:
                await Client(self, Asked(endpoint, "", "", ())).refuse(413, "the request is over 16 MiB")
                return None
        headers = tuple((name.decode("ascii").lower(), text.decode("latin-1")) for name, text in head.headers)
        upgrade = next((text.lower() for name, text in headers if name == "upgrade"), "")
        method = WEBSOCKET if upgrade == "websocket" else head.method.decode("ascii")
        return Asked(endpoint, method, head.target.decode("latin-1"), headers, b"".join(parts), secure)

    async def _event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(_READ))
        return event

    async def send(self, event: h11.Event) -> None:
        """Send what h11 makes of an event."""
        if data := self._http.send(event):
            self._writer.write(data)
            await self._writer.drain()

    async def watch(self) -> None:
        """Come back when the client has closed; what it asks meanwhile waits."""
        with contextlib.suppress(*_BROKEN):
            while data := await self._reader.read(_READ):
                self._http.receive_data(data)

    def again(self) -> bool:
        """Whether this connection can carry another request; it is made ready for that."""
        if self._upgraded or self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def upgrade(self, asked: Asked, subprotocol: str | None) -> Websocket:
        """Become a websocket."""
        self._upgraded = True
        rest, _ = self._http.trailing_data
        return await Websocket.accepted(
            self._reader,
            self._writer,
            headers=asked.headers,
            target=asked.target,
            subprotocol=subprotocol,
            rest=rest,
        )

    async def close(self) -> None:
        """Close without a word: a client that was not answered to the end sees the cut."""
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), _CLOSE)
