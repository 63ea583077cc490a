# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.4"]
# ///
"""Two workers share one conversation file. One clears it, the other writes to a branch that nobody sees."""
import asyncio
import json
import os
import tempfile

from agents.extensions.memory import AdvancedSQLiteSession


async def main():
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "chat.db")
        one = AdvancedSQLiteSession(session_id="s", db_path=path, create_tables=True)
        other = AdvancedSQLiteSession(session_id="s", db_path=path, create_tables=True)
        await one.add_items([{"role": "user", "content": "first"}, {"role": "assistant", "content": "yes"}])
        await one.add_items([{"role": "user", "content": "second"}, {"role": "assistant", "content": "no"}])
        await one.create_branch_from_turn(2, "try")
        await other.clear_session()
        await one.add_items([{"role": "user", "content": "anew"}])
        found = await other.get_items()
        branches = [each["branch_id"] for each in await other.list_branches()]
        print(json.dumps({"other sees": [item["content"] for item in found], "branches": branches}))
        one.close()
        other.close()


asyncio.run(main())
