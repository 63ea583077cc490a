# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.20.0"]
# ///
"""We ask for no history (limit=0) and get some all the same."""
import asyncio
import json

import httpx
from openai import AsyncOpenAI

from agents import OpenAIConversationsSession


def conversations(request):
    items = [
        {"id": f"msg_{n}", "type": "message", "role": "user", "status": "completed",
         "content": [{"type": "input_text", "text": f"note {n}"}]}
        for n in range(3)
    ]
    return httpx.Response(200, json={
        "object": "list", "data": items, "first_id": "msg_0", "last_id": "msg_2", "has_more": False,
    })


async def main():
    http = httpx.AsyncClient(transport=httpx.MockTransport(conversations))
    async with AsyncOpenAI(api_key="none", base_url="http://gw.invalid/v1", http_client=http) as client:
        session = OpenAIConversationsSession(conversation_id="conv_1", openai_client=client)
        given = {limit: len(await session.get_items(limit=limit)) for limit in (0, 2)}
    print(json.dumps(given))


asyncio.run(main())
