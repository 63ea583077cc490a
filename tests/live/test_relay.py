"""What a script asks through the relay is asked, kept, and answered again without a network."""

import http.client
import json
import random
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentproof.errors import CannotDoError
from agentproof.limits import MAX_EXCHANGES_BYTES
from agentproof.live.keys import find_key
from agentproof.models.exchanges import Exchanges

from .provider import Provider, serving
from .relayed import KEY, PLACEHOLDER, Relayed, capturing, sealed

CASES = ["m", "429x2", "429x2", "429x2", "500", "400", "401", "gzip", "binary", "echo"]
"""Models by which the provider behaves in some way, and answers to the end."""


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with serving() as found:
        yield found


def _body(model: str, *, stream: bool = False, **more: Any) -> dict[str, Any]:  # Any: a JSON document
    return {"model": model, "input": "hello", **({"stream": True} if stream else {}), **more}


def _read(exchanges: Exchanges) -> Exchanges:
    """As a reader gets it."""
    return Exchanges.from_bytes(exchanges.to_bytes())


def test_answers_and_errors_come_again_as_they_came(provider: Provider) -> None:
    streamed = [_body(model, stream=True) for model in ("m", "echo")]
    bodies = [*(_body(model) for model in CASES), *streamed]
    with capturing(provider.url) as (relayed, capture):
        answers = [relayed.ask(body) for body in bodies]
    exchanges = _read(capture.exchanges())
    asked = len(provider.asked)
    with sealed(exchanges) as (relayed, replaying):
        assert [relayed.ask(body) for body in bodies] == answers
    outcome = replaying.outcome()
    assert [(row.exchange, row.level) for row in outcome.rows] == [(i, "exact") for i in range(len(bodies))]
    assert outcome.unused == ()
    assert len(provider.asked) == asked  # nobody was asked again
    assert [status for status, _, _ in answers] == [200, 429, 429, 200, 500, 400, 401, *[200] * 5]
    summary = capture.summary()
    assert (summary.requests, summary.streamed, summary.tokens) == (12, 2, 3 * 18)
    assert summary.models == ("m-2026", "429x2-2026")
    assert summary.denied == (exchanges.exchanges[0].host,)


def test_only_listed_headers_reach_the_script_and_the_recording(provider: Provider) -> None:
    with capturing(provider.url) as (relayed, capture):
        _, _, headers = relayed.ask(_body("m"), headers={"x-api-key": PLACEHOLDER, "openai-beta": "a=b"})
    assert headers.keys() == {"content-type", "content-length", "x-request-id"}
    (exchange,) = capture.exchanges().exchanges
    assert exchange.headers == {"content-type": "application/json", "openai-beta": "a=b"}
    assert exchange.answer.headers.keys() == {"content-type", "x-request-id"}
    assert b"org-secret" not in capture.exchanges().to_bytes()


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_that_is_echoed_in_every_spelling_and_in_pieces_never_comes_in(
    provider: Provider, stream: bool
) -> None:
    with capturing(provider.url) as (relayed, capture):
        _, body, headers = relayed.ask(_body("echo", stream=stream), "/v1/responses?key=" + PLACEHOLDER)
    method, path, sent, _ = provider.asked[-1]
    assert (method, path) == ("POST", f"/v1/responses?key={KEY}")
    assert sent["authorization"] == f"Bearer {KEY}"  # it did go out
    keys = {"OPENAI_API_KEY": KEY}
    assert find_key(body, keys) is None
    assert find_key(repr(headers).encode(), keys) is None
    assert find_key(capture.exchanges().to_bytes(), keys) is None
    assert body.count(PLACEHOLDER.encode()) > 8
    assert capture.exchanges().exchanges[0].path == "/v1/responses?key=<key>"


def test_a_placeholder_in_a_body_stays_one(provider: Provider) -> None:
    with capturing(provider.url) as (relayed, _):
        relayed.ask(_body("m", metadata={"note": PLACEHOLDER}))
    assert json.loads(provider.asked[-1][3])["metadata"] == {"note": PLACEHOLDER}


def test_of_a_401_no_part_of_the_key_is_kept(provider: Provider) -> None:
    with capturing(provider.url) as (relayed, capture):
        status, body, _ = relayed.ask(_body("401"))
    assert status == 401
    assert json.loads(body)["error"]["code"] == "invalid_api_key"
    assert KEY[-4:].encode() not in body + capture.exchanges().to_bytes()


