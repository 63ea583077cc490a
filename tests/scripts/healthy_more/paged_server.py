"""An MCP server with pages of tools, prompts and resources: over standard input and output, or HTTP on loopback."""
import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCHEMA = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
PAGES = {None: (["hammer", "saw"], "two"), "two": (["drill"], None)}


def result(method, given):
    """What is answered; None for a method that there is not."""
    if method == "initialize":
        offers = {"tools": {}, "prompts": {}, "resources": {}}
        info = {"name": "toolbox", "version": "1"}
        return {"protocolVersion": given["protocolVersion"], "capabilities": offers, "serverInfo": info}
    if method == "tools/list":
        names, following = PAGES[given.get("cursor")]
        tools = [{"name": name, "description": f"Use the {name}.", "inputSchema": SCHEMA} for name in names]
        return {"tools": tools, **({"nextCursor": following} if following else {})}
    if method == "tools/call":
        text = f"the {given['name']} of size {given['arguments']['size']} did it"
        return {"content": [{"type": "text", "text": text}], "isError": False}
    if method == "prompts/list":
        return {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]}
    if method == "prompts/get":
        content = {"type": "text", "text": f"Greet {given['arguments']['who']}."}
        return {"messages": [{"role": "user", "content": content}]}
    if method == "resources/list":
        return {"resources": [{"uri": "box://manual", "name": "manual", "mimeType": "text/plain"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "box://{page}", "name": "page"}]}
    if method == "resources/read":
        return {"contents": [{"uri": given["uri"], "mimeType": "text/plain", "text": "Mind your fingers."}]}
    return {} if method == "ping" else None


def answer(asked):
    """The response to a request; None for a notification."""
    if "id" not in asked:
        return None
    found = result(asked["method"], asked.get("params") or {})
    told = {"result": found} if found is not None else {"error": {"code": -32601, "message": "no such method"}}
    return {"jsonrpc": "2.0", "id": asked["id"], **told}


@contextmanager
def served():
    """The server on a loopback port; gives its URL."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_POST(self):
            told = answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            body = b"" if told is None else json.dumps(told).encode()
            self.send_response(202 if told is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.send_error(405)

        def do_DELETE(self):
            self.send_error(405)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    for line in sys.stdin:
        told = answer(json.loads(line))
        if told is not None:
            print(json.dumps(told), flush=True)
