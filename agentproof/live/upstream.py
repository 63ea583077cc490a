"""The way to a host: a connection for each request, its certificate checked against this machine's CAs."""

import asyncio
import contextlib
import ssl
import zlib
from collections.abc import Iterable, Sequence
from typing import Final, Self
from urllib.parse import urlsplit

import h11

from .providers import HTTPS, Endpoint
from .websocket import Websocket

_READ: Final = 2**16
_CONNECT: Final = 30.0
_HEAD: Final = 2**18
_HOP: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers of one connection (RFC 9110, 7.6.1), and those that are set here."""
_WEBSOCKET: Final = "sec-websocket-"


class Unreadable(Exception):  # noqa: N818  (an answer, not a fault)
    """An answer in an encoding that was not asked for and cannot be read here, in which a key could hide."""


class Upstream:
    """One connection to a host."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)
        self._decoder: zlib._Decompress | None = None

    @classmethod
    async def connect(cls, endpoint: Endpoint, to: str | None) -> Self:
        """Connect over TLS, or to the address on loopback (`http://127.0.0.1:PORT`) that stands for the host.

        Raises:
            OSError: it cannot be reached in time, or its certificate is not one for its name.
        """
        if to is not None:
            address = urlsplit(to)
            connecting = asyncio.open_connection(address.hostname, address.port)
            name = address.netloc
        else:
            context = ssl.create_default_context()
            context.set_alpn_protocols(["http/1.1"])
            connecting = asyncio.open_connection(endpoint.host, endpoint.port, ssl=context)
            name = endpoint.host if endpoint.port == HTTPS else f"{endpoint.host}:{endpoint.port}"
        reader, writer = await asyncio.wait_for(connecting, _CONNECT)
        return cls(reader, writer, name)

    async def ask(self, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        """Send one request."""
        given = [(name.encode(), text.encode("latin-1")) for name, text in headers if name not in _HOP]
        given += [
            (b"host", self._host.encode()),
            (b"connection", b"close"),
            (b"accept-encoding", b"identity"),
        ]
        if body or method in {"POST", "PUT", "PATCH"}:
            given.append((b"content-length", str(len(body)).encode()))
        events: list[h11.Event] = [h11.Request(method=method, target=target, headers=given)]
        events += [h11.Data(data=body)] if body else []
        for event in [*events, h11.EndOfMessage()]:
            if data := self._http.send(event):
                self._writer.write(data)
        await self._writer.drain()

    async def next(self) -> h11.Response | h11.Data | h11.EndOfMessage | None:
        """What comes next; None where the connection ends before the answer does.

        Raises:
            Unreadable: the answer is encoded in a way that cannot be read here.
        """
        try:
            while True:
                event = self._http.next_event()
                match event:
                    case h11.Response():
                        self._decoder = _decoder(event)
                        return event
                    case h11.Data():
                        return h11.Data(data=self._decoded(bytes(event.data)))
                    case h11.EndOfMessage():
                        return event
                    case h11.InformationalResponse():
                        continue
                    case h11.NEED_DATA:
                        self._http.receive_data(await self._reader.read(_READ))
                    case _:
                        return None
        except (h11.RemoteProtocolError, ConnectionError, ssl.SSLError, zlib.error):
            return None

    def _decoded(self, data: bytes) -> bytes:
        return data if self._decoder is None else self._decoder.decompress(data)

    async def websocket(
        self, target: str, headers: Iterable[tuple[str, str]], subprotocols: Sequence[str]
    ) -> tuple[Websocket, str | None]:
        """Ask for a websocket; raises as `Websocket.asked` does."""
        given = [
            (name, text) for name, text in headers if name not in _HOP and not name.startswith(_WEBSOCKET)
        ]
        return await Websocket.asked(
            self._reader,
            self._writer,
            host=self._host,
            target=target,
            headers=given,
            subprotocols=subprotocols,
        )

    async def close(self) -> None:
        """Close, and wait until that is done."""
        self._writer.close()
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), 1.0)


def _decoder(response: h11.Response) -> "zlib._Decompress | None":
    encoding = next((text for name, text in response.headers if name == b"content-encoding"), b"identity")
    match encoding.strip().lower():
        case b"identity" | b"":
            return None
        case b"gzip" | b"x-gzip" | b"deflate":
            return zlib.decompressobj(47)  # gzip or zlib, as its first bytes say
    raise Unreadable(encoding.decode("latin-1"))
