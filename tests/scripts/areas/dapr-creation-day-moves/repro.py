# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents[dapr]==0.19.4"]
# ///
"""We clean up sessions that are older than a week; none ever is, since created_at moves with every write."""
import asyncio
import json

from agents.extensions.memory.dapr_session import DaprSession


class Reply:
    def __init__(self, data, etag):
        self.data, self.etag = data, etag

    def json(self):
        return json.loads(self.data)


class Store:
    """A state store of our own, in memory."""

    def __init__(self):
        self.kept = {}

    async def get_state(self, store_name, key, state_metadata=None, **more):
        data, etag = self.kept.get(key, (b"", None))
        return Reply(data, etag)

    async def save_state(self, store_name, key, value, etag=None, state_metadata=None, options=None, **more):
        data = value.encode() if isinstance(value, str) else value
        self.kept[key] = (data, str(int(self.kept.get(key, (b"", "0"))[1] or 0) + 1))

    async def delete_state(self, store_name, key, **more):
        self.kept.pop(key, None)

    async def close(self): ...


def created(store):
    for key, (data, _) in store.kept.items():
        document = json.loads(data)
        if isinstance(document, dict) and "created_at" in document:
            return document["created_at"]


async def main():
    store = Store()
    session = DaprSession("s", state_store_name="chats", dapr_client=store)
    await session.add_items([{"role": "user", "content": "one"}])
    first = created(store)
    await asyncio.sleep(2.1)
    await session.add_items([{"role": "user", "content": "two"}])
    items = await session.get_items()
    print(json.dumps({"items": len(items), "created again": created(store) != first}))


asyncio.run(main())
