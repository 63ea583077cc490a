"""Sessions: in a file, with branches, that fail at each of their writes, also under a stream; limited ones."""
import asyncio

from agents import Agent, RunConfig, Runner, SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession
from agents.memory import SessionABC, SessionSettings

from scripted import Scripted, add, attempt, call, say


class Failing(SessionABC):
    session_id = "failing"
    session_settings = None

    def __init__(self, when):
        self.items, self.writes, self.when = [], 0, when

    async def get_items(self, limit=None):
        return list(self.items)

    async def add_items(self, items):
        self.writes += 1
        if self.writes == self.when:
            raise OSError("disk full")
        self.items += items

    async def pop_item(self):
        return self.items.pop() if self.items else None

    async def clear_session(self):
        self.items.clear()


def agent():
    return Agent(name="a", model=Scripted([call("add", {"a": 1, "b": 2}, "c1")], [say("done")]), tools=[add])


async def main():
    session = SQLiteSession("one", "file.db")
    await attempt(agent(), "go", session=session)
    await session.pop_item()
    await session.add_items([{"role": "user", "content": "mine"}])
    print(len(await session.get_items(limit=2)))
    await session.clear_session()
    session.close()
    for when in (1, 2, 3):
        session = Failing(when)
        await attempt(agent(), "go", session=session)
        print(when, len(session.items))
    session = AdvancedSQLiteSession(session_id="advanced", create_tables=True)
    result = await attempt(agent(), "go", session=session)
    await session.store_run_usage(result)
    print(len(await session.get_items()), await session.get_session_usage() is not None)
    session.close()
    session = SQLiteSession("limited")
    for text in ("one", "two"):
        await attempt(agent(), text, session=session, run_config=RunConfig(session_settings=SessionSettings(limit=2)))
    print(len(await session.get_items()))
    result = Runner.run_streamed(agent(), "go", session=Failing(2))
    try:
        async for _ in result.stream_events():
            pass
    except OSError as error:
        print("stream raised", error)


asyncio.run(main())
