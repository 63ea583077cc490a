"""Shell, local shell, apply_patch, computer and custom tools."""
import asyncio

from agents import Agent, ApplyPatchTool, ComputerTool, CustomTool, LocalShellTool, ShellTool
from agents.computer import Computer
from openai.types.responses import ResponseComputerToolCall, ResponseCustomToolCall
from openai.types.responses.response_output_item import LocalShellCall

from scripted import Scripted, add, attempt, call, say


class Editor:
    def create_file(self, operation):
        return "created " + operation.path

    def update_file(self, operation):
        return "updated"

    def delete_file(self, operation):
        return "deleted"


class Screen(Computer):
    environment = "browser"
    dimensions = (10, 10)

    def screenshot(self):
        return "aGk="

    def click(self, *args, **kwargs):
        pass

    double_click = scroll = type = wait = move = keypress = drag = click


async def custom(context, text):
    return "custom " + text


def shell_call(number, command):
    return dict(id=f"shc{number}", call_id=f"sh{number}", type="shell_call", status="completed",
                action=dict(commands=[command], timeout_ms=1000))


def patch_call(number):
    return dict(id=f"apc{number}", call_id=f"ap{number}", type="apply_patch_call", status="completed",
                operation=dict(type="create_file", path=f"{number}.txt", diff="+hi\n"))


async def main():
    local = LocalShellCall.model_validate(dict(id="lsc", call_id="ls1", type="local_shell_call", status="completed",
                                               action=dict(type="exec", command=["ls"], env={})))
    click = ResponseComputerToolCall.model_validate(dict(id="cc", call_id="c1", type="computer_call", status="completed",
                                                         pending_safety_checks=[], action=dict(type="click", x=1, y=2, button="left")))
    free = ResponseCustomToolCall(id="ctc", call_id="ct1", name="free", input="raw text", type="custom_tool_call")
    shell = ShellTool(executor=lambda request: "shell out")
    cases = {
        "shell": ([shell], [shell_call(1, "one"), shell_call(2, "two"), call("add", {"a": 1, "b": 1}, "a1")]),
        "patch": ([ApplyPatchTool(editor=Editor())], [patch_call(1), patch_call(2)]),
        "local": ([LocalShellTool(executor=lambda request: "ls out")], [local]),
        "computer": ([ComputerTool(computer=Screen())], [click]),
        "custom": ([CustomTool(name="free", description="d", on_invoke_tool=custom)], [free]),
    }
    for name, (tools, turn) in cases.items():
        result = await attempt(Agent(name=name, model=Scripted(turn, [say("done")]), tools=[*tools, add]), "go")
        print(name, result and result.final_output, result and len(result.new_items))


asyncio.run(main())
