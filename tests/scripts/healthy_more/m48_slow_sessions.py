"""Sessions of the script's own that take their time: over a queue, over a sleep, behind a lock."""
import asyncio
import threading
import time

from agents import Agent, Runner

from scripted import Scripted, say


class Listed:
    def __init__(self, session_id):
        self.session_id = session_id
        self.items = []

    async def wait(self):
        pass

    async def get_items(self, limit=None):
        await self.wait()
        return self.items[-limit:] if limit else list(self.items)

    async def add_items(self, items):
        self.items += items

    async def pop_item(self):
        return self.items.pop() if self.items else None

    async def clear_session(self):
        self.items.clear()


class Asleep(Listed):
    async def wait(self):
        await asyncio.sleep(0.2)


class Served(Listed):
    """Asks a task of its own."""

    def __init__(self, session_id):
        super().__init__(session_id)
        self.asked = asyncio.Queue()
        self.server = asyncio.create_task(self.serve())

    async def serve(self):
        while True:
            (await self.asked.get()).set_result(None)

    async def wait(self):
        answered = asyncio.get_running_loop().create_future()
        await self.asked.put(answered)
        await answered


class Blocking(Listed):
    async def wait(self):
        time.sleep(0.1)


async def main():
    longest = 0.0

    async def watch():
        nonlocal longest
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.01)
            longest = max(longest, time.perf_counter() - begun)

    watching = asyncio.create_task(watch())
    for session in (Asleep("asleep"), Served("served"), Blocking("blocking"), Listed("listed")):
        agent = Agent(name="a", model=Scripted([say("one")], [say("two", id="msg_2")]))
        await Runner.run(agent, "first", session=session)
        await Runner.run(agent, "second", session=session)
        print(session.session_id, len(session.items), threading.active_count() < 9)
    watching.cancel()
    print(longest < 2)


asyncio.run(main())
