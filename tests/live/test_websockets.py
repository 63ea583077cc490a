"""Websockets through the relay: asked of a server, kept, and answered again message by message."""

import contextlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from agentproof.errors import CannotDoError
from agentproof.live.keys import find_key
from agentproof.live.sealed import Row
from agentproof.models.exchanges import Exchanges

from .relayed import KEY, PLACEHOLDER, VARIABLE, Relayed, capturing, sealed

Json = dict[str, Any]  # Any: a JSON document
RESPONSES = "/v1/responses"
REALTIME = "/v1/realtime?model=gpt-realtime"


def _responses(connection: ServerConnection) -> None:
    """One answer for each request, as the Responses API has it over a websocket."""
    for number, text in enumerate(connection):
        asked = json.loads(text)
        answer = {
            "id": f"resp_{number}",
            "model": asked["model"],
            "output": [],
            "said": f"to {asked['input']}",
        }
        for each in ({"type": "response.created"}, {"type": "response.completed", "response": answer}):
            connection.send(json.dumps(each))
        if asked["input"] == "bye":
            connection.close(1011)
            return


def _realtime(connection: ServerConnection) -> None:
    """Speaks first; answers when it was asked for it."""
    connection.send(json.dumps({"type": "session.created"}))
    said: list[str] = []
    for text in connection:
        asked = json.loads(text)
        said.append(asked["type"])
        if asked["type"] == "echo":
            headers = connection.request.headers if connection.request else {}
            connection.send(f"{headers.get('authorization')} {KEY[::-1]}")
        if asked["type"] == "response.create":
            connection.send(json.dumps({"type": "response.done", "response": {"after": len(said)}}))
        if asked["type"] == "flood":
            with contextlib.suppress(ConnectionClosed):
                for _ in range(4000):
                    connection.send("x" * 10_000)
            return


def _talk(connection: ServerConnection) -> None:
    path = connection.request.path if connection.request else ""
    (_responses if path.startswith(RESPONSES) else _realtime)(connection)


