"""An MCP server over standard input and output: pages of tools, a filter, prompts, and a failure to connect."""
import asyncio
import sys
from pathlib import Path

from agents import Agent
from agents.mcp import MCPServerManager, MCPServerStdio, create_static_tool_filter

from scripted import Scripted, attempt, call, say

HERE = Path(__file__).with_name("paged_server.py")


def server(**options):
    program = {"command": sys.executable, "args": [str(HERE)]}
    return MCPServerStdio(params=program, client_session_timeout_seconds=60, **options)


async def main():
    filtered = server(name="box", tool_filter=create_static_tool_filter(blocked_tool_names=["saw"]))
    absent = MCPServerStdio(name="absent", params={"command": "/nonexistent/program", "args": []})
    async with MCPServerManager([filtered, absent]) as manager:
        print([each.name for each in manager.active_servers], [each.name for each in manager.failed_servers])
        turns = [[call("hammer", {"size": 3}, "h1")], [say("done")], [say("again")]]
        agent = Agent(name="a", model=Scripted(*turns), mcp_servers=manager.active_servers)
        result = await attempt(agent, "go")
        await attempt(agent, "once more")
        print(result.final_output, sorted(tool.name for tool in await filtered.list_tools(None, agent)))
        print([each.name for each in (await filtered.list_prompts()).prompts])
        print((await filtered.get_prompt("greet", {"who": "Ann"})).messages[0].content.text)


asyncio.run(main())
