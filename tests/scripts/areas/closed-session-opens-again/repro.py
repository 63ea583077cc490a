# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.2", "aiosqlite"]
# ///
"""A late callback writes to a session that we closed: the database is open again, and nobody closes it."""
import asyncio
import json
import os
import tempfile

from agents.extensions.memory import AsyncSQLiteSession


async def main():
    with tempfile.TemporaryDirectory() as place:
        session = AsyncSQLiteSession("s", db_path=os.path.join(place, "chat.db"))
        await session.add_items([{"role": "user", "content": "hello"}])
        await session.close()
        try:
            await session.add_items([{"role": "user", "content": "late"}])
            told = {"late write": "accepted", "items": len(await session.get_items())}
        except RuntimeError as error:
            told = {"late write": str(error)}
        await session.close()
    print(json.dumps(told))


asyncio.run(main())
