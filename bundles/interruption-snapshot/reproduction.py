# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0"]
#
# [tool.agentproof]
# title = "Changing a returned interruption changes the pending approval"
# reference = "openai/openai-agents-python#4409"
# ///
"""Interruptions are taken from a paused state and changed by the caller.

What the caller does to them should change nothing in the state: the list and the items are copies, the
agent in them is the very agent, and an untouched copy still stands for its pending call in `approve` and
`reject`. Calls of function, custom, shell and hosted MCP tools are tried as the SDK made them and after a
JSON round trip, a function call of an agent used as a tool as well. Run it with
`uv run reproduction.py`.
"""

import asyncio
import itertools
import json

from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseCustomToolCall,
    ResponseFunctionShellToolCall,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_output_item import McpApprovalRequest

from agents import (
    Agent,
    CustomTool,
    HostedMCPTool,
    Model,
    ModelResponse,
    Runner,
    RunState,
    ShellTool,
    Usage,
    function_tool,
    set_tracing_disabled,
)

set_tracing_disabled(True)


numbers = itertools.count(1)


def answer(text):
    return ResponseOutputMessage(
        id="msg_1",
        type="message",
        role="assistant",
        status="completed",
        content=[ResponseOutputText(type="output_text", text=text, annotations=[])],
    )


class Scripted(Model):
    """Gives the prepared answers, one for each request."""

    def __init__(self, *answers):
        self.answers = [answer.model_copy(deep=True) for answer in answers]
        number = next(numbers)
        for call in self.answers:
            # Own ids and objects for each case: what happens in one must not reach the next one.
            if getattr(call, "call_id", None) is not None:
                call.call_id = f"call_{number}"

    async def get_response(self, *args, **kwargs):
        usage = Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15)
        return ModelResponse(output=[self.answers.pop(0)], usage=usage, response_id=None)

    async def stream_response(self, *args, **kwargs):
        item = self.answers.pop(0)
        yield ResponseOutputItemDoneEvent(
            type="response.output_item.done", item=item, output_index=0, sequence_number=0
        )
        response = Response(
            id="resp_1",
            object="response",
            created_at=0,
            model="scripted",
            output=[item],
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=1, response=response)


ran = []


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    ran.append(f"pay {amount}")
    return f"paid {amount}"


async def write(context, text):
    ran.append(f"write {text}")
    return "written"


async def shell(request):
    ran.append("shell")
    return "done"


PAY = ResponseFunctionToolCall(
    id="fc_1", call_id="call_1", type="function_call", name="pay", arguments='{"amount": 100}'
)
WRITE = ResponseCustomToolCall(
    id="ctc_1", call_id="call_1", type="custom_tool_call", name="write", input="hello"
)
SHELL = ResponseFunctionShellToolCall.model_validate(
    {
        "id": "sh_1",
        "call_id": "call_1",
        "type": "shell_call",
        "status": "completed",
        "action": {"commands": ["echo ok"], "timeout_ms": 1000, "max_output_length": 100},
    }
)
MCP = McpApprovalRequest(
    id="mcpr_1", type="mcp_approval_request", name="search", server_label="shop", arguments='{"q": "tea"}'
)


def clerk(*answers, tools):
    return Agent(name="clerk", model=Scripted(*answers), tools=tools)


def function_agent():
    return clerk(PAY, answer("Paid."), tools=[pay])


def custom_agent():
    tool = CustomTool(name="write", description="Write.", on_invoke_tool=write, needs_approval=True)
    return clerk(WRITE, answer("Written."), tools=[tool])


def shell_agent():
    return clerk(SHELL, answer("Done."), tools=[ShellTool(executor=shell, needs_approval=True)])


def mcp_agent():
    config = {
        "type": "mcp",
        "server_label": "shop",
        "server_url": "https://shop.example",
        "require_approval": "always",
    }
    return clerk(MCP, answer("Found."), tools=[HostedMCPTool(tool_config=config)])


def nested_agent():
    call = ResponseFunctionToolCall(
        id="fc_0", call_id="call_0", type="function_call", name="ask_clerk", arguments='{"input": "Pay."}'
    )
    return Agent(
        name="boss",
        model=Scripted(call, answer("Done.")),
        tools=[function_agent().as_tool(tool_name="ask_clerk", tool_description="Ask.")],
    )


AGENTS = {
    "function": function_agent,
    "custom": custom_agent,
    "shell": shell_agent,
    "hosted MCP": mcp_agent,
    "nested function": nested_agent,
}
wrong = []


def check(what, condition):
    if not condition:
        wrong.append(what)
        print("WRONG:", what)


async def paused_state(make, restored):
    agent = make()
    state = (await Runner.run(agent, "Go.")).to_state()
    return agent, (await RunState.from_json(agent, state.to_json()) if restored else state)


def spoil(item):
    """Change all that a caller can reach."""
    raw = item.raw_item
    for name, value in {"name": "changed", "arguments": '{"amount": 999}', "input": "changed"}.items():
        if isinstance(raw, dict):
            if name in raw:
                raw[name] = value
        elif hasattr(raw, name):
            setattr(raw, name, value)
    action = raw.get("action") if isinstance(raw, dict) else getattr(raw, "action", None)
    commands = action.get("commands") if isinstance(action, dict) else getattr(action, "commands", None)
    if commands is not None:
        commands.append("echo changed")
    item.tool_name = "changed"


async def main():
    for kind, make in AGENTS.items():
        for restored in (False, True):
            case = f"{kind}, restored" if restored else kind
            agent, state = await paused_state(make, restored)
            before = json.dumps(state.to_json(), sort_keys=True)
            items = state.get_interruptions()
            check(f"{case}: one call is pending", len(items) == 1)
            if len(items) != 1:
                continue
            if kind != "nested function":
                check(f"{case}: the agent is the very agent", items[0].agent is agent)
            spoil(items[0])
            items.clear()
            left = state.get_interruptions()
            check(f"{case}: the list is the caller's own", len(left) == 1)
            check(f"{case}: the pending call is as it was", bool(left) and left[0].tool_name != "changed")
            after = json.dumps(state.to_json(), sort_keys=True)
            check(f"{case}: the state's JSON is as it was", before == after)
    for decision in ("approve", "reject"):
        for kind in ("function", "custom", "shell", "nested function"):
            agent, state = await paused_state(AGENTS[kind], False)
            ran.clear()
            getattr(state, decision)(state.get_interruptions()[0])
            result = await Runner.run(agent, state)
            check(f"{kind}, {decision}: nothing is pending any more", not result.interruptions)
            check(f"{kind}, {decision}: it ran as decided", bool(ran) == (decision == "approve"))
    print("wrong:", len(wrong))
    assert not wrong, wrong


asyncio.run(main())
