"""One database under several spellings of its path, one that was filled before, and one copied by hand."""
import asyncio
import os
import shutil
import sqlite3

from agents import Agent, Runner, SQLiteSession

from scripted import Scripted, attempt, say


def answering(text):
    return Agent(name="a", model=Scripted([say(text, "msg_" + text)]))


async def main():
    spellings = ["conv.db", os.path.abspath("conv.db"), "./conv.db", os.path.join("..", os.path.basename(os.getcwd()), "conv.db")]
    sessions = [SQLiteSession("s", path) for path in spellings]
    for number, session in enumerate(sessions):
        await Runner.run(answering(f"answer{number}"), f"q{number}", session=session)
    print([len(await session.get_items()) for session in sessions])
    last = await sessions[0].pop_item()
    print(last["role"], len(await sessions[1].get_items()), len(await sessions[2].get_items(limit=2)))
    for session in sessions:
        session.close()

    # A copy that somebody else made holds all of it before this session's first word.
    source, target = sqlite3.connect("conv.db"), sqlite3.connect("copy.db")
    source.backup(target)
    source.close()
    target.close()
    copied = SQLiteSession("s", "copy.db")
    await copied.add_items([{"role": "user", "content": "added first"}])
    print(len(await copied.get_items(limit=1)), len(await copied.get_items()))
    await attempt(answering("after"), "then", session=copied)
    print((await copied.pop_item())["role"], len(await copied.get_items()))
    copied.close()

    shutil.copyfile("copy.db", "third.db")
    third = SQLiteSession("s", "third.db")
    print((await third.pop_item())["role"])
    await third.clear_session()
    await third.add_items([{"role": "user", "content": "anew"}])
    print(len(await third.get_items()))
    third.close()


asyncio.run(main())
