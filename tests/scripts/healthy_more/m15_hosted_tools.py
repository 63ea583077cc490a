"""Tools that ran at the provider, as its answers report them; approvals of a hosted MCP server."""
import asyncio

from agents import Agent, HostedMCPTool
from openai.types.responses import ResponseCodeInterpreterToolCall, ResponseFunctionWebSearch
from openai.types.responses.response_output_item import McpApprovalRequest, McpCall, McpListTools

from scripted import Scripted, attempt, say


def hosted(require, **more):
    config = {"type": "mcp", "server_label": "git", "server_url": "https://mcp.invalid", "require_approval": require}
    return HostedMCPTool(tool_config=config, **more)


def ran(id, output):
    return McpCall.model_validate(dict(id=id, arguments='{"q": 1}', name="search", server_label="git", type="mcp_call", output=output))


async def main():
    tools = McpListTools.model_validate(
        dict(id="l1", server_label="git", tools=[dict(name="search", input_schema={})], type="mcp_list_tools"))
    result = await attempt(Agent(name="a", model=Scripted([tools, ran("mc1", "found"), say("done")]), tools=[hosted("never")]), "go")
    print(result.final_output, [item.type for item in result.new_items])

    asks = McpApprovalRequest.model_validate(
        dict(id="ar1", arguments="{}", name="search", server_label="git", type="mcp_approval_request"))
    by_callback = hosted("always", on_approval_request=lambda request: {"approve": True})
    result = await attempt(Agent(name="a", model=Scripted([asks], [ran("mc2", "ok"), say("ok")]), tools=[by_callback]), "go")
    print(result.final_output, [item.type for item in result.new_items])

    agent = Agent(name="a", model=Scripted([asks], [ran("mc3", "ok"), say("ok")]), tools=[hosted("always")])
    result = await attempt(agent, "go")
    state = result.to_state()
    state.approve(state.get_interruptions()[0])
    result = await attempt(agent, state)
    print(result.final_output, [item.type for item in result.new_items])

    web = ResponseFunctionWebSearch.model_validate(
        dict(id="ws1", status="completed", type="web_search_call", action=dict(type="search", query="q")))
    code = ResponseCodeInterpreterToolCall.model_validate(
        dict(id="ci1", code="1", container_id="c", outputs=None, status="completed", type="code_interpreter_call"))
    result = await attempt(Agent(name="a", model=Scripted([web, code, say("w")])), "go")
    print(result.final_output, [item.type for item in result.new_items])


asyncio.run(main())
