"""A small MCP server over standard input and output, for the script beside it."""
import json
import sys

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
TOOLS = [{"name": name, "description": "d", "inputSchema": SCHEMA} for name in ("multiply", "fail", "rows")]


def texts(*found, failed=False):
    return {"content": [{"type": "text", "text": each} for each in found], "isError": failed}


def call(name, given):
    if name == "multiply":
        product = given["a"] * given["b"]
        return {**texts(str(product)), "structuredContent": {"result": product}}
    return texts("one", "two") if name == "rows" else texts("on the server's side", failed=True)


def answer(method, given):
    if method == "initialize":
        return {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "small", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(given["name"], given.get("arguments") or {})
    return {} if method == "ping" else None


for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    found = answer(asked["method"], asked.get("params") or {})
    told = {"result": found} if found is not None else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
