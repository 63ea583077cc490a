"""Sessions of the SDK, in memory and in a file, and one of the script's own."""

import os
import tempfile

from agents import Agent, Runner, SQLiteSession, function_tool
from scripted import Scripted, call, say


class Notebook:
    """Anything with these four methods is a session."""

    session_id = "notebook"
    session_settings = None

    def __init__(self):
        self.items = []
        self.reads = 0

    async def get_items(self, limit=None):
        self.reads += 1
        return list(self.items)

    async def add_items(self, items):
        self.items += items

    async def pop_item(self):
        return self.items.pop() if self.items else None

    async def clear_session(self):
        self.items.clear()


@function_tool
def add(a: int, b: int) -> str:
    return str(a + b)


async def main():
    directory = tempfile.mkdtemp()
    own = Notebook()
    for session in (SQLiteSession("a"), SQLiteSession("b", os.path.join(directory, "b.db")), own):
        for word in ("one", "two"):
            model = Scripted([call("add", "a1", a=1, b=2)], [say("done")])
            await Runner.run(Agent(name="s", model=model, tools=[add]), word, session=session)
        items = await session.get_items()
        print(type(session).__name__, [item.get("type", item.get("role")) for item in items])
        popped = await session.pop_item()
        await session.clear_session()
        print(popped.get("type"), await session.get_items(), sorted(os.listdir(directory))[:1])
    print("reads", own.reads)
