import asyncio

import pytest
from scripted import Scripted, add, call, pay, say

from agents import Agent, SQLiteSession


@pytest.fixture(scope="session")
def prices():
    return {"tea": 3, "cake": 4}


@pytest.fixture
def clerk():
    """A factory, as many projects have one."""

    def make(*turns, **settings):
        turns = turns or ([call("pay", {"amount": 100})], [say("Paid.")])
        return Agent(name="clerk", model=Scripted(*turns), tools=[pay, add], **settings)

    return make


@pytest.fixture
async def session(tmp_path):
    store = SQLiteSession("customer", tmp_path / "sessions.db")
    await store.add_items([{"role": "user", "content": "Good morning."}])
    yield store
    await store.clear_session()
    store.close()


@pytest.fixture(autouse=True)
async def nothing_is_left_running():
    before = asyncio.all_tasks()
    yield
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}
