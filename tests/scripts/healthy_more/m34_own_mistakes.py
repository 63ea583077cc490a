"""The script's own mistakes: arguments of the wrong kind, and library functions that raise inside of a tool."""
import asyncio
import json

from agents import Agent, FunctionTool, Runner, function_tool

from scripted import Scripted, attempt, call, say


@function_tool(failure_error_function=None)
def look(key: str) -> str:
    return {"a": "b"}[key]


async def parse(context, arguments):
    return json.loads(json.loads(arguments)["text"])["x"]


async def main():
    def agent(*turns, tools=()):
        return Agent(name="a", model=Scripted(*turns), tools=list(tools))

    for arguments in ((agent([say("no")]), 42), ("not an agent", "q"), (None, "q")):
        await attempt(*arguments)
    await attempt(agent([call("look", {"key": "z"}, "c1")], [say("no")], tools=[look]), "go")
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    tool = FunctionTool(
        name="parse", description="d", params_json_schema=schema, on_invoke_tool=parse, strict_json_schema=False
    )
    for text in ("[]", "{}", "nothing"):
        await attempt(agent([call("parse", {"text": text}, "c2")], [say("no")], tools=[tool]), "go")
    print((await Runner.run(agent([say("yes")]), "q")).final_output)


asyncio.run(main())
