"""All that an AdvancedSQLiteSession offers: branches by turn and content, turns, searches, usage."""
import asyncio

from agents import Agent, Runner
from agents.extensions.memory import AdvancedSQLiteSession

from scripted import Scripted, add, call, say


async def main():
    session = AdvancedSQLiteSession(session_id="trip", create_tables=True)
    turns = [[call("add", {"a": 1, "b": 2}, "c1")], *([say(f"answer {n}", id=f"msg_{n}")] for n in range(4))]
    agent = Agent(name="guide", model=Scripted(*turns), tools=[add])
    for text in ("to Rome", "to Oslo"):
        await session.store_run_usage(await Runner.run(agent, text, session=session))
    print(await session.create_branch_from_turn(2, "north"))
    await Runner.run(agent, "to Tromso", session=session)
    print(await session.create_branch_from_content("Tromso", "south"))
    print(sorted(each["branch_id"] for each in await session.list_branches()))
    await session.switch_to_branch("north")
    print(len(await session.get_items(branch_id="main")), len(await session.get_items(limit=2)))
    print([each["turn"] for each in await session.find_turns_by_content("to")])
    print(len(await session.get_conversation_turns()), sorted(await session.get_conversation_by_turns()))
    await session.switch_to_branch("main")
    print((await session.get_session_usage())["requests"], await session.get_tool_usage())
    print((await session.get_turn_usage(1))["total_tokens"])
    await session.delete_branch("south")
    for wrong in (session.switch_to_branch("nowhere"), session.delete_branch("main"), session.create_branch_from_turn(9)):
        try:
            await wrong
        except ValueError as error:
            print("refused", type(error).__name__)
    session.close()


asyncio.run(main())
