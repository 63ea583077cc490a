"""Other hands on a session's file: a retention job's SQL, another table of the same file, another process."""
import asyncio
import sqlite3
import subprocess
import sys

from agents import Agent, Runner, SQLiteSession

from scripted import Scripted, say


def agent():
    return Agent(name="a", model=Scripted(*([say(f"answer {n}", id=f"msg_{n}")] for n in range(4))))


CHILD = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("delete from agent_messages")
"""


async def main():
    retained, mine = SQLiteSession("s", "retained.db"), agent()
    await Runner.run(mine, "one", session=retained)
    with sqlite3.connect("retained.db") as db:
        db.execute("delete from agent_messages where id = (select min(id) from agent_messages)")
    db.close()
    await Runner.run(mine, "two", session=retained)
    print(len(await retained.get_items()))

    shop = SQLiteSession("ada", "both.db", sessions_table="shop_s", messages_table="shop_m")
    support = SQLiteSession("ada", "both.db", sessions_table="support_s", messages_table="support_m")
    mine = agent()
    for session, text in ((shop, "shoes"), (support, "broken"), (shop, "more shoes")):
        await Runner.run(mine, text, session=session)
    print(len(await shop.get_items()), len(await support.get_items()))

    cleaned, mine = SQLiteSession("s", "cleaned.db"), agent()
    await Runner.run(mine, "one", session=cleaned)
    subprocess.run([sys.executable, "-c", CHILD, "cleaned.db"], check=True)
    await Runner.run(mine, "two", session=cleaned)
    print(len(await cleaned.get_items()))


asyncio.run(main())
