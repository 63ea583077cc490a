"""One websocket, of either side: whole text messages in and out (RFC 6455, by wsproto).

Pings are answered here. No extension is agreed on, so that texts are texts on the wire. A binary message ends
the websocket (1003), and so does one that is too long (1009).
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, Self

import wsproto
from wsproto import events
from wsproto.connection import ConnectionState
from wsproto.utilities import ProtocolError

from ..limits import MAX_EXCHANGES_BYTES

_READ: Final = 2**16
_NORMAL: Final = 1000
_PROTOCOL: Final = 1002
_NO_BINARY: Final = 1003
_TOO_LONG: Final = 1009


class Rejected(Exception):  # noqa: N818  (an answer, not a fault)
    """The other side answered a handshake with a status of its own."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


class Websocket:
    """An open websocket."""

    def __init__(
        self, connection: wsproto.WSConnection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._connection = connection
        self._reader = reader
        self._writer = writer
        self._parts: list[str] = []
        self._size = 0
        self._whole: deque[str] = deque()
        self._ended = False
        self.closed: int | None = None
        """The code with which the other side closed; None where it left without a word, or has not."""
        self.fault: str | None = None
        """What of the other side's ended it."""

    @classmethod
    async def accepted(
        cls,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        headers: Iterable[tuple[str, str]],
        target: str,
        subprotocol: str | None,
        rest: bytes,
    ) -> Self:
        """Of a client whose request was read; `rest` is what it sent after that."""
        connection = wsproto.WSConnection(wsproto.ConnectionType.SERVER)
        raw = [(name.encode("ascii"), text.encode("latin-1")) for name, text in headers]
        connection.initiate_upgrade_connection(raw, target)
        next(iter(connection.events()))
        writer.write(connection.send(events.AcceptConnection(subprotocol=subprotocol)))
        await writer.drain()
        opened = cls(connection, reader, writer)
        if rest:
            connection.receive_data(rest)
            await opened._take()
        return opened

    @classmethod
    async def asked(
        cls,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        host: str,
        target: str,
        headers: Iterable[tuple[str, str]],
        subprotocols: Sequence[str],
    ) -> tuple[Self, str | None]:
        """Ask a server for one; with the subprotocol that it chose.

        Raises:
            Rejected: it answered with another status.
            ConnectionError: it left.
        """
        connection = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
        extra = [(name.encode("ascii"), text.encode("latin-1")) for name, text in headers]
        request = events.Request(
            host=host, target=target, subprotocols=list(subprotocols), extra_headers=extra
        )
        writer.write(connection.send(request))
        await writer.drain()
        rejected: events.RejectConnection | None = None
        body = b""
        while True:
            for event in connection.events():
                match event:
                    case events.AcceptConnection():
                        opened = cls(connection, reader, writer)
                        await opened._take()
                        return opened, event.subprotocol
                    case events.RejectConnection():
                        rejected = event
                        if not event.has_body:
                            raise Rejected(event.status_code, b"")
                    case events.RejectData():
                        body += event.data
                        if event.body_finished and rejected is not None:
                            raise Rejected(rejected.status_code, body)
            data = await reader.read(_READ)
            if not data:
                raise ConnectionResetError("left during the handshake")
            connection.receive_data(data)

    async def receive(self) -> str | None:
        """The next message; None at the end, however it came."""
        while not self._whole and not self._ended:
            try:
                data = await self._reader.read(_READ)
                if not data:
                    break
                self._connection.receive_data(data)
            except ConnectionError:
                break
            await self._take()
        if self._whole:
            return self._whole.popleft()
        self._ended = True
        return None

    async def send(self, text: str) -> None:
        """Send a message; raises ConnectionError where the other side is not there any more."""
        await self._send(events.TextMessage(data=text))

    async def close(self, code: int = _NORMAL, reason: str = "") -> None:
        """Close, or answer a close; what cannot be said any more is not."""
        with contextlib.suppress(ProtocolError, ConnectionError):
            await self._send(events.CloseConnection(code=code, reason=reason[:120]))
        self._writer.close()

    def cut(self) -> None:
        """Leave without a word."""
        self._writer.close()

    async def _send(self, event: events.Event) -> None:
        try:
            self._writer.write(self._connection.send(event))
        except ProtocolError as error:
            raise ConnectionResetError(str(error)) from error
        await self._writer.drain()

    async def _take(self) -> None:
        """Take what was received apart."""
        try:
            for event in self._connection.events():
                await self._take_event(event)
        except ProtocolError as error:
            await self._end(_PROTOCOL, str(error))

    async def _take_event(self, event: events.Event) -> None:
        match event:
            case events.TextMessage():
                self._parts.append(event.data)
                self._size += len(event.data)
                if self._size > MAX_EXCHANGES_BYTES:
                    await self._end(_TOO_LONG, "a message of more than 16 MiB")
                elif event.message_finished:
                    self._whole.append("".join(self._parts))
                    self._parts, self._size = [], 0
            case events.BytesMessage():
                await self._end(_NO_BINARY, "a binary message")
            case events.Ping():
                with contextlib.suppress(ConnectionError):
                    await self._send(event.response())
            case events.CloseConnection():
                self.closed = event.code
                self._ended = True
                if self._connection.state is ConnectionState.REMOTE_CLOSING:
                    with contextlib.suppress(ConnectionError):
                        await self._send(event.response())

    async def _end(self, code: int, fault: str) -> None:
        self.fault = self.fault or fault
        self._ended = True
        await self.close(code, fault)
