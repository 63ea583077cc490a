# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.1"]
# ///
"""Our MCP server's address has a token in it; when cleaning up fails, the token stands in our log."""
import asyncio
import json
import logging

import httpx

from agents.mcp import MCPServerStreamableHttp

lines = []


class Keep(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())
        if record.exc_info and record.exc_info[1] is not None:
            lines.append(repr(record.exc_info[1]))


logging.getLogger("openai.agents").addHandler(Keep())
logging.getLogger("openai.agents").setLevel(logging.DEBUG)


class Broken:
    async def aclose(self):
        request = httpx.Request("POST", "http://ann:hunter2@tools.invalid/mcp")
        error = httpx.HTTPStatusError(f"502 for {request.url}", request=request, response=httpx.Response(502, request=request))
        raise error


async def main():
    server = MCPServerStreamableHttp({"url": "http://tools.invalid/mcp"}, name="tools")
    server.exit_stack = Broken()
    try:
        await server.cleanup()
        ended = "quietly"
    except Exception as error:
        ended = type(error).__name__
        lines.append(repr(error) + repr(error.__cause__))
    print(json.dumps({"ended": ended, "token is told": any("hunter2" in line for line in lines)}))


asyncio.run(main())
