"""An MCP server over streamable HTTP on loopback: connected twice, with a cache of its tools."""
import asyncio

from agents import Agent
from agents.mcp import MCPServerStreamableHttp

from paged_server import served
from scripted import Scripted, attempt, call, say


async def main():
    with served() as url:
        for _ in range(2):
            server = MCPServerStreamableHttp(
                name="box", params={"url": url}, cache_tools_list=True, client_session_timeout_seconds=60
            )
            async with server:
                turns = [[call("saw", {"size": 2}, "s1")], [call("drill", {"size": 5}, "d1")], [say("done")]]
                agent = Agent(name="a", model=Scripted(*turns), mcp_servers=[server])
                result = await attempt(agent, "go")
                print(result.final_output, [each.output for each in result.new_items if each.type == "tool_call_output_item"])


asyncio.run(main())
