"""A provider of the scripts' own: it answers over HTTP as the Responses and the Chat Completions API do."""
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "total_tokens": 15,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


def says(text):
    return {"text": text}


def calls(*wanted):
    return {"calls": [(name, json.dumps(arguments), f"call_{name}_{n}") for n, (name, arguments) in enumerate(wanted)]}


class Provider:
    """Gives the prepared answers in turn, a status instead where one is given, and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def answer(self, path, body):
        """Status, content type and body."""
        self.asked.append(body)
        given = self.answers.pop(0)
        if isinstance(given, int):
            return given, "application/json", json.dumps({"error": {"message": "not now", "type": "server_error"}})
        if path.endswith("/responses"):
            return 200, *self._response(body, given)
        return 200, *self._completion(body, given)

    def _response(self, body, given):
        number = len(self.asked)
        items = []
        if "text" in given:
            part = {"type": "output_text", "text": given["text"], "annotations": []}
            items.append({"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": [part]})
        for name, arguments, call_id in given.get("calls", ()):
            items.append({"id": f"fc_{call_id}", "type": "function_call", "status": "completed", "name": name, "arguments": arguments, "call_id": call_id})
        whole = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1700000000,
            "status": "completed",
            "model": body["model"],
            "output": items,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": USAGE,
        }
        if not body.get("stream"):
            return "application/json", json.dumps(whole)
        events = [{"type": "response.created", "response": {**whole, "output": [], "status": "in_progress", "usage": None}}]
        for place, item in enumerate(items):
            where = {"output_index": place, "item_id": item["id"]}
            bare = {**item, "status": "in_progress", **({"content": []} if "content" in item else {"arguments": ""})}
            events.append({"type": "response.output_item.added", "output_index": place, "item": bare})
            for part in item.get("content", ()):
                inner = {**where, "content_index": 0}
                events.append({"type": "response.content_part.added", **inner, "part": {**part, "text": ""}})
                for letter in part["text"]:
                    events.append({"type": "response.output_text.delta", **inner, "delta": letter, "logprobs": []})
                events.append({"type": "response.output_text.done", **inner, "text": part["text"], "logprobs": []})
                events.append({"type": "response.content_part.done", **inner, "part": part})
            if "arguments" in item:
                events.append({"type": "response.function_call_arguments.delta", **where, "delta": item["arguments"]})
                events.append({"type": "response.function_call_arguments.done", **where, "name": item["name"], "arguments": item["arguments"]})
            events.append({"type": "response.output_item.done", "output_index": place, "item": item})
        events.append({"type": "response.completed", "response": whole})
        lines = [
            f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': n})}\n\n" for n, event in enumerate(events)
        ]
        return "text/event-stream", "".join(lines)

    def _completion(self, body, given):
        number = len(self.asked)
        head = {"id": f"chatcmpl-{number}", "created": 1700000000, "model": body["model"]}
        finish = "tool_calls" if "calls" in given else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        wanted = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments, call_id in given.get("calls", ())
        ]
        if not body.get("stream"):
            message = {"role": "assistant", "content": given.get("text"), **({"tool_calls": wanted} if wanted else {})}
            choice = {"index": 0, "finish_reason": finish, "message": message}
            return "application/json", json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        deltas = [{"role": "assistant", "content": None if "text" not in given else ""}]
        deltas += [{"content": letter} for letter in given.get("text", "")]
        for n, call in enumerate(wanted):
            half = len(call["function"]["arguments"]) // 2
            first, rest = call["function"]["arguments"][:half], call["function"]["arguments"][half:]
            deltas.append({"tool_calls": [{"index": n, **call, "function": {"name": call["function"]["name"], "arguments": first}}]})
            deltas.append({"tool_calls": [{"index": n, "function": {"arguments": rest}}]})
        chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        chunks.append({"index": 0, "delta": {}, "finish_reason": finish})
        told = [{**head, "object": "chat.completion.chunk", "choices": [chunk]} for chunk in chunks]
        told.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        return "text/event-stream", "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in told) + "data: [DONE]\n\n"


@contextmanager
def served(provider):
    """The provider on a loopback port; gives its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, kind, text = provider.answer(self.path, body)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
