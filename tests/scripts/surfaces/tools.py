"""Every family of local tools, as far as the release has it."""

import asyncio

import agents
from agents import Agent, Runner, function_tool
from scripted import Scripted, call, say

ran = []


@function_tool
def add(a: int, b: int) -> str:
    ran.append(("add", a, b))
    return str(a + b)


@function_tool
async def slow(n: int) -> str:
    await asyncio.sleep(0.01 * n)
    ran.append(("slow", n))
    return f"slow{n}"


@function_tool
def breaks() -> str:
    ran.append("breaks")
    raise ValueError("broken")


@function_tool(failure_error_function=None)
def raises() -> str:
    ran.append("raises")
    raise ValueError("raised")


async def functions():
    turns = [call("slow", "s2", n=2), call("slow", "s1", n=1), call("add", "a1", a=1, b=2)]
    agent = Agent(name="f", model=Scripted(turns, [say("done")]), tools=[add, slow])
    return await Runner.run(agent, "go")


async def failing():
    agent = Agent(name="b", model=Scripted([call("breaks", "b1")], [say("done")]), tools=[breaks])
    return await Runner.run(agent, "go")


async def raising():
    agent = Agent(name="r", model=Scripted([call("raises", "r1")]), tools=[raises])
    return await Runner.run(agent, "go")


async def agent_as_tool():
    inner = Agent(
        name="inner",
        model=Scripted([call("add", "i1", a=5, b=6)], [say("inner done")]),
        tools=[add],
    )
    outer = Agent(
        name="outer",
        model=Scripted([call("ask", "o1", input="x")], [say("done")]),
        tools=[inner.as_tool("ask", "asks")],
    )
    return await Runner.run(outer, "go")


async def handoff():
    second = Agent(name="Second", model=Scripted([call("add", "h2", a=2, b=2)], [say("from B")]), tools=[add])
    first = Agent(name="First", model=Scripted([call("transfer_to_second", "h1")]), handoffs=[second])
    return await Runner.run(first, "go")


async def local_shell():
    from openai.types.responses.response_output_item import LocalShellCall

    item = LocalShellCall.model_validate(
        {
            "id": "lsc",
            "call_id": "ls1",
            "type": "local_shell_call",
            "status": "completed",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
        }
    )
    tool = agents.LocalShellTool(executor=lambda request: ran.append("local shell") or "listing")
    return await Runner.run(Agent(name="l", model=Scripted([item], [say("done")]), tools=[tool]), "go")


def _shell(name):
    return {
        "id": "shc" + name,
        "call_id": name,
        "type": "shell_call",
        "status": "completed",
        "action": {"commands": ["echo " + name], "timeout_ms": 1000},
    }


def _patch(name):
    return {
        "id": "apc" + name,
        "call_id": name,
        "type": "apply_patch_call",
        "status": "completed",
        "operation": {"type": "create_file", "path": name + ".txt", "diff": "+hi\n"},
    }


class Editor:
    def create_file(self, operation):
        ran.append(("create", operation.path))
        return "created"

    update_file = delete_file = create_file


async def shell_and_patch():
    async def execute(request):
        ran.append("shell")
        return "output"

    tools = [agents.ShellTool(executor=execute), agents.ApplyPatchTool(editor=Editor()), add]
    turn = [_shell("sh1"), _patch("ap1"), _shell("sh2"), _patch("ap2"), call("add", "a9", a=1, b=1)]
    return await Runner.run(Agent(name="s", model=Scripted(turn, [say("done")]), tools=tools), "go")


async def computer():
    from agents.computer import Computer
    from openai.types.responses import ResponseComputerToolCall

    class Screen(Computer):
        environment = "browser"
        dimensions = (10, 10)

        def screenshot(self):
            return "aGk="

        def click(self, *args, **kwargs):
            ran.append("click")

        def double_click(self, *args, **kwargs):
            pass

        scroll = type = wait = move = keypress = drag = double_click

    item = ResponseComputerToolCall.model_validate(
        {
            "id": "cc",
            "call_id": "c1",
            "type": "computer_call",
            "status": "completed",
            "pending_safety_checks": [],
            "action": {"type": "click", "x": 1, "y": 2, "button": "left"},
        }
    )
    tool = agents.ComputerTool(computer=Screen())
    return await Runner.run(Agent(name="c", model=Scripted([item], [say("done")]), tools=[tool]), "go")


async def hosted_mcp():
    from openai.types.responses.response_output_item import McpCall

    item = McpCall.model_validate(
        {
            "id": "mcp1",
            "type": "mcp_call",
            "name": "lookup",
            "server_label": "srv",
            "arguments": '{"q": 1}',
            "output": "42",
            "status": "completed",
        }
    )
    config = {"type": "mcp", "server_label": "srv", "server_url": "http://127.0.0.1:1", "require_approval": "never"}
    tool = agents.HostedMCPTool(tool_config=config)
    return await Runner.run(Agent(name="h", model=Scripted([item, say("done")]), tools=[tool]), "go")


async def mcp_server():
    from agents.mcp import MCPServer
    from mcp.types import CallToolResult, TextContent, Tool

    class Server(MCPServer):
        name = "srv"

        async def connect(self):
            pass

        async def cleanup(self):
            pass

        async def list_tools(self, *args, **kwargs):
            schema = {"type": "object", "properties": {"q": {"type": "integer"}}}
            return [Tool(name="get", description="gets", inputSchema=schema)]

        async def call_tool(self, tool_name, arguments, *args, **kwargs):
            ran.append(("mcp", tool_name, arguments))
            return CallToolResult(content=[TextContent(type="text", text="got")])

        async def list_prompts(self):
            raise NotImplementedError

        async def get_prompt(self, *args, **kwargs):
            raise NotImplementedError

    agent = Agent(name="m", model=Scripted([call("get", "g1", q=7)], [say("done")]), mcp_servers=[Server()])
    return await Runner.run(agent, "go")


async def custom():
    from openai.types.responses import ResponseCustomToolCall

    async def invoke(context, text):
        ran.append(("custom", text))
        return "custom output"

    tool = agents.CustomTool(name="cust", description="custom", on_invoke_tool=invoke)
    item = ResponseCustomToolCall(id="ctc", call_id="ct1", name="cust", input="raw", type="custom_tool_call")
    return await Runner.run(Agent(name="u", model=Scripted([item], [say("done")]), tools=[tool]), "go")


CASES = (
    functions,
    failing,
    raising,
    agent_as_tool,
    handoff,
    local_shell,
    shell_and_patch,
    computer,
    hosted_mcp,
    mcp_server,
    custom,
)


async def main():
    for case in CASES:
        ran.clear()
        try:
            result = await case()
        except Exception as error:
            print(case.__name__, "raised", type(error).__name__, str(error)[:120], ran)
        else:
            items = [type(item).__name__ for item in result.new_items]
            outputs = [item.output for item in result.new_items if hasattr(item, "output")]
            print(case.__name__, result.final_output, items, [str(each)[:60] for each in outputs], sorted(map(str, ran)))
