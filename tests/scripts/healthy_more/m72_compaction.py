"""A history that is compacted when it grows, and by hand, by a provider that a transport of the script's stands for."""
import asyncio
import itertools
import json

from agents import Agent, Runner, SQLiteSession
from agents.memory import OpenAIResponsesCompactionSession
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from scripted import Scripted, say

httpx = __import__(DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])
numbers = itertools.count(1)
asked = itertools.count(1)


class Kept(Scripted):
    """Numbers its answers; the SDK compacts after those alone that have an id."""

    async def get_response(self, *args, **kwargs):
        answer = await super().get_response(*args, **kwargs)
        answer.response_id = f"kept_{next(asked)}"
        return answer


def answer(request):
    given = json.loads(request.content)
    number = next(numbers)
    print("asked to compact", len(given["input"]))
    kept = {"type": "compaction", "id": f"cmp_{number}", "encrypted_content": f"so far, {number}"}
    usage = {
        "input_tokens": 9, "output_tokens": 3, "total_tokens": 12,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    told = {"id": f"resp_{number}", "object": "response.compaction", "created_at": 1, "output": [kept], "usage": usage}
    return httpx.Response(200, json=told)


async def main():
    transport = httpx.MockTransport(answer)
    client = AsyncOpenAI(
        api_key="none", base_url="http://gateway.invalid/v1", http_client=httpx.AsyncClient(transport=transport)
    )
    session = OpenAIResponsesCompactionSession(
        "long", SQLiteSession("long"), client=client, compaction_mode="input",
        should_trigger_compaction=lambda held: len(held["session_items"]) >= 4,
    )
    agent = Agent(name="a", model=Kept(*([say(f"answer {n}", id=f"msg_{n}")] for n in range(3))))
    for text in ("one", "two", "three"):
        await Runner.run(agent, text, session=session)
        print([item.get("type") or item["role"] for item in await session.get_items()])
    await session.run_compaction({"force": True, "compaction_mode": "input"})
    print([item.get("type") or item["role"] for item in await session.get_items()])
    await client.close()


asyncio.run(main())