@pytest.mark.parametrize("model", ["drop", "cut", "short"])
def test_a_cut_is_cut_again_at_the_same_place(provider: Provider, model: str) -> None:
    def ask(relayed: Relayed) -> bytes:
        with pytest.raises((http.client.IncompleteRead, http.client.RemoteDisconnected)) as raised:
            relayed.ask(_body(model, stream=model == "cut"))
        return bytes(getattr(raised.value, "partial", b""))

    with capturing(provider.url) as (relayed, capture):
        came = ask(relayed)
    exchanges = _read(capture.exchanges())
    assert exchanges.exchanges[0].answer.end == ("none" if model == "drop" else "cut")
    with sealed(exchanges) as (relayed, _):
        assert ask(relayed) == came


def test_a_client_that_waits_in_vain_waits_in_vain_again(provider: Provider) -> None:
    with capturing(provider.url) as (relayed, capture), pytest.raises(TimeoutError):
        relayed.ask(_body("silent"), timeout=0.3)
    exchanges = _read(capture.exchanges())
    answer = exchanges.exchanges[0].answer
    assert (answer.status, answer.end, answer.left_after) == (None, "none", 0)
    with sealed(exchanges) as (relayed, _), pytest.raises(TimeoutError):
        relayed.ask(_body("silent"), timeout=0.3)


def test_a_client_that_leaves_a_stream_is_noted_and_the_rest_is_read(provider: Provider) -> None:
    def leave(relayed: Relayed) -> bytes:
        connection = relayed.connect()
        connection.request("POST", "/v1/responses", json.dumps(_body("slow-stream", stream=True)))
        came = connection.getresponse().read(100)
        connection.close()
        return came

    with capturing(provider.url) as (relayed, capture):
        came = leave(relayed)
        _wait(lambda: capture.exchanges().exchanges[0].answer.end == "complete")
    exchanges = _read(capture.exchanges())
    answer = exchanges.exchanges[0].answer
    assert answer.left_after is not None
    assert 0 < answer.left_after < len(answer.chunks)
    with sealed(exchanges) as (relayed, _):
        assert len(leave(relayed)) == len(came)


def _wait(until: Any) -> None:  # Any: a question without arguments
    done = threading.Event()
    for _ in range(200):
        if until():
            return
        done.wait(0.05)
    pytest.fail("it did not come")


@pytest.mark.parametrize(
    ("method", "path", "headers", "why"),
    [
        ("GET", "/v1/files", {}, "no model endpoint"),
        ("DELETE", "/v1/responses/resp_1", {}, "no model endpoint"),
        ("GET", "/v1/responses/resp_1", {}, "no model endpoint"),
        ("POST", "/v1/responses/../files", {}, "no model endpoint"),
        ("POST", "/v1/responses%2f..%2ffiles", {}, "no model endpoint"),
        ("GET", "/v1/organization/admin_api_keys", {}, "no model endpoint"),
        ("POST", "/v1/responses", {"host": "evil.example"}, "is not the host"),
        ("POST", "/v1/responses", {"host": "127.0.0.1"}, "is not the host"),
        ("POST", "http://evil.example/v1/responses", {}, "is not the host"),
        ("POST", "/v1/responses", {"authorization": "AWS4-HMAC-SHA256 Credential=a"}, "signs with the key"),
        ("POST", "/v1/responses?X-Amz-Signature=1", {}, "a signature made with the key"),
    ],
)
def test_what_is_no_model_endpoint_of_the_host_is_refused(
    provider: Provider, method: str, path: str, headers: dict[str, str], why: str
) -> None:
    asked = len(provider.asked)
    with capturing(provider.url) as (relayed, capture):
        status, body, told = relayed.ask(None, path, method=method, headers=headers)
    assert (status, told["x-should-retry"]) == (403, "false")
    assert why in json.loads(body)["error"]["message"]
    (refusal,) = capture.summary().refused
    assert why in refusal.reason
    assert capture.exchanges().exchanges == ()
    assert len(provider.asked) == asked


def test_an_oauth_exchange_is_refused_by_name(provider: Provider) -> None:
    with capturing(provider.url, paths=("/oauth",)) as (relayed, _):
        form = {"content-type": "application/x-www-form-urlencoded"}
        status, body, _ = relayed.ask(b"grant_type=client_credentials", "/oauth/token", headers=form)
    assert status == 403
    assert b"OAuth" in body


def test_a_named_path_is_open_with_all_below_it(provider: Provider) -> None:
    with capturing(provider.url, paths=("/v1/conversations",)) as (relayed, _):
        assert relayed.ask({}, "/v1/conversations/c/items")[0] == 200
        assert relayed.ask({}, "/v1/conversations_of_others")[0] == 403


