"""Two MCP servers under a manager: one fails at first, is connected again, and both are used and cleaned up."""
import asyncio

from mcp.types import CallToolResult, TextContent, Tool
from scripted import Scripted, call, say

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServer, MCPServerManager

set_tracing_disabled(True)


class Own(MCPServer):
    def __init__(self, name, failures=0):
        super().__init__()
        self.named, self.failures, self.is_open = name, failures, False

    @property
    def name(self):
        return self.named

    async def connect(self):
        if self.failures:
            self.failures -= 1
            raise ConnectionError("not yet")
        self.is_open = True

    async def cleanup(self):
        self.is_open = False

    async def list_tools(self, run_context=None, agent=None):
        return [Tool(name=f"ask_{self.named}", inputSchema={"type": "object", "properties": {}})]

    async def call_tool(self, tool_name, arguments, meta=None):
        return CallToolResult(content=[TextContent(type="text", text=f"{self.named} says hello")])

    async def list_prompts(self):
        raise NotImplementedError

    async def get_prompt(self, name, arguments=None):
        raise NotImplementedError


async def main():
    servers = [Own("first"), Own("second", failures=1)]
    async with MCPServerManager(servers) as manager:
        print([each.name for each in manager.active_servers], len(manager.failed_servers))
        await manager.reconnect()
        print([each.name for each in manager.active_servers], len(manager.failed_servers))
        model = Scripted([call("ask_first", call_id="c1")], [call("ask_second", call_id="c2")], [say("done")])
        agent = Agent(name="asker", model=model, mcp_servers=manager.active_servers)
        print((await Runner.run(agent, "ask both")).final_output)
    print([each.is_open for each in servers])


asyncio.run(main())
