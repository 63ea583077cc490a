"""A stand-in provider on loopback: Responses and Chat Completions, whole and streamed, and what goes wrong.

The model's name asks for a fault: `429x2` refuses twice, `cut` leaves in the middle, and so on. `echo`
answers with all that it was sent, headers too, in each spelling that a server could make of it.
"""

import base64
import itertools
import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agentproof.live.keys import key_spellings

Json = dict[str, Any]  # Any: a JSON document


class Provider(ThreadingHTTPServer):
    """What was asked of it is in `asked`: (method, path, headers, body)."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.counts: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.silent = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that leave are what these tests are about."""


@contextmanager
def serving() -> Iterator[Provider]:
    """A provider for a while."""
    with Provider() as provider:
        thread = threading.Thread(target=provider.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield provider
        finally:
            provider.silent.set()
            provider.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.answer(b"")

    def do_DELETE(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def answer(self, raw: bytes) -> None:
        headers = {name.lower(): text for name, text in self.headers.items()}
        self.server.asked.append((self.command, self.path, headers, raw))
        body = json.loads(raw) if raw.startswith(b"{") else {}
        model = str(body.get("model", ""))
        fault = getattr(self, f"fault_{model.replace('-', '_')}", None)
        if fault is not None:
            fault(body)
        elif self.path.partition("?")[0].endswith("/chat/completions"):
            self.chat(body)
        else:
            self.respond(body)

    # what goes wrong

    def fault_429x2(self, body: Json) -> None:
        with self.server.lock:
            self.server.counts["429x2"] += 1
            number = self.server.counts["429x2"]
        if number % 3:
            self.whole(
                {"error": {"message": "slow down", "code": "rate_limit"}}, 429, {"retry-after-ms": "5"}
            )
        else:
            self.respond(body)

    def fault_500(self, _: Json) -> None:
        self.whole({"error": {"message": "broken"}}, 500)

    def fault_400(self, _: Json) -> None:
        self.whole({"error": {"message": "no such thing", "param": "input[0]", "code": "invalid"}}, 400)

    def fault_401(self, _: Json) -> None:
        given = self.headers.get("authorization", "").removeprefix("Bearer ")
        message = f"Incorrect API key provided: {given[:8]}***{given[-4:]}"
        self.whole(
            {"error": {"message": message, "type": "invalid_request_error", "code": "invalid_api_key"}}, 401
        )

    def fault_silent(self, _: Json) -> None:
        self.server.silent.wait(20)

    def fault_drop(self, _: Json) -> None:
        self.close_connection = True

    def fault_cut(self, body: Json) -> None:
        self.events(_events(_response(body)), cut=4)

    def fault_short(self, _: Json) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "100")
        self.end_headers()
        self.wfile.write(b'{"half": ')
        self.close_connection = True

    def fault_slow_stream(self, body: Json) -> None:
        self.events(_events(_response(body)), pause=0.05)

    def fault_gzip(self, _: Json) -> None:
        import gzip  # noqa: PLC0415

        data = gzip.compress(json.dumps({"said": self.headers.get("authorization", "")}).encode())
        self.raw(data, {"content-type": "application/json", "content-encoding": "gzip"})

    def fault_brotli(self, _: Json) -> None:
        self.raw(b"\x8b", {"content-type": "application/json", "content-encoding": "br"})

    def fault_binary(self, _: Json) -> None:
        self.raw(bytes(range(256)), {"content-type": "audio/mpeg"})

    def fault_echo(self, body: Json) -> None:
        """All that it was sent, whole or in pieces of three bytes, in every spelling of the key."""
        key = self.headers.get("authorization", "").removeprefix("Bearer ") or "none-none-none"
        said = b" ".join([self.path.encode(), str(self.headers).encode(), *key_spellings(key)])
        said += b" " + base64.b64encode(b"user:" + key.encode()) + b" " + json.dumps({"k": [key]}).encode()
        if body.get("stream"):
            self.chunks(said[at : at + 3] for at in range(0, len(said), 3))
        else:
            self.raw(said, {"content-type": "text/plain", "x-request-id": key, "www-authenticate": key})

    def fault_large(self, body: Json) -> None:
        self.raw(b"x" * int(body["size"]), {"content-type": "text/plain"})

    # how answers are sent

    def raw(self, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def whole(self, document: Json, status: int = 200, more: dict[str, str] | None = None) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("x-request-id", f"req_{uuid.uuid4().hex}")
        self.send_header("set-cookie", f"session={uuid.uuid4().hex}")
        self.send_header("openai-organization", "org-secret")
        for name, text in (more or {}).items():
            self.send_header(name, text)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def chunks(self, parts: Iterable[bytes], *, cut: int | None = None, pause: float = 0.0) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for index, part in enumerate(parts):
            if index == cut:
                self.close_connection = True
                return
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.wfile.flush()
            time.sleep(pause)
        self.wfile.write(b"0\r\n\r\n")

    def events(self, events: Iterable[Json], *, cut: int | None = None, pause: float = 0.0) -> None:
        parts = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events)
        self.chunks(parts, cut=cut, pause=pause)

    def respond(self, body: Json) -> None:
        response = _response(body)
        time.sleep(float(body.get("metadata", {}).get("sleep", 0)))
        if body.get("stream"):
            self.events(_events(response))
        else:
            self.whole(response)

    def chat(self, body: Json) -> None:
        text = f"Answer to {body['messages'][-1]['content']} 🌍"
        base = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body["model"]}
        usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
        if not body.get("stream"):
            message = {"role": "assistant", "content": text, "refusal": None}
            choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
            self.whole({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        deltas: list[Json] = [{"role": "assistant", "content": ""}, *({"content": each} for each in text), {}]
        chunks = [
            {
                **base,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}],
            }
            for delta in deltas
        ]
        if (body.get("stream_options") or {}).get("include_usage"):
            chunks.append({**base, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        lines = [f"data: {json.dumps(each, ensure_ascii=False)}\n\n".encode() for each in chunks]
        self.chunks([*lines, b"data: [DONE]\n\n"])


def _response(body: Json) -> Json:
    """A message that repeats the question; a call of the first tool that is offered, once."""
    asked = body.get("input") or ""
    items = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    called = any(item.get("type") == "function_call_output" for item in items)
    offered = [tool for tool in body.get("tools") or () if tool.get("type") == "function"]
    output: list[Json]
    if offered and not called:
        call = {
            "call_id": f"call_{uuid.uuid4().hex}",
            "name": offered[0]["name"],
            "arguments": '{"city": "Oslo"}',
        }
        output = [{"id": f"fc_{uuid.uuid4().hex}", "type": "function_call", "status": "completed", **call}]
    else:
        said = f"Answer to {items[0]['content']}, in so many words 🌍"
        part = {"type": "output_text", "text": said, "annotations": [], "logprobs": []}
        message = {
            "id": f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
        }
        output = [{**message, "content": [part]}]
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "created_at": int(time.time()),
        "model": f"{body.get('model')}-2026",
        "status": "completed",
        "output": output,
        "error": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "usage": {**usage, **details},
    }


def _events(response: Json) -> list[Json]:
    count = itertools.count()

    def event(kind: str, **fields: Any) -> Json:  # Any: parts of a JSON document
        return {"type": f"response.{kind}", "sequence_number": next(count), **fields}

    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    found = [event("created", response=begun), event("in_progress", response=begun)]
    for index, item in enumerate(response["output"]):
        place = {"item_id": item["id"], "output_index": index}
        is_message = item["type"] == "message"
        nothing: Json = {"content": []} if is_message else {"arguments": ""}
        found.append(
            event("output_item.added", output_index=index, item={**item, "status": "in_progress", **nothing})
        )
        if is_message:
            (part,) = item["content"]
            at = {**place, "content_index": 0}
            found.append(event("content_part.added", part={**part, "text": ""}, **at))
            text = part["text"]
            found += [
                event("output_text.delta", delta=text[start : start + 7], logprobs=[], **at)
                for start in range(0, len(text), 7)
            ]
            found.append(event("output_text.done", text=text, logprobs=[], **at))
            found.append(event("content_part.done", part=part, **at))
        else:
            found.append(event("function_call_arguments.delta", delta=item["arguments"], **place))
            done = {"arguments": item["arguments"], "name": item["name"]}
            found.append(event("function_call_arguments.done", **done, **place))
        found.append(event("output_item.done", output_index=index, item=item))
    return [*found, event("completed", response=response)]
