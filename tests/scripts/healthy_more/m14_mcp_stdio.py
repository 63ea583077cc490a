"""A real MCP server in a process of its own, over standard input and output."""
import asyncio
import sys
from pathlib import Path

from agents import Agent
from agents.mcp import MCPServerStdio

from scripted import Scripted, attempt, call, say


async def main():
    program = {"command": sys.executable, "args": [str(Path(__file__).with_name("stdio_server.py"))]}
    async with MCPServerStdio(params=program, cache_tools_list=True, client_session_timeout_seconds=60) as server:
        turns = [[call("multiply", {"a": 6, "b": 7}, "m1")], [call("fail", {}, "m2"), call("rows", {}, "m3")], [say("done")]]
        result = await attempt(Agent(name="a", model=Scripted(*turns), mcp_servers=[server]), "go")
        print(result.final_output, [item.output for item in result.new_items if item.type == "tool_call_output_item"])


asyncio.run(main())
