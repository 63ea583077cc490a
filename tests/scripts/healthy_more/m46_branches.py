"""An AdvancedSQLiteSession that branches and comes back."""
import asyncio

from agents import Agent, Runner
from agents.extensions.memory import AdvancedSQLiteSession

from scripted import Scripted, say


async def main():
    session = AdvancedSQLiteSession(session_id="s", create_tables=True)
    agent = Agent(name="a", model=Scripted(*([say(f"answer {n}", id=f"msg_{n}")] for n in range(5))))
    await Runner.run(agent, "one", session=session)
    await Runner.run(agent, "two", session=session)
    await session.create_branch_from_turn(2, "other")
    await Runner.run(agent, "another two", session=session)
    print(len(await session.get_items()))
    await session.switch_to_branch("main")
    await Runner.run(agent, "three", session=session)
    print(len(await session.get_items()))


asyncio.run(main())
