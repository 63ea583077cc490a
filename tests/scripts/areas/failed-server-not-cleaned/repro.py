# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.1"]
# ///
"""reconnect() after a failure leaves the half-open connection of the first try behind."""
import asyncio
import json

from agents.mcp import MCPServer, MCPServerManager

done = []


class Shaky(MCPServer):
    name = "shaky"
    tries = 0

    async def connect(self):
        self.tries += 1
        done.append(f"connect {self.tries}")
        if self.tries == 1:
            raise ConnectionError("not yet")

    async def cleanup(self):
        done.append("cleanup")

    async def list_tools(self, run_context=None, agent=None):
        return []

    async def call_tool(self, tool_name, arguments, meta=None): ...
    async def list_prompts(self): ...
    async def get_prompt(self, name, arguments=None): ...


async def main():
    manager = MCPServerManager([Shaky()])
    async with manager:
        done.append("failed" if manager.failed_servers else "connected")
        await manager.reconnect()
        done.append("failed" if manager.failed_servers else "connected")
    print(json.dumps({"in order": done}))


asyncio.run(main())
