"""Which recorded exchange answers a request: the levels in order, and what is refused, not guessed."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agentproof.live.matching import Match, Matcher, Request
from agentproof.models.exchanges import Answer, Exchange, body_of

Json = dict[str, Any]  # Any: a JSON document

HOST = "api.openai.com"
ANSWER = {"object": "response", "model": "m", "status": "completed", "output": []}
TOOL = {"type": "function", "name": "weather", "parameters": {}}
CALL = {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Oslo"}'}
ASKED: Json = {
    "model": "gpt-5",
    "input": [{"role": "user", "content": "hello"}],
    "instructions": "be brief",
    "tools": [TOOL],
    "temperature": 0.5,
    "prompt_cache_key": "9f3c1a52-0b1d-4c7e-9b57-0d6ee6f2a111",
}
BATCH: list[Json] = [{"jsonrpc": "2.0", "id": number, "method": name} for number, name in enumerate("ab")]


def exchange(
    body: Any,  # Any: a JSON document
    answer: Any = ANSWER,  # Any: a JSON document
    *,
    path: str = "/v1/responses",
    ticks: tuple[int, int] = (1, 2),
    kind: str = "application/json",
    status: int = 200,
    method: str = "POST",
) -> Exchange:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return Exchange(
        host=HOST,
        method=method,
        path=path,
        body=body_of(json.dumps(body).encode(), "application/json") if body is not None else None,
        asked=ticks[0],
        done=ticks[1],
        answer=Answer(status=status, headers={"content-type": kind}, chunks=((0, text),), end="complete"),
    )


def request(body: Any, *, path: str = "/v1/responses", host: str = HOST, method: str = "POST") -> Request:
    data = json.dumps(body).encode() if body is not None else b""
    return Request(host, method, path, body_of(data, "application/json"))


def match(recorded: Exchange, asked: Request) -> Match:
    return Matcher([recorded], streamed=False).take(asked)


def changed(**fields: Any) -> Json:  # Any: parts of a JSON document
    return {name: part for name, part in {**ASKED, **fields}.items() if part is not None}


LEVELS: Mapping[str, tuple[Json, str | None]] = {
    "the same body": (ASKED, "exact"),
    "its fields in another order": (dict(reversed(ASKED.items())), "exact"),
    "another uuid": (changed(prompt_cache_key="11111111-0b1d-4c7e-9b57-0d6ee6f2a111"), "same"),
    "no cache key, another temperature": (changed(prompt_cache_key=None, temperature=1), "question"),
    "a message as parts of text": (
        changed(
            input=[{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}]
        ),
        "question",
    ),
    "an item with an id and a status": (
        changed(input=[{"role": "user", "content": "hello", "id": "msg_1", "status": "completed"}]),
        "question",
    ),
    "a plain text for one message": (changed(input="hello"), "question"),
    "another model": (changed(model="gpt-4.1"), "items"),
    "other instructions": (changed(instructions="be long"), "items"),
    "more tools": (changed(tools=[TOOL, {"type": "web_search"}]), "items"),
    "another text": (changed(input=[{"role": "user", "content": "good bye"}]), "shape"),
    "one message more": (changed(input=[*ASKED["input"], {"role": "user", "content": "there?"}]), None),
    "another role": (changed(input=[{"role": "system", "content": "hello"}]), None),
}


@pytest.mark.parametrize("name", LEVELS)
def test_a_request_is_answered_at_the_first_level_that_fits(name: str) -> None:
    body, level = LEVELS[name]
    found = match(exchange(ASKED), request(body))
    assert found.level == level
    assert (found.answer is None) == (level is None)
    if level is None:
        assert found.reason == "POST /v1/responses is not in the recording"


def test_what_is_asked_differently_is_told_by_pointers() -> None:
    found = match(exchange(ASKED), request(changed(model="gpt-4.1", temperature=None)))
    assert [(each.pointer, each.before) for each in found.changes] == [
        ("/model", "gpt-5"),
        ("/temperature", 0.5),
    ]


def test_a_nearer_one_is_taken_before_an_earlier_one_and_each_once() -> None:
    recorded = [exchange(changed(temperature=1)), exchange(ASKED), exchange(ASKED)]
    matcher = Matcher(recorded, streamed=False)
    found = [matcher.take(request(ASKED)) for _ in range(4)]
    assert [(each.index, each.level) for each in found] == [
        (1, "exact"),
        (2, "exact"),
        (0, "question"),
        (None, None),
    ]
    assert matcher.unused() == ()


@pytest.mark.parametrize(
    "asked",
    [
        request(ASKED, host="api.anthropic.com"),
        request(ASKED, path="/v1/chat/completions"),
        request(ASKED, method="PUT"),
        request(None),
    ],
    ids=["host", "path", "method", "no body"],
)
def test_no_level_reaches_another_host_path_or_method(asked: Request) -> None:
    assert match(exchange(ASKED), asked).level is None


def test_where_no_model_answers_a_question_is_the_last_level() -> None:
    body = {"input": [{"role": "user", "content": "hello"}], "model": "m"}
    recorded = exchange(body, path="/v1/vector_stores")
    assert match(recorded, request({**body, "metadata": {}}, path="/v1/vector_stores")).level == "question"
    assert match(recorded, request({**body, "model": "n"}, path="/v1/vector_stores")).level is None


OTHER_APIS = [
    (
        "/v1/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
        {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "n": 1},
    ),
    (
        "/v1/messages",
        {"model": "m", "system": "s", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5},
        {"model": "m", "system": "s", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9},
    ),
    (
        "/v1beta/models/gemini:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "generationConfig": {"topK": 1}},
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "one", "other"), OTHER_APIS, ids=["chat", "anthropic", "gemini"])
def test_the_question_is_read_in_each_api(path: str, one: Json, other: Json) -> None:
    assert match(exchange(one, path=path), request(other, path=path)).level == "question"


def test_another_model_in_a_path_is_another_setting() -> None:
    body = OTHER_APIS[2][1]
    recorded = exchange(body, path="/v1beta/models/gemini-2:generateContent")
    assert match(recorded, request(body, path="/v1beta/models/gemini-3:generateContent")).level == "items"


# what a guess may not do


CALLING = {**ANSWER, "output": [CALL]}
CHAT_CALL = {"choices": [{"index": 0, "message": {"tool_calls": [{"function": {"name": "weather"}}]}}]}
STREAM = f"event: x\ndata: {json.dumps({'type': 'response.output_item.done', 'item': CALL})}\n\n"


@pytest.mark.parametrize(
    ("path", "answer", "kind"),
    [
        ("/v1/responses", CALLING, "application/json"),
        ("/v1/responses", STREAM, "text/event-stream"),
        ("/v1/chat/completions", CHAT_CALL, "application/json"),
    ],
    ids=["whole", "streamed", "chat"],
)
def test_no_answer_is_given_that_calls_a_tool_which_is_not_offered(path: str, answer: Any, kind: str) -> None:
    stream = {"stream": True} if kind == "text/event-stream" else {}
    name = "input" if path.endswith("responses") else "messages"
    body = {"model": "m", name: [{"role": "user", "content": "hello"}], "tools": [TOOL], **stream}
    recorded = exchange(body, answer, path=path, kind=kind)
    found = match(recorded, request({**body, "tools": []}, path=path))
    assert found.level is None
    assert found.reason == (
        f"POST {path} is not in the recording: its answer calls weather, which this request does not offer"
    )
    assert match(recorded, request({**body, "tools": [TOOL, {"type": "x"}]}, path=path)).level == "items"


@pytest.mark.parametrize(
    ("status", "level"), [(400, None), (422, None), (429, "question"), (500, "question")]
)
def test_a_refusal_of_one_request_is_not_given_to_another(status: int, level: str | None) -> None:
    recorded = exchange(ASKED, {"error": {"message": "no"}}, status=status)
    assert match(recorded, request(ASKED)).level == "exact"
    found = match(recorded, request(changed(temperature=None)))
    assert found.level == level
    if level is None:
        assert f"its answer refuses what was asked then ({status})" in (found.reason or "")


def test_a_call_of_what_was_never_offered_is_the_provider_s_and_is_given_again() -> None:
    body = changed(tools=None)
    assert match(exchange(body, CALLING), request(changed(tools=None, model="n"))).level == "items"


@pytest.mark.parametrize(
    ("second", "level"), [((3, 4), "shape"), ((1, 4), None)], ids=["in turn", "together"]
)
def test_one_of_several_that_were_asked_together_is_not_guessed(
    second: tuple[int, int], level: str | None
) -> None:
    def body(text: str) -> Json:
        return changed(input=[{"role": "user", "content": text}])

    recorded = [exchange(body("a"), ticks=(1, 2)), exchange(body("b"), ticks=second)]
    found = Matcher(recorded, streamed=False).take(request(body("c")))
    assert found.level == level
    if level is None:
        assert "several that are as like it were asked at the same time" in (found.reason or "")
    assert Matcher(recorded, streamed=False).take(request(body("b"))).index == 1


def test_a_stream_is_made_only_where_none_was_recorded() -> None:
    answer = {**ANSWER, "id": "resp_1", "output": []}
    recorded = [
        exchange(ASKED, answer),
        exchange({**ASKED, "stream": True}, STREAM, kind="text/event-stream"),
    ]
    matcher = Matcher(recorded, streamed=False)
    found = [matcher.take(request({**ASKED, "stream": True})) for _ in range(2)]
    assert [(each.index, each.synthesised, each.level) for each in found] == [
        (1, False, "exact"),
        (0, True, "exact"),
    ]
    assert found[1].answer is not None
    assert found[1].answer.text.startswith("event: response.created\n")


# JSON-RPC, as MCP over HTTP is


def rpc(method: str, params: Json | None = None, *, number: int | str | None = 1) -> Json:
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return {name: part for name, part in body.items() if part is not None}


def told(number: int | str, **result: Any) -> Json:  # Any: parts of a JSON document
    return {"jsonrpc": "2.0", "id": number, "result": result}


@pytest.mark.parametrize(
    ("recorded", "asked", "level"),
    [
        (rpc("tools/call", {"name": "f"}), rpc("tools/call", {"name": "f"}, number=9), "question"),
        (rpc("tools/call", {"name": "f", "_meta": {"a": 1}}), rpc("tools/call", {"name": "f"}), "question"),
        (
            rpc("initialize", {"protocolVersion": "1", "clientInfo": {"name": "mcp", "version": "1.9"}}),
            rpc("initialize", {"protocolVersion": "1", "clientInfo": {"name": "mcp", "version": "2.0"}}),
            "question",
        ),
        (rpc("tools/call", {"name": "f"}), rpc("tools/call", {"name": "g"}), None),
        (rpc("tools/list"), rpc("prompts/list"), None),
        (rpc("initialize", {"protocolVersion": "1"}), rpc("initialize", {"protocolVersion": "2"}), None),
        (rpc("notifications/x", number=None), rpc("notifications/x", number=None), "exact"),
        (rpc("tools/list"), rpc("tools/list", number=None), None),
    ],
)  # fmt: skip
def test_json_rpc_is_matched_by_its_method_and_params(recorded: Json, asked: Json, level: str | None) -> None:
    found = match(exchange(recorded, told(1), path="/mcp"), request(asked, path="/mcp"))
    assert found.level == level


@pytest.mark.parametrize("number", [9, "nine"])
@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_of_json_rpc_has_the_id_of_the_request_that_it_answers_now(
    number: Any, streamed: bool
) -> None:
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
    asking = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "sampling/createMessage",
    }  # the server's own, of the same number
    answers = [progress, asking, told(1, said=1)] if streamed else [told(1, said=1)]
    text = (
        "".join(f"event: message\ndata: {json.dumps(each)}\n\n" for each in answers)
        if streamed
        else answers[0]
    )
    kind = "text/event-stream" if streamed else "application/json"
    found = match(
        exchange(rpc("a"), text, path="/mcp", kind=kind), request(rpc("a", number=number), path="/mcp")
    )
    assert found.answer is not None
    lines = [line[5:] for line in found.answer.text.splitlines() if line.startswith("data:")] or [
        found.answer.text
    ]
    assert [json.loads(line) for line in lines] == [*answers[:-1], told(number, said=1)]


def test_each_answer_of_a_batch_has_its_own_id() -> None:
    asked = [{**each, "id": f"n{each['id']}"} for each in BATCH]
    answer = [told(1, said="b"), told(0, said="a")]
    found = match(exchange(BATCH, answer, path="/mcp"), request(asked, path="/mcp"))
    assert found.answer is not None
    assert json.loads(found.answer.text) == [told("n1", said="b"), told("n0", said="a")]
    assert match(exchange(BATCH, answer, path="/mcp"), request(asked[:1], path="/mcp")).level is None