def test_traces_are_swallowed(provider: Provider) -> None:
    asked = len(provider.asked)
    with capturing(provider.url) as (relayed, capture):
        assert relayed.ask({"data": []}, "/v1/traces/ingest")[:2] == (204, b"")
    assert (len(provider.asked), capture.exchanges().exchanges) == (asked, ())


def test_more_requests_than_allowed_are_refused(provider: Provider) -> None:
    with capturing(provider.url, max_requests=2) as (relayed, capture):
        statuses = [relayed.ask(_body("m"))[0] for _ in range(4)]
    assert statuses == [200, 200, 403, 403]
    assert capture.summary().requests == 2
    assert "--max-requests" in capture.summary().refused[0].reason


def test_a_host_that_is_not_there_is_told_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with capturing(f"http://127.0.0.1:{port}") as (relayed, capture):
        status, body, _ = relayed.ask(_body("m"))
    assert status == 502
    assert b"cannot be reached" in body
    assert capture.summary().unreachable == (capture.exchanges().exchanges[0].host,)


def test_an_answer_in_an_encoding_that_hides_is_refused(provider: Provider) -> None:
    with capturing(provider.url) as (relayed, capture):
        assert relayed.ask(_body("brotli"))[0] == 502
    assert "answered in br" in capture.summary().refused[0].reason


def test_a_client_that_trusts_no_run_is_cut_off_and_others_are_not(provider: Provider) -> None:
    with capturing(provider.url) as (relayed, _):
        stranger = http.client.HTTPSConnection("localhost", relayed.port, timeout=10)
        with pytest.raises(ssl.SSLCertVerificationError):
            stranger.request("POST", "/v1/responses", b"{}")
        with socket.create_connection(("localhost", relayed.port)) as silent:
            silent.sendall(b"\x16\x03\x01\x00\x05hello")
        assert relayed.ask(_body("m"))[0] == 200


def test_one_connection_carries_many_requests_in_a_row(provider: Provider) -> None:
    with capturing(provider.url) as (relayed, capture):
        connection = relayed.connect()
        for _ in range(3):
            connection.request("POST", "/v1/responses", json.dumps(_body("m")))
            assert connection.getresponse().read().startswith(b"{")
        connection.close()
    assert len(capture.exchanges().exchanges) == 3


TOGETHER = [*range(6), *[6] * 6]
"""Twelve questions, six of them the same."""


def _together(relayed: Relayed, order: Sequence[int]) -> list[tuple[int, str]]:
    """Each question with its answer, asked at the same time in threads that start in this order."""

    def ask(number: int) -> tuple[int, str]:
        body = _body("m", metadata={"sleep": str(number % 3 / 50)})
        status, answer, _ = relayed.ask({**body, "input": f"question {number}"})
        assert status == 200
        return number, json.loads(answer)["output"][0]["content"][0]["text"] + json.loads(answer)["id"]

    with ThreadPoolExecutor(len(order)) as pool:
        return sorted(pool.map(ask, order))


@pytest.mark.parametrize("times", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_of_requests_asked_together_none_gets_the_answer_to_another_question(
    provider: Provider, times: int
) -> None:
    with capturing(provider.url) as (relayed, capture):
        answers = _together(relayed, TOGETHER)
    assert len(set(answers)) == len(TOGETHER)
    exchanges = _read(capture.exchanges())
    for seed in range(times):
        order = random.Random(seed).sample(TOGETHER, len(TOGETHER))  # noqa: S311  (an order)
        with sealed(exchanges) as (relayed, replaying):
            assert _together(relayed, order) == answers
        assert {row.level for row in replaying.outcome().rows} == {"exact"}
        assert replaying.outcome().unused == ()


@pytest.mark.slow
def test_more_than_a_bundle_may_hold_is_no_recording(provider: Provider) -> None:
    with capturing(provider.url) as (relayed, capture):
        status, body, _ = relayed.ask(_body("large", size=MAX_EXCHANGES_BYTES - 20_000))
        assert (status, len(body)) == (200, MAX_EXCHANGES_BYTES - 20_000)
        assert len(capture.exchanges().to_bytes()) <= MAX_EXCHANGES_BYTES
        with pytest.raises(http.client.IncompleteRead):
            relayed.ask(_body("large", size=20_000))
        with pytest.raises(CannotDoError, match="over 16 MiB"):
            capture.exchanges()
        status, body, _ = relayed.ask(_body("m"))  # nothing more goes out
    assert (status, b"over 16 MiB" in body) == (403, True)
