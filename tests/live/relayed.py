"""A relay on loopback, as a script would meet it, and a client of the standard library alone."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agentproof.live.authority import Authority
from agentproof.live.capture import Capture
from agentproof.live.providers import Endpoint
from agentproof.live.relay import Answering, Relay
from agentproof.live.sealed import Sealed
from agentproof.models.exchanges import Exchanges

KEY = "sk-proj-q7Zt0Vw3XyB1nM9kLpRs+/=-dF5"
VARIABLE = "OPENAI_API_KEY"
PLACEHOLDER = "agentproof-openai-api-key"
HOST = "localhost"
Json = dict[str, Any]  # Any: a JSON document


@dataclass(frozen=True)
class Relayed:
    """Where a relay is met."""

    port: int
    authority: Authority

    @property
    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority.pem.decode())

    def connect(self, timeout: float = 20.0) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(HOST, self.port, context=self.context, timeout=timeout)

    def ask(
        self,
        body: Json | bytes | None,
        path: str = "/v1/responses",
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        timeout: float = 20.0,
    ) -> tuple[int, bytes, dict[str, str]]:
        """One request on a connection of its own: status, body, headers."""
        connection = self.connect(timeout)
        try:
            given = {
                "authorization": f"Bearer {PLACEHOLDER}",
                "content-type": "application/json",
                **(headers or {}),
            }
            data = json.dumps(body).encode() if isinstance(body, dict) else body
            connection.request(method, path, data, given)
            answer = connection.getresponse()
            told = {name.lower(): text for name, text in answer.getheaders()}
            return answer.status, answer.read(), told
        finally:
            connection.close()


@contextmanager
def relaying(
    answering: Answering, port: int = 0, *, variable: str | None = VARIABLE, paths: tuple[str, ...] = ()
) -> Iterator[Relayed]:
    """A relay for `localhost`, on some port or the given one."""
    listener = socket.create_server((HOST, port), backlog=64)
    port = listener.getsockname()[1]
    authority = Authority.create()
    relay = Relay([Endpoint(HOST, port, variable, paths)], authority, answering)
    relay.serve({(HOST, port): listener})
    try:
        yield Relayed(port, authority)
    finally:
        relay.close()


@contextmanager
def capturing(
    url: str, port: int = 0, *, max_requests: int = 100, paths: tuple[str, ...] = ()
) -> Iterator[tuple[Relayed, Capture]]:
    """A relay that asks the server at `url` for what the script asks of `localhost`."""
    with socket.create_server((HOST, port)) as found:
        port = found.getsockname()[1]
    capture = Capture([Endpoint(HOST, port, VARIABLE, paths)], {VARIABLE: KEY}, {HOST: url}, max_requests)
    with relaying(capture, port, paths=paths) as relayed:
        yield relayed, capture


@contextmanager
def sealed(
    exchanges: Exchanges, *, streamed: bool = False, paths: tuple[str, ...] = ()
) -> Iterator[tuple[Relayed, Sealed]]:
    """A relay that answers from a recording, at the port where it was made."""
    answering = Sealed(exchanges, streamed)
    with relaying(answering, exchanges.hosts[0].port, paths=paths) as relayed:
        yield relayed, answering
