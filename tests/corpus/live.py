"""`python -m tests.corpus.live [NAME ...]`: public reports with a live model, and what became of them.

Each script asks a server on loopback that answers as its report says (`--live-to`), on the release that
shows the report. Then it is compared with the release that has the fix, answered from the recording alone.
The table says the verdict on the first, and what became of it on the second. Exit 1 where a report is not
violated on its own release, or where the fixed release comes out as something else than in `REPORTS`.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agentproof.bundle.store import read_bundle
from agentproof.models.manifest import Manifest
from tests.command import agentproof

SCRIPTS = Path(__file__).parents[1] / "scripts" / "live"
HOST = "api.openai.com"
KEY = "sk-proj-q7Zt0Vw3XyB1nM9kLpRsdF5abcdefGh"
Json = dict[str, Any]  # Any: a JSON document
Answer = Callable[[Json], tuple[int, Json]]
"""What a body is answered with: status and document; a list `chunks` in it is sent as a stream."""


@dataclass(frozen=True)
class Report:
    """A public report, and what is known of it."""

    number: int
    buggy: str
    fixed: str
    answer: Answer
    options: tuple[str, ...]
    outcome: str
    """What becomes of it on the fixed release, answered from the recording."""


@dataclass(frozen=True)
class Row:
    """What came of a report."""

    name: str
    verdict: str
    violated: tuple[str, ...]
    outcome: str
    told: str


def _refused(message: str, param: str) -> tuple[int, Json]:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return 400, {"error": error}


def _chat(message: Json, finish: str = "stop") -> Json:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1750000000,
        "model": "gpt-4o",
        "choices": [choice],
    }


def _response(*output: Json) -> Json:
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1750000000,
        "model": "gpt-4o",
        "status": "completed",
        "output": list(output),
        "error": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {**usage, **details},
    }


def _message(*content: Json) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": list(content),
    }


def _stream_options(body: Json) -> tuple[int, Json]:
    if body.get("stream_options") and not body.get("stream"):
        text = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        return _refused(text, "stream_options")
    return 200, _chat({"content": "Hello."})


def _streamed(body: Json) -> tuple[int, Json]:
    base = {**_chat({}), "object": "chat.completion.chunk"}
    deltas: list[Json] = [{"role": "assistant", "content": ""}, {"content": "Hel"}, {"content": "lo."}, {}]
    choices = [
        [{"index": 0, "delta": each, "finish_reason": None if each else "stop", "logprobs": None}]
        for each in deltas
    ]
    chunks = [{**base, "choices": each} for each in choices]
    if (body.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
        chunks.append({**base, "choices": [], "usage": usage})
    return 200, {"chunks": chunks}


def _without_usage(body: Json) -> tuple[int, Json]:
    if body["messages"][-1]["role"] == "tool":
        return 200, _chat({"content": "Rain."})
    function = {"name": "weather", "arguments": '{"city": "Oslo"}'}
    call = {"id": "call_1", "type": "function", "function": function}
    return 200, _chat({"content": None, "tool_calls": [call]}, "tool_calls")


def _reasoning(body: Json) -> tuple[int, Json]:
    if body.get("tools"):
        thought = {"id": "rs_1", "type": "reasoning", "summary": []}
        call = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1"}
        return 200, _response(thought, {**call, "name": "transfer_to_expert", "arguments": "{}"})
    if isinstance(body["input"], list) and body["input"][-1].get("type") == "reasoning":
        text = "Item 'rs_1' of type 'reasoning' was provided without its required following item."
        return _refused(text, "input")
    said = {"type": "output_text", "text": "On its way.", "annotations": [], "logprobs": []}
    return 200, _response(_message(said))


def _refusing(_: Json) -> tuple[int, Json]:
    return 200, _response(_message({"type": "refusal", "refusal": "I can't help with that."}))


RAISING = ("--should-not-raise",)
SAYING = ("--should-print", "ModelRefusalError")
REPORTS = {
    # #3055 is fixed in 0.15.0, which until 0.19.4 leaves the span of a failed run without its error.
    "chat-requests-not-counted": Report(4290, "0.19.4", "0.20.0", _without_usage, (), "fixed"),
    "chat-stream-without-logprobs": Report(1227, "0.2.3", "0.2.4", _streamed, RAISING, "fixed"),
    "reasoning-orphaned-by-handoff": Report(2503, "0.9.0", "0.9.2", _reasoning, RAISING, "inconclusive"),
    "refusal-runs-out-of-turns": Report(3055, "0.14.8", "0.19.4", _refusing, SAYING, "fixed"),
    "stream-options-always-sent": Report(518, "0.0.10", "0.0.11", _stream_options, RAISING, "inconclusive"),
}


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """A server that answers so, for a while: its address."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, document = answer(body)
            chunks = document.get("chunks")
            kind, data = "application/json", json.dumps(document)
            if chunks is not None:
                lines = [*map(json.dumps, chunks), "[DONE]"]
                kind, data = "text/event-stream", "".join(f"data: {each}\n\n" for each in lines)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data.encode())))
            self.end_headers()
            self.wfile.write(data.encode())

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def play(name: str, place: Path) -> Row:
    """Record a report in this folder, then compare with the fixed release once the server is gone."""
    report = REPORTS[name]
    bundle = place / f"{name}.zip"
    script = SCRIPTS / name / "repro.py"
    with serving(report.answer) as url:
        recorded = agentproof(
            *("record", script, "--sdk", report.buggy, "--live-to", f"{HOST}={url}", "--output", bundle),
            *report.options,
            env={**os.environ, "OPENAI_API_KEY": KEY},
            place=place,
        )
    told = recorded.stdout + recorded.stderr
    if not bundle.exists():
        return Row(name, "not recorded", (), "-", told)
    judged = Manifest.from_bytes(read_bundle(bundle).manifest).judgement
    violated = tuple(sorted({each.id for each in judged.claims if each.status == "violated"}))
    alone = {key: text for key, text in os.environ.items() if key != "OPENAI_API_KEY"}
    compared = agentproof("compare", bundle, "--with", report.fixed, "--json", env=alone, place=place)
    told += compared.stdout + compared.stderr
    try:
        (row,) = json.loads(compared.stdout)["rows"]
        outcome = row["cells"][-1]["outcome"]
    except (json.JSONDecodeError, KeyError, ValueError):
        outcome = "?"
    return Row(name, judged.verdict, violated, outcome, told)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.corpus.live", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("only", nargs="*", metavar="NAME", help="one of the reports")
    parser.add_argument("--show", action="store_true", help="what was printed, too")
    options = parser.parse_args()
    print("| report | script | shown on | verdict | violated | on | outcome |\n|---|---|---|---|---|---|---|")
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.only or REPORTS:
            report, row = REPORTS[name], play(name, Path(scratch))
            cells = [f"#{report.number}", name, report.buggy, row.verdict, ", ".join(row.violated) or "-"]
            print("|", " | ".join([*cells, report.fixed, row.outcome]), "|", flush=True)
            wrong += (row.verdict, row.outcome) != ("violated", report.outcome)
            if options.show:
                print(row.told, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
