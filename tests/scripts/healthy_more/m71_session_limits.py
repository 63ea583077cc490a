# /// script
# dependencies = ["openai-agents[redis,encrypt]", "fakeredis"]
# ///
"""Limits on every kind of session that needs no server, also behind an EncryptedSession; and their ends."""
import asyncio

import fakeredis
from agents import Agent, RunConfig, Runner, SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession, EncryptedSession, RedisSession
from agents.memory import SessionSettings

from scripted import Scripted, say


async def main():
    redis = RedisSession("kept", redis_client=fakeredis.FakeAsyncRedis())
    under = SQLiteSession("under")
    sessions = [
        SQLiteSession("plain"),
        AdvancedSQLiteSession(session_id="wide", create_tables=True),
        redis,
        EncryptedSession("safe", under, encryption_key="a key of some length"),
        SQLiteSession("short", session_settings=SessionSettings(limit=3)),
    ]
    print(await redis.ping())
    for session in sessions:
        await session.add_items([{"role": "user", "content": f"note {n}"} for n in range(4)])
        model = Scripted([say("one")], [say("two")])
        agent = Agent(name="a", model=model)
        await Runner.run(
            agent, "what?", session=session, run_config=RunConfig(session_settings=SessionSettings(limit=2))
        )
        await Runner.run(agent, "and?", session=session)
        print(session.session_id, *map(len, model.inputs), *[len(await session.get_items(limit=n)) for n in (1, 3, 99)])
        await session.pop_item()
        await session.clear_session()
        print(len(await session.get_items()))
    await redis.close()
    under.close()


asyncio.run(main())
