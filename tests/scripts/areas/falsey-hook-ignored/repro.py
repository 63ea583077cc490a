# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.4"]
# ///
"""Our decision hook is an object with __len__; it is never asked."""
import asyncio
import json

import httpx
from openai import AsyncOpenAI

from agents import OpenAIResponsesCompactionSession, SQLiteSession

asked = []


class Decide:
    """Counts the sessions that it said yes to: none yet, so bool() is False."""

    def __len__(self):
        return 0

    def __call__(self, context):
        asked.append(1)
        return False


async def main():
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(500)))
    async with AsyncOpenAI(api_key="none", base_url="http://gw.invalid/v1", http_client=http) as client:
        session = OpenAIResponsesCompactionSession(
            session_id="s", underlying_session=SQLiteSession("s"), client=client,
            should_trigger_compaction=Decide(),
        )
        await session.add_items([{"role": "user", "content": "hello"}])
        await session.run_compaction({"response_id": "resp_1"})
    print(json.dumps({"asked": len(asked)}))


asyncio.run(main())
