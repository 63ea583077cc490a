# /// script
# dependencies = ["openai-agents[redis,encrypt]", "fakeredis"]
# ///
"""Conversations that expire: a RedisSession with a time to live, and an EncryptedSession with a short one."""
import asyncio

import fakeredis
from agents import Agent, Runner, SQLiteSession
from agents.extensions.memory import EncryptedSession, RedisSession

from scripted import Scripted, say


async def main():
    client = fakeredis.FakeAsyncRedis()
    plain = SQLiteSession("vault")
    sessions = [
        RedisSession("chat", redis_client=client, ttl=1),
        RedisSession("kept", redis_client=client),
        EncryptedSession("vault", plain, encryption_key="a key of some length", ttl=1),
        EncryptedSession("safe", SQLiteSession("safe"), encryption_key="another key of some length"),
    ]
    for session in sessions:
        agent = Agent(name="a", model=Scripted([say("one")], [say("two")]))
        await Runner.run(agent, "first", session=session)
        before = len(await session.get_items())
        await asyncio.sleep(2.2)
        after = len(await session.get_items())
        await Runner.run(agent, "second", session=session)
        print(session.session_id, before, after)


asyncio.run(main())
