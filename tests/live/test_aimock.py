"""A server that is not ours (aimock, from npm), through the relay: its APIs come again as they came."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.sync.client import connect

from agentproof.models.exchanges import Exchanges

from .relayed import PLACEHOLDER, Relayed, capturing, sealed

pytestmark = pytest.mark.slow

AIMOCK = "@copilotkit/aimock@1.43.0"
CALL = {"toolCalls": [{"name": "weather", "arguments": '{"city": "Oslo"}'}]}
FIXTURES = [
    {"match": {"userMessage": "hello"}, "response": {"content": "Good day to you, whoever you are."}},
    {"match": {"userMessage": "weather"}, "response": CALL},
]
Json = dict[str, Any]  # Any: a JSON document


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where it listens on loopback; installed by npm for this."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("there is no npm")
    place = tmp_path_factory.mktemp("aimock")
    options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(place))
    subprocess.run([npm, "install", *options, AIMOCK], check=True, timeout=120, cwd=place)
    fixtures = place / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    program = place / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    options = ("--port", port, "--fixtures", str(fixtures), "--log-level", "silent")
    server = subprocess.Popen([node, program, *options])
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", int(port)), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        else:
            pytest.fail("aimock does not listen")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


TOOL = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
MESSAGES = {"messages": [{"role": "user", "content": "hello"}]}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
ASKED: list[tuple[str, Json, bytes]] = [
    ("/v1/responses", {"model": "gpt-5", "input": "hello"}, b"Good day"),
    ("/v1/responses", {"model": "gpt-5", "input": "hello", "stream": True}, b"response.completed"),
    ("/v1/responses", {"model": "gpt-5", "input": "weather", "tools": [TOOL]}, b"function_call"),
    ("/v1/chat/completions", {"model": "gpt-5", **MESSAGES}, b"Good day"),
    ("/v1/chat/completions", {"model": "gpt-5", **MESSAGES, "stream": True}, b"[DONE]"),
    ("/v1/messages", {"model": "claude", "max_tokens": 9, **MESSAGES}, b"Good day"),
    ("/v1/messages", {"model": "claude", "max_tokens": 9, **MESSAGES, "stream": True}, b"message_stop"),
    ("/v1beta/models/gemini-3:generateContent", CONTENTS, b"Good day"),
    ("/v1/embeddings", {"model": "e", "input": "hello"}, b"embedding"),
]


def _talk(relayed: Relayed) -> list[tuple[int, bytes]]:
    answers = [relayed.ask(body, path)[:2] for path, body, _ in ASKED]
    headers = {"Authorization": f"Bearer {PLACEHOLDER}"}
    uri = f"wss://localhost:{relayed.port}/v1/responses"
    with connect(uri, ssl=relayed.context, additional_headers=headers) as websocket:
        said = {"model": "gpt-5", "input": [{"role": "user", "content": "hello"}]}
        websocket.send(json.dumps({"type": "response.create", **said}))
        while "response.completed" not in (text := str(websocket.recv(10))):
            answers.append((0, text.encode()))
    return answers


def test_each_api_of_an_independent_server_is_recorded_and_answered_again(aimock: str) -> None:
    with capturing(aimock) as (relayed, capture):
        answers = _talk(relayed)
    for (path, body, part), (status, told) in zip(ASKED, answers, strict=False):
        assert status == 200, (path, told)
        assert part in told, (path, body, told)
    exchanges = Exchanges.from_bytes(capture.exchanges().to_bytes())
    assert len(exchanges.exchanges) == len(ASKED) + 1
    assert capture.summary().refused == ()
    with sealed(exchanges) as (relayed, replaying):
        assert _talk(relayed) == answers
    assert {row.level for row in replaying.outcome().rows} == {"exact"}
    assert replaying.outcome().unused == ()


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("path", ["/v1/responses", "/v1/chat/completions"])
def test_the_other_form_of_its_answers_says_the_same(aimock: str, path: str, streamed: bool) -> None:
    asked = {"input": "hello"} if path.endswith("responses") else MESSAGES
    body = {"model": "gpt-5", **asked}
    recorded, other = ({**body, "stream": True}, body) if streamed else (body, {**body, "stream": True})
    with capturing(aimock) as (relayed, capture):
        relayed.ask(recorded, path)
        _, real, _ = relayed.ask(other, path)
    exchanges = capture.exchanges()
    alone = exchanges.model_copy(update={"exchanges": exchanges.exchanges[:1]})
    with sealed(alone) as (relayed, replaying):
        status, made, _ = relayed.ask(other, path)
    (row,) = replaying.outcome().rows
    assert (status, row.synthesised) == (200, True)
    assert _said(made) == _said(real) == "Good day to you, whoever you are."


def _said(answer: bytes) -> str:
    """The text of an answer, whole or streamed, in either API."""
    text = answer.decode()
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: {")] or [text]
    documents = [json.loads(line) for line in lines]
    ended = [each["response"] for each in documents if each.get("type") == "response.completed"]
    for whole in (*ended, *documents):
        if whole.get("output"):
            return str(whole["output"][0]["content"][0]["text"])
    choices = [choice for each in documents for choice in each["choices"]]
    return "".join((choice.get("message") or choice.get("delta")).get("content") or "" for choice in choices)
