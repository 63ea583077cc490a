# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.4"]
# ///
"""Our MCP tool gives a link to a file, and the model gets {'uri': ...} in single quotes."""
import asyncio
import json

from mcp.types import CallToolResult, ResourceLink, Tool

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


class Files(MCPServer):
    name = "files"

    async def connect(self): ...
    async def cleanup(self): ...
    async def list_prompts(self): ...
    async def get_prompt(self, name, arguments=None): ...

    async def list_tools(self, run_context=None, agent=None):
        return [Tool(name="find", inputSchema={"type": "object", "properties": {}})]

    async def call_tool(self, tool_name, arguments, meta=None):
        link = ResourceLink(type="resource_link", uri="file:///plan.md", name="plan", mimeType=None)
        return CallToolResult(content=[link])


async def main():
    model = Script(call("find", "{}"), text("found"))
    await Runner.run(Agent(name="a", model=model, mcp_servers=[Files()]), "find the plan")
    output = model.inputs[1][-1]["output"]
    told = output if isinstance(output, str) else output[0]["text"]
    try:
        json.loads(told)
    except ValueError:
        print(json.dumps({"is JSON": False}))
    else:
        print(json.dumps({"is JSON": True}))


asyncio.run(main())
