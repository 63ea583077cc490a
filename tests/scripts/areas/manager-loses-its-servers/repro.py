# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.4"]
# ///
"""Servers come from a generator, and the manager says that none is active."""
import asyncio
import json

from agents.mcp import MCPServer, MCPServerManager


class Quiet(MCPServer):
    name = "quiet"

    async def connect(self): ...
    async def cleanup(self): ...
    async def list_prompts(self): ...
    async def get_prompt(self, name, arguments=None): ...

    async def list_tools(self, run_context=None, agent=None):
        return []

    async def call_tool(self, tool_name, arguments, meta=None): ...


manager = MCPServerManager(server for server in [Quiet()])
print(json.dumps({"active": len(manager.active_servers)}))
