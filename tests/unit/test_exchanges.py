"""What a provider was asked and answered, as readers see it: each API in words, all of it bounded."""

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from agentproof.bundle.store import zip_bytes
from agentproof.cli import cli
from agentproof.models.exchanges import EXCHANGES, Exchanges
from agentproof.models.wire import encode
from agentproof.record.secrets import Redactor, SecretPatterns, patterns
from agentproof.render import terminal
from agentproof.render.exchanges import tell_exchanges
from agentproof.render.groups import Attachment, grouped
from agentproof.render.html import render_page
from agentproof.render.markdown import render_issue
from agentproof.render.story import Story, tell
from tests import forge
from tests.attacks.test_provider import check
from tests.hostile import EVIL

Json = Any  # a JSON document, or a part of one

CALL = {"type": "function_call", "call_id": "c", "name": "weather", "arguments": '{"city": "Oslo"}'}
ASKED = {
    "model": "gpt-5",
    "instructions": "be brief",
    "input": [
        {"role": "user", "content": "Weather in Oslo?"},
        CALL,
        {"type": "function_call_output", "call_id": "c", "output": "rain"},
    ],
    "tools": [{"type": "function", "name": "weather"}, {"type": "web_search"}],
}
MESSAGE = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "It rains.\nReally."}],
}
ANSWERED = {
    "object": "response",
    "model": "gpt-5-2026",
    "status": "completed",
    "output": [MESSAGE],
    "usage": {"total_tokens": 1234},
}


def events(*each: Json) -> str:
    return "".join(f"data: {json.dumps(one)}\n\n" for one in each)


def exchange(
    asked: Json,
    answered: Json,
    *,
    streamed: bool = False,
    path: str = "/v1/responses",
    number: int = 0,
    **more: Any,
) -> forge.Shape:
    made = forge.exchange(number)
    made["path"] = path
    made["body"] = {"json": asked}
    made["answer"]["chunks"] = [[0, answered if isinstance(answered, str) else json.dumps(answered)]]
    if streamed:
        made["answer"]["headers"]["content-type"] = "text/event-stream"
    made["answer"].update(more)
    return made


def story(*each: forge.Shape, answers: tuple[forge.Shape, ...] = (), to: str | None = None) -> Story:
    made = forge.draft_of_live(*answers, to=to)
    made.extra[EXCHANGES] = encode(forge.exchanges(*each, to=to))
    made.manifest["provider"]["requests"] = len(each)
    ids = [one["answer"].get("headers", {}).get("x-request-id") for one in each]
    made.manifest["provider"]["request_ids"] = [one for one in ids if one]
    if not made.manifest["provider"]["request_ids"]:
        del made.manifest["provider"]["request_ids"]
    made.reidentified()
    return tell(check(made.seal()))


def said(*each: forge.Shape) -> list[tuple[str, str, bool]]:
    told = tell_exchanges(story(*each), limit=1000)
    return [(line.who, line.text, line.answers) for one in told for line in one.said]


def test_the_terminal_shows_each_request_with_its_answer() -> None:
    other = {"mode": "as-written", "exchange": 1, "by": "question"}
    made = {"mode": "streamed", "exchange": 1, "by": "exact", "synthesised": True}
    error = {"error": {"message": "no such tool", "code": "invalid"}}
    found = story(
        exchange(ASKED, events({"type": "response.completed", "response": ANSWERED}), streamed=True),
        exchange({"model": "gpt-5", "input": "again?"}, error, number=1, status=400),
        answers=(other, made),
    )
    lines = list(terminal.render_exchanges(found, tell_exchanges(found, limit=1000)))
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines][2:] == [
        "model: recorded from api.openai.com on 2026-11-30: 2 requests, request ids req_0, req_1; "
        "the provider's answers are the signer's word",
        "",
        "  1  POST api.openai.com/v1/responses",
        "     gpt-5 → gpt-5-2026, status 200, 1,234 tokens, streamed in 1 part, req_0",
        "     → instructions  be brief",
        "     → user          Weather in Oslo?",
        '     → calls         weather({"city": "Oslo"})',
        "     → result        rain",
        "     → offers        weather, web_search",
        "     ← assistant     It rains.",
        "                     Really.",
        "",
        "  2  POST api.openai.com/v1/responses",
        "     gpt-5, status 400, req_1",
        "     as written: asked for with other settings",
        "     streamed: put into a stream, or the reverse",
        "     → user          again?",
        "     ← error         no such tool",
    ]


CHAT = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "brief"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "data:"}}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    ],
}
CHAT_ASKED = [
    ("system", "brief"),
    ("user", "hi"),
    ("user", "[image_url: 52 characters]"),
    ("calls", "f({})"),
    ("result", "42"),
]


def chunk(**delta: Json) -> Json:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}


