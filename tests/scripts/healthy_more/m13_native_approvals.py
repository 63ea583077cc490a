"""Custom, shell and apply_patch tools that ask for approval, by setting and by callback; approved and rejected."""
import asyncio

from agents import Agent, ApplyPatchTool, CustomTool, RunState, ShellTool
from openai.types.responses import ResponseCustomToolCall

from scripted import Scripted, attempt, say


class Editor:
    def create_file(self, operation):
        return "created " + operation.path

    def update_file(self, operation):
        return "updated"

    def delete_file(self, operation):
        return "deleted"


async def custom(context, text):
    return "custom " + text


def run_shell(request):
    return "shell out"


async def asks(context, *rest):
    return True


def shell_call(number, command):
    return dict(id=f"shc{number}", call_id=f"sh{number}", type="shell_call", status="completed",
                action=dict(commands=[command], timeout_ms=1000))


def patch_call(number):
    return dict(id=f"apc{number}", call_id=f"ap{number}", type="apply_patch_call", status="completed",
                operation=dict(type="create_file", path=f"{number}.txt", diff="+hi\n"))


def free_call(number):
    return ResponseCustomToolCall(id=f"ctc{number}", call_id=f"ct{number}", name="free", input="raw", type="custom_tool_call")


async def main():
    tools = [
        ShellTool(executor=run_shell, needs_approval=asks),
        ApplyPatchTool(editor=Editor(), needs_approval=True),
        CustomTool(name="free", description="d", on_invoke_tool=custom, needs_approval=asks),
    ]
    for decision in ("approve", "reject"):
        turn = [shell_call(1, "ls"), shell_call(2, "pwd"), patch_call(1), free_call(1)]
        agent = Agent(name="a", model=Scripted(turn, [say("done")]), tools=tools)
        result = await attempt(agent, "go")
        print(sorted(item.name for item in result.interruptions))
        state = result.to_state()
        for item in state.get_interruptions():
            getattr(state, decision)(item)
        result = await attempt(agent, await RunState.from_string(agent, state.to_string()))
        print(decision, result and result.final_output)


asyncio.run(main())
