# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.4"]
# ///
"""Our MCP tool takes any settings ({"type": "object"}), and the model may only send {}."""
import asyncio
import json

from mcp.types import CallToolResult, TextContent, Tool

from agents import set_tracing_disabled
from agents.mcp import MCPServer

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

set_tracing_disabled(True)


class Settings(MCPServer):
    name = "settings"

    async def connect(self): ...
    async def cleanup(self): ...
    async def list_prompts(self): ...
    async def get_prompt(self, name, arguments=None): ...

    async def list_tools(self, run_context=None, agent=None):
        free = {"type": "object", "properties": {"settings": {"type": "object"}}, "required": ["settings"]}
        return [Tool(name="store", inputSchema=free)]

    async def call_tool(self, tool_name, arguments, meta=None):
        return CallToolResult(content=[TextContent(type="text", text="stored")])


async def main():
    model = Script(text("hello"))
    agent = Agent(
        name="a", model=model, mcp_servers=[Settings()], mcp_config={"convert_schemas_to_strict": True}
    )
    await Runner.run(agent, "hi")
    (tool,) = model.tools[0]
    settings = tool.params_json_schema["properties"]["settings"]
    print(json.dumps({"strict": tool.strict_json_schema, "more": settings.get("additionalProperties")}))


asyncio.run(main())
