"""What ends TLS in front of a script's clients."""

import select
import socket
import ssl
import threading

from agentproof.live.authority import Authority


def test_nothing_is_readable_before_a_client_has_asked() -> None:
    """A session ticket would be: a client with a thread that reads would read beside the one that writes."""
    authority = Authority.create()
    here, there = socket.socketpair()

    def serve() -> None:
        with authority.context("localhost").wrap_socket(there, server_side=True) as server:
            server.recv(1)

    served = threading.Thread(target=serve)
    served.start()
    context = ssl.create_default_context(cadata=authority.pem.decode())
    with context.wrap_socket(here, server_hostname="localhost") as client:
        assert client.version() == "TLSv1.3"
        assert select.select([client], [], [], 0.2)[0] == []
        client.sendall(b"x")
        served.join(10)
