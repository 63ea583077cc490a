"""A server in a thread, on a free port that is passed around, and a task that beats all the while."""
import asyncio
import http.server
import json
import socket
import threading
import urllib.request

from agents import Agent, Runner, function_tool

from scripted import Scripted, call, say

beats = 0


class Weather(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"sky": "clear"}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def heartbeat():
    global beats
    while True:
        beats += 1
        await asyncio.sleep(0.002)


async def main(port):
    @function_tool
    def sky() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/sky") as answer:
            return json.load(answer)["sky"]

    agent = Agent(name="a", model=Scripted([call("sky")], [say("It is clear.")]), tools=[sky])
    beating = asyncio.create_task(heartbeat())
    print((await Runner.run(agent, "How is the sky?")).final_output)
    beating.cancel()
    print(beats > 0)


port = free_port()
with http.server.ThreadingHTTPServer(("127.0.0.1", port), Weather) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asyncio.run(main(port))
    server.shutdown()
