# /// script
# dependencies = ["openai-agents[sqlalchemy]", "aiosqlite"]
# ///
"""Sessions over asynchronous drivers, each with a thread of its own, used by several tasks."""
import asyncio

from agents import Agent, Runner
from agents.extensions.memory import AsyncSQLiteSession, SQLAlchemySession

from scripted import Scripted, say


async def main():
    first = AsyncSQLiteSession("s", "first.db")
    second = SQLAlchemySession.from_url("s", url="sqlite+aiosqlite:///second.db", create_tables=True)
    for session in (first, second):
        for text in ("one", "two"):
            agent = Agent(name="a", model=Scripted([say(f"to {text}")]))
            await Runner.run(agent, text, session=session)
        print(len(await session.get_items()))
        await session.pop_item()
        print(len(await session.get_items(limit=2)))
    await first.close()
    await second.engine.dispose()


asyncio.run(main())
