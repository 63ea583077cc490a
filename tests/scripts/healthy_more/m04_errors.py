"""Runs that raise for good reasons: the model, a tool, unknown tools, max turns; and error handlers."""
import asyncio

from agents import Agent, Runner, SQLiteSession, function_tool

from scripted import Scripted, add, attempt, call, say


@function_tool(failure_error_function=None)
def explode() -> str:
    return {}["missing"]


@function_tool
def forgiving() -> str:
    raise TypeError("handled by the SDK")


async def main():
    for name, turns, options in (
        ("model", [ConnectionError("down")], {}),
        ("model later", [[call("add", {"a": 1, "b": 1})], ValueError("late")], {}),
        ("tool", [[call("explode", {}, "x1")], [say("never")]], {}),
        ("handled", [[call("forgiving", {}, "f1")], [say("fine")]], {}),
        ("unknown tool", [[call("nobody", {}, "n1")], [say("never")]], {}),
        ("turns", [[call("add", {"a": 1, "b": n}, f"t{n}")] for n in range(5)], {"max_turns": 3}),
    ):
        session = SQLiteSession(name)
        agent = Agent(name="a", model=Scripted(*turns), tools=[add, explode, forgiving])
        result = await attempt(agent, "go", session=session, **options)
        print(name, result and result.final_output, len(await session.get_items()))
        agent.model = Scripted([say("again")])
        result = await attempt(agent, "once more", session=session)
        print(name, result and result.final_output)


asyncio.run(main())
