"""What goes over the wire inside of a model call: rules of `_recorder.adapters.openai_agents.exchanges`."""

import asyncio
import types
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from agentproof._recorder.adapters.openai_agents import exchanges
from agentproof._recorder.events import During, Journal, label

Told = Callable[[], list[dict[str, Any]]]
CALL = label("M", "1")


class Url:
    host = "gateway.invalid"
    path = "/v1/responses"
    query = b"key=secret"


class Request:
    method = "POST"
    url = Url()

    def __init__(self, body: bytes | None = b'{"model": "m"}') -> None:
        self.headers = {"authorization": "Bearer secret"}
        if body is not None:
            self._content = body


class Response:
    def __init__(self, *chunks: bytes, status: int = 200, kind: str = "application/json") -> None:
        self.status_code = status
        self.headers = {"content-type": kind, "set-cookie": "secret"}
        self._chunks = chunks

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk

    def iter_bytes(self, chunk_size: int | None = None) -> Iterator[bytes]:
        yield from self._chunks

    def read(self) -> "Response":
        self._content = b"".join(self._chunks)
        return self


def clients() -> Any:
    """A module like httpx, hooked."""

    class AsyncClient:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        async def send(self, request: Request, *, stream: bool = False) -> Response:
            if isinstance(self.answer, BaseException):
                raise self.answer
            found: Response = self.answer if stream else self.answer.read()
            return found

    class Client:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def send(self, request: Request, *, stream: bool = False) -> Response:
            found: Response = self.answer if stream else self.answer.read()
            return found

    module: Any = types.SimpleNamespace(AsyncClient=AsyncClient, Client=Client)
    module.Response = type("Response", (Response,), dict(vars(Response)))
    exchanges._hook(module)
    return module


@pytest.fixture
def httpx(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(exchanges, "_told", 0)
    return clients()


def send(httpx: Any, response: Any, *, stream: bool = False, call: Any = CALL) -> None:
    """As an adapter does: the request, and all of its answer."""

    async def go() -> None:
        found = await httpx.AsyncClient(response).send(Request(), stream=stream)
        if stream:
            async for _ in found.aiter_bytes():
                pass

    with During(exchanges.calling, call):
        asyncio.run(go())


def test_a_request_and_its_answer_are_told_at_the_end_of_the_call(httpx: Any, told: Told) -> None:
    send(httpx, httpx.Response(b'{"a":', b" 1.5}"))
    assert told() == []
    exchanges.finish(CALL)
    (event,) = told()
    assert {name: event[name] for name in event if name not in ("n", "lane", "after")} == {
        "kind": "model.exchanged",
        "call": CALL,
        "method": "POST",
        "host": "gateway.invalid",
        "path": "/v1/responses",
        "status": 200,
        "request": {"model": "m"},
        "response": {"a": {"$float": "1.5"}},
    }
    exchanges.finish(CALL)
    assert len(told()) == 1


def test_a_stream_is_told_event_by_event_up_to_its_end(httpx: Any, told: Told) -> None:
    data = b': hi\r\n\r\nevent: x\r\ndata: {"n": 1}\r\n\r\ndata: a\ndata: b\n\ndata: [DONE]\n\ndata: late\n\n'
    send(httpx, httpx.Response(data[:20], data[20:], kind="text/event-stream; charset=utf-8"), stream=True)
    exchanges.finish(CALL)
    assert told()[0]["events"] == [{"n": 1}, "a\nb"]
    assert "cut" not in told()[0]


def test_what_nobody_waited_for_is_told_as_far_as_it_came(httpx: Any, told: Told) -> None:
    async def go() -> None:
        response = httpx.Response(b"data: 1\n\n", b"data: 2\n\n", kind="text/event-stream")
        found = await httpx.AsyncClient(response).send(Request(), stream=True)
        assert await anext(found.aiter_bytes()) == b"data: 1\n\n"

    with During(exchanges.calling, CALL):
        asyncio.run(go())
    exchanges.finish_all()
    assert told()[0]["events"] == [1]


def test_a_failure_is_told_and_goes_on(httpx: Any, told: Told) -> None:
    with pytest.raises(OSError, match="reset"):
        send(httpx, OSError("reset"))
    exchanges.finish(CALL)
    assert told()[0]["error"]["message"] == "reset"
    assert "status" not in told()[0]


def test_a_client_that_does_not_wait_is_told_too(httpx: Any, told: Told) -> None:
    with During(exchanges.calling, CALL):
        found = httpx.Client(httpx.Response(b"data: 1\n\n", kind="text/event-stream")).send(
            Request(), stream=True
        )
        assert list(found.iter_bytes()) == [b"data: 1\n\n"]
    exchanges.finish(CALL)
    assert told()[0]["events"] == [1]


def test_outside_of_a_model_call_nothing_is_told(httpx: Any, told: Told) -> None:
    send(httpx, httpx.Response(b"{}"), call=None)
    exchanges.finish_all()
    assert told() == []


def test_what_is_too_large_is_told_as_its_size_and_digest(
    httpx: Any, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "_MOST_BYTES", 20)
    monkeypatch.setattr(exchanges, "_MOST_EVENTS", 2)
    send(httpx, httpx.Response(b'"' + b"x" * 30 + b'"'))
    send(httpx, httpx.Response(*[b"data: 1\n\n"] * 2, kind="text/event-stream"), stream=True)
    send(httpx, httpx.Response(*[b"data: 1\n\n"] * 9, kind="text/event-stream"), stream=True)
    exchanges.finish(CALL)
    large, short, long = told()
    assert (large["response_size"], len(large["response_digest"])) == (32, 64)
    assert "response" not in large
    assert (short["events"], "cut" in short) == ([1, 1], False)
    assert (long["events"], long["cut"]) == ([1, 1], True)


def test_all_bodies_of_a_process_have_one_bound(
    httpx: Any, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "_MOST_IN_ALL", 40)
    send(httpx, httpx.Response(b"[1]"))
    send(httpx, httpx.Response(b"[" + b"2," * 20 + b"2]"))
    exchanges.finish(CALL)
    first, second = told()
    assert first["response"] == [1]
    assert "response_size" in second


def test_what_an_adapter_made_is_told_beside_it_alike_events_once(httpx: Any, told: Told) -> None:
    exchanges.made(CALL, types.SimpleNamespace(output_index=0), "delta")
    send(httpx, httpx.Response(b"{}"))
    item = types.SimpleNamespace(type="message", id="msg_1")
    exchanges.made(CALL, types.SimpleNamespace(output_index=0, item=item), "added")
    for _ in range(3):
        exchanges.made(CALL, types.SimpleNamespace(output_index=0, content_index=1), "delta")
    exchanges.finish(CALL)
    (_, made) = told()
    assert made["events"] == [
        {"type": "added", "output_index": 0, "item": "message", "item_id": "msg_1"},
        {"type": "delta", "output_index": 0, "content_index": 1, "times": 3},
    ]