@pytest.fixture(scope="module")
def provider() -> Iterator[Server]:
    def chosen(_: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
        return Subprotocol("realtime") if "realtime" in offered else None

    with serve(_talk, "127.0.0.1", 0, select_subprotocol=chosen) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _url(server: Server) -> str:
    return f"http://127.0.0.1:{server.socket.getsockname()[1]}"


@contextmanager
def _open(
    relayed: Relayed, path: str, **more: Any
) -> Iterator[ClientConnection]:  # Any: options of `connect`
    headers = {"Authorization": f"Bearer {PLACEHOLDER}"}
    uri = f"wss://localhost:{relayed.port}{path}"
    with connect(
        uri, ssl=relayed.context, additional_headers=headers, close_timeout=2, max_size=None, **more
    ) as connection:
        yield connection


def _create(text: str, **more: Any) -> Json:  # Any: parts of a JSON document
    return {"type": "response.create", "model": "gpt-5", "input": text, **more}


def _ask(connection: ClientConnection, body: Json) -> list[str]:
    connection.send(json.dumps(body))
    return [str(connection.recv(10)) for _ in range(2)]


def _record(server: Server, talk: Callable[[Relayed], None]) -> Exchanges:
    with capturing(_url(server)) as (relayed, capture):
        talk(relayed)
    return Exchanges.from_bytes(capture.exchanges().to_bytes())


def _replay(exchanges: Exchanges, talk: Callable[[Relayed], None]) -> tuple[Row, ...]:
    with sealed(exchanges) as (relayed, answering):
        talk(relayed)
    outcome = answering.outcome()
    assert outcome.refused == ()
    return outcome.rows


def _levels(rows: Sequence[Row]) -> list[tuple[int | None, str]]:
    return [(row.exchange, row.level) for row in rows]


def test_each_request_on_a_websocket_gets_its_own_answer_wherever_it_is_asked(provider: Server) -> None:
    answers: dict[str, list[str]] = {}

    def recorded(relayed: Relayed) -> None:
        with _open(relayed, RESPONSES) as one, _open(relayed, RESPONSES) as other:
            for connection, text in ((one, "a"), (other, "b"), (one, "c")):
                answers[text] = _ask(connection, _create(text))

    def replayed(relayed: Relayed) -> None:
        with _open(relayed, RESPONSES) as one:
            for text in ("b", "a", "c"):
                assert (
                    _ask(one, _create(text, temperature=1) if text == "c" else _create(text)) == answers[text]
                )

    exchanges = _record(provider, recorded)
    assert [len(each.frames) for each in exchanges.exchanges] == [6, 3]
    assert _levels(_replay(exchanges, replayed)) == [(1, "exact"), (0, "exact"), (0, "question")]


def test_what_is_not_in_the_recording_ends_a_websocket(provider: Server) -> None:
    def recorded(relayed: Relayed) -> None:
        with _open(relayed, RESPONSES) as connection:
            _ask(connection, _create("a"))

    def replayed(relayed: Relayed) -> None:
        with _open(relayed, RESPONSES) as connection:
            connection.send(json.dumps(_create("a", input=[{"role": "system", "content": "other"}])))
            with pytest.raises(ConnectionClosed) as raised:
                connection.recv(10)
        assert raised.value.rcvd is not None
        assert (raised.value.rcvd.code, "not in the recording" in raised.value.rcvd.reason) == (1008, True)
        with pytest.raises(InvalidStatus) as refused, _open(relayed, "/v1/realtime"):
            pass
        assert refused.value.response.status_code == 409

    rows = _replay(_record(provider, recorded), replayed)
    assert _levels(rows) == [(None, "refused"), (None, "refused")]
    assert all(row.reason for row in rows)


def test_a_host_that_ends_a_websocket_ends_it_with_the_same_code_again(provider: Server) -> None:
    def talk(relayed: Relayed) -> None:
        with _open(relayed, RESPONSES) as connection:
            _ask(connection, _create("bye"))
            with pytest.raises(ConnectionClosed) as raised:
                connection.recv(10)
        assert raised.value.rcvd is not None
        assert raised.value.rcvd.code == 1011

    exchanges = _record(provider, talk)
    assert exchanges.exchanges[0].answer.closed == 1011
    assert _levels(_replay(exchanges, talk)) == [(0, "exact")]


UPDATE = {"type": "session.update", "session": {"model": "gpt-realtime", "tools": []}, "event_id": "e1"}
ITEM = {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": "hello"}}
CREATE = {"type": "response.create"}


def _converse(*sent: Json, answered: bool = True) -> Callable[[Relayed], None]:
    def talk(relayed: Relayed) -> None:
        with _open(relayed, REALTIME, subprotocols=["realtime", "other"]) as connection:
            assert connection.subprotocol == "realtime"
            assert json.loads(connection.recv(10))["type"] == "session.created"
            for each in sent:
                connection.send(json.dumps(each))
            if answered:
                assert json.loads(connection.recv(10)) == {"type": "response.done", "response": {"after": 3}}
            else:
                with pytest.raises(ConnectionClosed) as raised:
                    connection.recv(10)
                assert raised.value.rcvd is not None
                assert raised.value.rcvd.code == 1008

    return talk


@pytest.mark.parametrize(
    ("sent", "levels"),
    [
        ((UPDATE, ITEM, CREATE), ["exact"] * 3),
        ((ITEM, UPDATE, CREATE), ["exact"] * 3),
        ((UPDATE, CREATE, ITEM), ["exact"] * 3),
        (({**UPDATE, "event_id": "e2"}, ITEM, CREATE), ["question", "exact", "exact"]),
        (({**UPDATE, "session": {"model": "other"}}, ITEM, CREATE), ["items", "exact", "exact"]),
        ((UPDATE, {**ITEM, "item": {**ITEM["item"], "content": "bye"}}, CREATE), ["exact", "shape", "exact"]),  # type: ignore[dict-item]
    ],
    ids=["the same", "swapped", "asked before it is said", "other ids", "other settings", "another text"],
)  # fmt: skip
def test_messages_between_two_of_the_host_are_a_set(
    provider: Server, sent: tuple[Json, ...], levels: list[str]
) -> None:
    rows = _replay(_record(provider, _converse(UPDATE, ITEM, CREATE)), _converse(*sent))
    assert _levels(rows) == [(0, level) for level in levels]


def test_a_message_that_is_in_no_round_ends_a_conversation(provider: Server) -> None:
    stranger = {"type": "conversation.item.delete", "item_id": "i"}
    exchanges = _record(provider, _converse(UPDATE, ITEM, CREATE))
    rows = _replay(exchanges, _converse(UPDATE, stranger, answered=False))
    assert _levels(rows) == [(0, "exact"), (None, "refused")]
    assert rows[1].reason == "the message conversation.item.delete is not in the recording here"


def test_a_message_that_does_not_come_ends_a_conversation(
    provider: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentproof.live.conversing._WAIT", 0.2)
    rows = _replay(
        _record(provider, _converse(UPDATE, ITEM, CREATE)), _converse(ITEM, CREATE, answered=False)
    )
    assert _levels(rows) == [(0, "exact"), (0, "exact"), (None, "refused")]
    assert rows[2].reason == "session.update did not come, which was sent when recorded"


def test_of_several_conversations_the_one_that_began_so_is_taken(provider: Server) -> None:
    """Where the client says the first word, it says which one this is."""

    def talk(relayed: Relayed, *texts: str) -> None:
        for text in texts:
            with _open(relayed, RESPONSES) as connection:
                connection.send(json.dumps(_create(text, n=1)))
                connection.send(json.dumps(_create(text, n=2)))  # two in one round: no requests one by one
                said = [json.loads(connection.recv(10)) for _ in range(4)]
            assert [each["response"]["said"] for each in said if "response" in each] == [f"to {text}"] * 2

    exchanges = _record(provider, lambda relayed: talk(relayed, "a", "b"))
    rows = _replay(exchanges, lambda relayed: talk(relayed, "b", "a"))
    assert {(row.exchange, row.level) for row in rows} == {(1, "exact"), (0, "exact")}
    assert rows[0].exchange == 1


def test_a_key_that_a_host_says_on_a_websocket_never_comes_in(provider: Server) -> None:
    def talk(relayed: Relayed) -> None:
        with _open(relayed, REALTIME) as connection:
            connection.recv(10)
            connection.send('{"type": "echo"}')
            said = str(connection.recv(10))
            assert find_key(said.encode(), {VARIABLE: KEY}) is None
            assert said == f"Bearer {PLACEHOLDER} {PLACEHOLDER}"

    assert find_key(_record(provider, talk).to_bytes(), {VARIABLE: KEY}) is None


def test_more_requests_than_allowed_end_a_websocket(provider: Server) -> None:
    with (
        capturing(_url(provider), max_requests=1) as (relayed, capture),
        _open(relayed, RESPONSES) as connection,
    ):
        _ask(connection, _create("a"))
        connection.send(json.dumps(_create("b")))
        with pytest.raises(ConnectionClosed) as raised:
            connection.recv(10)
    assert raised.value.rcvd is not None
    assert "--max-requests" in raised.value.rcvd.reason
    assert any("--max-requests" in each.reason for each in capture.summary().refused)


def test_a_flood_of_messages_is_cut_off_and_is_no_recording(provider: Server) -> None:
    with capturing(_url(provider)) as (relayed, capture):
        with _open(relayed, REALTIME) as connection:
            connection.recv(10)
            connection.send('{"type": "flood"}')
            with pytest.raises(ConnectionClosed):
                deque(iter(lambda: connection.recv(10), None), maxlen=0)
        with pytest.raises(CannotDoError, match="over 16 MiB"):
            capture.exchanges()
