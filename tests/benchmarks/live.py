"""What a provider's relay costs: its start, a request recorded and replayed, the size of what is kept.

    python -m tests.benchmarks.live [REQUESTS]

The server is on loopback and answers at once, so that a request's time is the relay's and the client's own.
Each request has a connection of its own, with TLS, as most scripts have.
"""

import statistics
import sys
import time
import zlib
from collections.abc import Callable

from agentproof.live.authority import Authority
from tests.live.provider import serving
from tests.live.relayed import HOST, capturing, sealed


def _ms(work: Callable[[], object], times: int) -> list[float]:
    found = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        found.append((time.perf_counter() - started) * 1000)
    return found


def _told(name: str, figures: list[float]) -> None:
    low, middle, high = min(figures), statistics.median(figures), max(figures)
    print(
        f"{name:<34} {low:7.1f} {middle:7.1f} {high:7.1f} ms   (minimum, median, maximum of {len(figures)})"
    )


def main(requests: int) -> None:
    """Print the figures."""
    body = {"model": "m", "input": "hello", "stream": True}
    _told("start: authority and certificate", _ms(lambda: Authority.create().context(HOST), 10))
    with serving() as provider:
        with capturing(provider.url, max_requests=requests) as (relayed, capture):
            _told("a request, recorded", _ms(lambda: relayed.ask(body), requests))
        exchanges = capture.exchanges()
    with sealed(exchanges) as (relayed, _):
        _told("a request, replayed", _ms(lambda: relayed.ask(body), requests))
    data = exchanges.to_bytes()
    print(
        f"kept of {requests} streamed requests: {len(data):,} bytes, {len(data) // requests:,} each;", end=" "
    )
    print(f"{len(zlib.compress(data)) // requests:,} each when compressed")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
