# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0"]
#
# [tool.agentproof]
# title = "Changing a returned interruption changes the pending approval"
# reference = "openai/openai-agents-python#4409"
# ///
"""Interruptions are taken from a paused state and changed by the caller.

What the caller does to them should change nothing in the state: the list and the items are copies, with
what is nested in them, the agent in them is the very agent, and an untouched copy still stands for its
pending call in `approve` and `reject`. Tried for function, custom, shell, hosted MCP and local shell calls,
typed and as mappings, and for a call that was restored from JSON or is below an agent used as a tool. Run it
with `uv run reproduction.py`.
"""

import asyncio
import copy
import dataclasses
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
from openai.types.responses.response_output_item import LocalShellCall, McpApprovalRequest
from pydantic import BaseModel

from agents import (
    Agent,
    CustomTool,
    HostedMCPTool,
    Model,
    ModelResponse,
    Runner,
    RunState,
    ShellTool,
    ToolApprovalItem,
    Usage,
    function_tool,
    set_tracing_disabled,
)

set_tracing_disabled(True)


ANSWER = ResponseOutputMessage(
    id="msg_1",
    type="message",
    role="assistant",
    status="completed",
    content=[ResponseOutputText(type="output_text", text="Done.", annotations=[])],
)


class Scripted(Model):
    """Gives the prepared answers, one for each request."""

    def __init__(self, *answers):
        self.answers = list(answers)

    async def get_response(self, *args, **kwargs):
        return ModelResponse(output=[self.answers.pop(0)], usage=Usage(), response_id="resp_1")

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
    ran.append(f"shell {request.data.action.commands}")
    return "done"


TOOLS = [
    pay,
    CustomTool(name="write", description="Write.", on_invoke_tool=write, needs_approval=True),
    ShellTool(executor=shell, needs_approval=True),
    HostedMCPTool(
        tool_config={
            "type": "mcp",
            "server_label": "shop",
            "server_url": "https://shop.example",
            "require_approval": "always",
        }
    ),
]
NOTES = {"notes": {"tags": ["first"]}}
CALLS = {
    "function": ResponseFunctionToolCall(
        id="fc", call_id="call", type="function_call", name="pay", arguments='{"amount": 100}', **NOTES
    ),
    "custom": ResponseCustomToolCall(
        id="ctc", call_id="call", type="custom_tool_call", name="write", input="hello", **NOTES
    ),
    "shell": ResponseFunctionShellToolCall.model_validate(
        {
            "id": "sh",
            "call_id": "call",
            "type": "shell_call",
            "status": "completed",
            "action": {"commands": ["echo ok"], "timeout_ms": 1000, "max_output_length": 100},
            **NOTES,
        }
    ),
    "hosted MCP": McpApprovalRequest(
        id="mcpr",
        type="mcp_approval_request",
        name="search",
        server_label="shop",
        arguments='{"q": "tea"}',
        **NOTES,
    ),
    "local shell": LocalShellCall.model_validate(
        {
            "id": "lsh",
            "call_id": "call",
            "type": "local_shell_call",
            "status": "completed",
            "action": {"type": "exec", "command": ["echo", "ok"], "env": {"LANG": "C"}},
            **NOTES,
        }
    ),
}
RUNS = {"function": "pay 100", "custom": "write hello", "shell": "shell ['echo ok']"}
numbers = itertools.count(1)
wrong = []
checks = 0


def check(what, condition):
    global checks
    checks += 1
    if not condition:
        wrong.append(what)
        print("WRONG:", what)


def own_call(kind):
    """The call with an id of its own: what happens in one case must not reach the next one."""
    field = "id" if kind == "hosted MCP" else "call_id"
    return CALLS[kind].model_copy(update={field: f"call_{next(numbers)}"}, deep=True)


async def paused(kind, form):
    """An agent, and its state that waits for a call of this kind, in this form."""
    # No tool of the SDK asks before a local shell call; it stands in for one that does.
    call = own_call("function" if kind == "local shell" else kind)
    agent = Agent(name="clerk", model=Scripted(call, ANSWER), tools=TOOLS)
    if form == "nested":
        ask = ResponseFunctionToolCall(
            id="fc_0",
            call_id=f"{call.call_id}_ask",
            type="function_call",
            name="ask_clerk",
            arguments='{"input": "Go."}',
        )
        tool = agent.as_tool(tool_name="ask_clerk", tool_description="Ask.")
        agent = Agent(name="boss", model=Scripted(ask, ANSWER), tools=[tool])
    result = copy.copy(await Runner.run(agent, "Go."))
    (item,) = result.interruptions
    if kind == "local shell":
        item = ToolApprovalItem(agent=agent, raw_item=own_call(kind), tool_name="local_shell")
    if form == "mapping":
        item = dataclasses.replace(item, raw_item=item.raw_item.model_dump(exclude_unset=True))
    result.interruptions = [item]
    state = result.to_state()
    return agent, await RunState.from_json(agent, state.to_json()) if form == "restored" else state


def spoil(payload):
    """Change the texts that say what to run, and every list that a caller can reach."""
    if isinstance(payload, dict):
        fields, change = dict(payload), payload.__setitem__
    else:
        fields, change = dict(payload), lambda name, value: setattr(payload, name, value)
    for name, value in fields.items():
        if name in ("name", "arguments", "input"):
            change(name, "changed")
        elif isinstance(value, list):
            value.append("changed")
        elif isinstance(value, (dict, BaseModel)):
            spoil(value)


async def changed_then_decided(case, kind, form, decision):
    """Change what `get_interruptions` gives, which the state should not notice; then decide by a copy."""
    ran.clear()
    agent, state = await paused(kind, form)
    before = json.dumps(state.to_json(), sort_keys=True)
    items = state.get_interruptions()
    if form != "nested":
        check(f"{case}: the agent is the very agent", items[0].agent is agent)
    spoil(items[0].raw_item)
    items[0].tool_name = "changed"
    items.clear()
    left = state.get_interruptions()
    check(f"{case}: the list is the caller's own", len(left) == 1)
    after = json.dumps(state.to_json(), sort_keys=True)
    check(f"{case}: the state's JSON is as it was", before == after)
    if decision is None or not left:
        return
    try:
        getattr(state, decision)(left[0])
        result = await Runner.run(agent, state)
        seen = f"it ran {ran}, {len(result.interruptions)} pending"
    except Exception as error:
        seen = f"it raised {type(error).__name__}"
    expected = [RUNS[kind]] if decision == "approve" else []
    check(f"{case}: {seen}", seen == f"it ran {expected}, 0 pending")


async def main():
    cases = [(kind, form) for kind in CALLS for form in ("typed", "mapping")]
    for kind, form in [*cases, ("function", "restored"), ("function", "nested")]:
        # Hosted MCP and local shell calls run elsewhere, or not at all.
        for decision in ("approve", "reject") if kind in RUNS else (None,):
            case = f"{kind} call, {form}" + (f", {decision}" if decision else "")
            await changed_then_decided(case, kind, form, decision)
    assert not wrong, f"{len(wrong)} of {checks} checks failed"
    print(checks, "checks passed")


asyncio.run(main())
