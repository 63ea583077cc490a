"""A session class of the script's own, one wrapped in another, and two agents taking turns on one session."""
import asyncio

from agents import Agent, SQLiteSession
from agents.memory.session import SessionABC

from scripted import Scripted, add, attempt, call, say


class ListSession(SessionABC):
    def __init__(self, session_id):
        self.session_id = session_id
        self.session_settings = None
        self.items = []

    async def get_items(self, limit=None):
        return list(self.items if limit is None else self.items[-limit:])

    async def add_items(self, items):
        self.items += items

    async def pop_item(self):
        return self.items.pop() if self.items else None

    async def clear_session(self):
        self.items.clear()


class Counting(ListSession):
    def __init__(self, inner):
        super().__init__(inner.session_id)
        self.inner, self.reads = inner, 0

    async def get_items(self, limit=None):
        self.reads += 1
        return await self.inner.get_items(limit)

    async def add_items(self, items):
        await self.inner.add_items(items)


async def main():
    for session in (ListSession("l"), Counting(SQLiteSession("c"))):
        for n in range(2):
            turns = [[call("add", {"a": n, "b": 1}, f"c{n}")], [say(f"answer {n}", f"m{n}")]]
            result = await attempt(Agent(name=f"a{n}", model=Scripted(*turns), tools=[add]), f"q{n}", session=session)
            print(result.final_output, len(await session.get_items()))
    await session.inner.pop_item()
    print(len(await session.get_items()))


asyncio.run(main())
