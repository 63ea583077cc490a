"""The chat completions adapter against a server of this script's own, on the loopback."""
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
answers = []


def completion(message, reason):
    return {"id": "c1", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers.append(len(request["messages"]))
        tool = {"id": "call_1", "type": "function", "function": {"name": "double", "arguments": '{"n": 4}'}}
        first = not any(message["role"] == "tool" for message in request["messages"])
        body = completion({"content": None, "tool_calls": [tool]}, "tool_calls") if first else completion({"content": "eight"}, "stop")
        if request.get("stream"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            choice = body["choices"][0]
            delta = dict(choice["message"])
            if delta.get("tool_calls"):
                delta["tool_calls"] = [{"index": 0, **tool}]
            chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
            for part in ({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                         {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}], "usage": body["usage"]}):
                self.wfile.write(f"data: {json.dumps({**chunk, **part})}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
            return
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@function_tool
def double(n: int) -> str:
    return str(2 * n)


async def main():
    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none")
    agent = Agent(name="a", model=OpenAIChatCompletionsModel(model="m", openai_client=client), tools=[double])
    result = await Runner.run(agent, "double four")
    print(result.final_output, answers)
    await client.close()


server = HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(main())
server.shutdown()
