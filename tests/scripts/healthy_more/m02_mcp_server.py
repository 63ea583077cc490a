"""Tools of an MCP server in this process: text, structured content, an error."""
import asyncio

from agents import Agent
from agents.mcp import MCPServer
from mcp.types import CallToolResult, TextContent, Tool

from scripted import Scripted, attempt, call, say


class Server(MCPServer):
    def __init__(self):
        super().__init__()
        self.calls = []

    @property
    def name(self):
        return "server"

    async def connect(self):
        pass

    async def cleanup(self):
        pass

    async def list_tools(self, *args, **kwargs):
        schema = {"type": "object", "properties": {"q": {"type": "integer"}}}
        return [Tool(name=name, description="d", inputSchema=schema) for name in ("text", "two", "fails")]

    async def call_tool(self, tool_name, arguments, *args, **kwargs):
        self.calls.append(tool_name)
        texts = {"text": ["plain"], "two": ["{'looks': 'like python'}", "second"], "fails": ["went wrong"]}[tool_name]
        return CallToolResult(content=[TextContent(type="text", text=text) for text in texts], isError=tool_name == "fails")

    async def list_prompts(self):
        raise NotImplementedError

    async def get_prompt(self, *args, **kwargs):
        raise NotImplementedError


async def main():
    server = Server()
    turns = [[call("text", {"q": 1}, "m1"), call("two", {"q": 2}, "m2")], [call("fails", {"q": 3}, "m3")], [say("done")]]
    result = await attempt(Agent(name="a", model=Scripted(*turns), mcp_servers=[server]), "go")
    print(result.final_output, server.calls)


asyncio.run(main())