@pytest.mark.parametrize(
    ("path", "asked", "answered", "streamed", "lines"),
    [
        (
            "/v1/chat/completions",
            CHAT,
            {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}}]},
            False,
            [*CHAT_ASKED, ("assistant", "hello")],
        ),
        (
            "/v1/chat/completions",
            CHAT,
            events(chunk(role="assistant", content=""), chunk(content="hel"), chunk(content="lo")),
            True,
            [*CHAT_ASKED, ("assistant", "hello")],
        ),
        (
            "/v1/messages",
            {"model": "m", "system": "brief", "messages": [{"role": "user", "content": "hi"}]},
            {
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "well"},
                    {"type": "text", "text": "hello"},
                    {"type": "tool_use", "name": "f", "input": {"a": 1}},
                ],
            },
            False,
            [
                ("instructions", "brief"),
                ("user", "hi"),
                ("reasoning", "well"),
                ("assistant", "hello"),
                ("calls", 'f({"a": 1})'),
            ],
        ),
        (
            "/v1/messages",
            {"messages": [{"role": "user", "content": "hi"}]},
            events(
                {"type": "message_start", "message": {"model": "claude", "role": "assistant"}},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hel"}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
                {
                    "type": "content_block_start",
                    "index": 1,
                    "content_block": {"type": "tool_use", "name": "f", "input": {}},
                },
                {
                    "type": "content_block_delta",
                    "index": 1,
                    "delta": {"type": "input_json_delta", "partial_json": "{}"},
                },
            ),
            True,
            [("user", "hi"), ("assistant", "hello"), ("calls", "f({})")],
        ),
        (
            "/v1beta/models/gemini:generateContent",
            {
                "systemInstruction": {"parts": [{"text": "brief"}]},
                "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            },
            {
                "candidates": [
                    {
                        "content": {
                            "role": "model",
                            "parts": [{"text": "hello"}, {"functionCall": {"name": "f", "args": {}}}],
                        }
                    }
                ]
            },
            False,
            [("instructions", "brief"), ("user", "hi"), ("model", "hello"), ("calls", "f({})")],
        ),
        (
            "/v1beta/models/gemini:streamGenerateContent",
            {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
            events(
                *(
                    {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}
                    for text in ("hel", "lo")
                )
            ),
            True,
            [("user", "hi"), ("model", "hello")],
        ),
        (
            "/mcp",
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "f"}},
            {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "42"}]}},
            False,
            [
                ("call", 'tools/call({"name": "f"})'),
                ("result", '{"content": [{"text": "42", "type": "text"}]}'),
            ],
        ),
        (
            "/v1/embeddings",
            {"model": "m", "encoding": "x"},
            "not JSON",
            False,
            [("body", '{"encoding": "x", "model": "m"}'), ("answer", "not JSON")],
        ),
    ],
    ids=[
        "chat",
        "chat streamed",
        "anthropic",
        "anthropic streamed",
        "gemini",
        "gemini streamed",
        "mcp",
        "other",
    ],
)
def test_each_api_is_told_in_words(
    path: str, asked: Json, answered: Json, streamed: bool, lines: list[tuple[str, str]]
) -> None:
    found = said(exchange(asked, answered, streamed=streamed, path=path))
    assert [(who, text) for who, text, _ in found] == lines


def test_a_websocket_is_told_message_by_message() -> None:
    asked = {"type": "response.create", "model": "gpt-5", "input": "hi"}
    realtime = [
        ("server", {"type": "session.created", "session": {"model": "r"}}),
        (
            "client",
            {
                "type": "conversation.item.create",
                "item": {"type": "message", "role": "user", "content": "yes"},
            },
        ),
        ("server", {"type": "response.output_text.delta", "delta": "hel"}),
        ("server", {"type": "response.output_text.delta", "delta": "lo"}),
    ]
    rounds = [
        ("client", asked),
        ("server", {"type": "response.created"}),
        ("server", {"type": "response.completed", "response": ANSWERED}),
    ]

    def websocket(number: int, frames: list[tuple[str, Json]]) -> forge.Shape:
        made = forge.exchange(number)
        made |= {"method": "WS", "frames": [[who, 0, json.dumps(each)] for who, each in frames]}
        made["answer"] = {"status": 101, "end": "complete", "left_after": 3}
        del made["body"]
        return made

    found = story(websocket(0, rounds), websocket(1, realtime))
    one, other = tell_exchanges(found, limit=100)
    assert one.request == "websocket api.openai.com/v1/responses"
    assert one.facts == ("gpt-5-2026", "status 101", "1,234 tokens", "3 messages")
    assert [(each.who, each.text) for each in one.said] == [
        ("user", "hi"),
        ("assistant", "It rains.\nReally."),
    ]
    assert [(each.who, each.text) for each in other.said] == [
        ("session.created", '{"session": {"model": "r"}}'),
        ("user", "yes"),
        ("response.output_text.delta", "hello"),
    ]


