# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.3"]
# ///
"""Our MCP server is down for a while; the client hammers it instead of backing off."""
import asyncio
import json
import time

from mcp.types import CallToolResult, TextContent

from agents.mcp import MCPServerStreamableHttp

BASE = 0.2


class Flaky:
    """A session whose first three calls fail."""

    def __init__(self):
        self.times = []

    async def call_tool(self, *args, **kwargs):
        self.times.append(time.monotonic())
        if len(self.times) < 4:
            raise ConnectionError("server is away")
        return CallToolResult(content=[TextContent(type="text", text="done")])


async def main():
    server = MCPServerStreamableHttp(
        {"url": "http://tools.invalid/mcp"}, max_retry_attempts=-1, retry_backoff_seconds_base=BASE
    )
    server.session = flaky = Flaky()
    result = await server.call_tool("hammer", {})
    waits = [round((b - a) / BASE) for a, b in zip(flaky.times, flaky.times[1:])]
    print(json.dumps({"answer": result.content[0].text, "waits": waits}))


asyncio.run(main())
