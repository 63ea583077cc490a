# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.1"]
# ///
"""Our MCP server's address has a password in it, and our trace dashboard shows it."""
import asyncio
import json

from mcp.types import CallToolResult, TextContent, Tool

from agents.mcp import MCPServer
from agents.tracing import TracingProcessor, set_trace_processors

from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from agents import Agent, Model, ModelResponse, Runner, Usage


def text(words):
    part = ResponseOutputText(type="output_text", text=words, annotations=[])
    return ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[part])


def call(name, arguments):
    return ResponseFunctionToolCall(
        id="fc_1", call_id="call_1", type="function_call", name=name, arguments=arguments
    )


class Script(Model):
    """Plays its answers, and keeps what it was given."""

    def __init__(self, *answers):
        self.answers, self.inputs, self.tools = list(answers), [], []

    async def get_response(self, system_instructions, input, model_settings, tools, *args, **kwargs):
        self.inputs.append(input)
        self.tools.append(tools)
        return ModelResponse(output=[self.answers.pop(0)], usage=Usage(requests=1), response_id=None)

    async def stream_response(self, system_instructions, input, model_settings, tools, *args, **kwargs):
        from openai.types.responses import Response, ResponseCompletedEvent

        self.inputs.append(input)
        self.tools.append(tools)
        response = Response(
            id="r", object="response", created_at=0, model="s", output=[self.answers.pop(0)], tool_choice="auto",
            tools=[], parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=0, response=response)


class Keep(TracingProcessor):
    """Keeps what spans tell of MCP servers."""

    servers = []

    def on_trace_start(self, trace): ...
    def on_trace_end(self, trace): ...
    def on_span_start(self, span): ...
    def shutdown(self): ...
    def force_flush(self): ...

    def on_span_end(self, span):
        told = span.span_data.export()
        if told["type"] == "mcp_tools":
            self.servers.append(told["server"])


class Tools(MCPServer):
    name = "streamable_http: https://ann:hunter2@tools.invalid/mcp"

    async def connect(self): ...
    async def cleanup(self): ...
    async def list_prompts(self): ...
    async def get_prompt(self, name, arguments=None): ...

    async def list_tools(self, run_context=None, agent=None):
        return [Tool(name="hammer", inputSchema={"type": "object", "properties": {}})]

    async def call_tool(self, tool_name, arguments, meta=None):
        return CallToolResult(content=[TextContent(type="text", text="bang")])


async def main():
    keep = Keep()
    set_trace_processors([keep])
    agent = Agent(name="a", model=Script(text("hello")), mcp_servers=[Tools()])
    await Runner.run(agent, "hi")
    print(json.dumps({"traced": sorted({"hunter2" in each for each in keep.servers})}))


asyncio.run(main())