def test_the_page_and_the_issue_tell_whose_word_the_answers_are() -> None:
    found = story(exchange(ASKED, ANSWERED), to="http://127.0.0.1:4010")
    page = render_page(grouped([Attachment(found, "r.zip")]))
    assert "answered by http://127.0.0.1:4010 in the place of api.openai.com (not the provider)" in page
    assert "recorded from api.openai.com" not in page
    assert '<h2 class="h2">What the model was asked and answered</h2>' in page
    assert '<pre tabindex="0">Weather in Oslo?</pre>' in page
    issue = render_issue(found, attachment="r.zip").text
    assert "answered by http://127.0.0.1:4010 in the place of api.openai.com (not the provider)" in issue
    assert "`POST api.openai.com/v1/responses`: " in issue
    assert "It rains." not in issue  # in brief
    scripted = render_page(grouped([Attachment(tell(check(forge.draft().seal())), "r.zip")]))
    assert "What the model was asked" not in scripted


def test_the_command_shows_them_and_says_where_there_are_none(tmp_path: Any) -> None:  # Any: pytest's path
    made = {"live": forge.draft_of_live(), "scripted": forge.draft()}
    for name, each in made.items():
        (tmp_path / f"{name}.zip").write_bytes(zip_bytes(each.seal()))
    shown = CliRunner().invoke(cli, ["show", str(tmp_path / "live.zip"), "--exchanges"])
    assert shown.exit_code == 0, shown.output
    assert "  2  POST api.openai.com/v1/responses" in shown.output
    refused = CliRunner().invoke(cli, ["show", str(tmp_path / "scripted.zip"), "--exchanges"])
    assert refused.exit_code != 0
    assert "holds no provider's answers" in refused.output
    assert "--live" in refused.output


def test_what_is_said_there_moves_nothing_and_is_cut() -> None:
    found = story(
        exchange(
            {"model": EVIL, "input": EVIL * 999},
            {"output": [{"type": "message", "role": EVIL, "content": EVIL}]},
        )
    )
    (told,) = tell_exchanges(found, limit=500)
    texts = [told.request, *told.facts, *(text for each in told.said for text in (each.who, each.text))]
    assert all(letter.isprintable() or letter == "\n" for text in texts for letter in text)
    assert all(len(each.text) < 600 for each in told.said)
    assert "<script" not in render_page(grouped([Attachment(found, "r.zip")]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "role",
                    "content",
                    "parts",
                    "text",
                    "input",
                    "messages",
                    "contents",
                    "output",
                    "choices",
                    "index",
                    "message",
                    "delta",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "error",
                    "response",
                    "candidates",
                    "usage",
                    "model",
                    "jsonrpc",
                    "method",
                    "result",
                    "item",
                    "tools",
                    "content_block",
                    "functionCall",
                    "summary",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(
    ["response.completed", "message", "function_call", "content_block_delta", "reasoning"]
)


@settings(max_examples=60, deadline=None)
@given(JSON, st.lists(st.tuples(KINDS, JSON), max_size=3), st.booleans())
def test_no_document_is_too_strange_to_be_told(
    asked: Json, answered: list[tuple[str, Json]], whole: bool
) -> None:
    documents = [{**each, "type": kind} if isinstance(each, dict) else each for kind, each in answered]
    text = json.dumps(documents) if whole else events(*documents)
    deep = {"json": asked} if not isinstance(asked, int) or abs(asked) < 2**53 else {"text": "1"}
    made = exchange({}, text, streamed=not whole)
    made["body"] = deep if asked is not None else {"text": ""}
    frames = [["client", 0, json.dumps(asked)], *(["server", 0, json.dumps(each)] for each in documents)]
    other = {**made, "method": "WS", "frames": frames}
    found = forge_story(made, other)
    for told in tell_exchanges(found, limit=50):
        assert len(told.said) < 200


def forge_story(*each: forge.Shape) -> Story:
    """A story whose exchanges are these, whatever they are."""
    found = story(exchange(ASKED, ANSWERED))
    found.bundle.members[EXCHANGES] = Exchanges.from_shape(forge.exchanges(*each)).to_bytes()  # type: ignore[index]
    return found


def test_a_pattern_that_is_redacted_is_redacted_in_what_was_asked_and_answered() -> None:
    wanted = SecretPatterns({}, patterns(["acme_[0-9]{4}"]))
    secret = "acme_1234"
    streamed = exchange({"input": f"my {secret}"}, "", streamed=True)
    streamed["answer"]["chunks"] = [[0, 'data: {"a": "acme_'], [1, '1234"}\n\n']]
    streamed["answer"]["headers"]["x-request-id"] = secret
    streamed["path"] = f"/v1/responses?user={secret}"
    websocket = {**forge.exchange(1), "method": "WS", "frames": [["server", 0, f"say {secret}"]]}
    changed = Exchanges.from_shape(forge.exchanges(streamed, websocket)).changed(
        Redactor(wanted, shapes=False)
    )
    assert secret.encode() not in changed.to_bytes()
    assert "acme_" not in changed.exchanges[0].answer.text
    assert changed.to_bytes().count(b"<redacted-1>") == 5
