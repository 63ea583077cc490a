# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.4"]
# ///
"""Our search model cites its sources, and the agent's message has none."""

import asyncio
import json

import httpx
from openai import AsyncOpenAI

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled

set_tracing_disabled(True)


def completion(message, finish="stop"):
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "gw",
        "choices": [choice], "usage": usage,
    }


def gateway(request):
    cited = {"type": "url_citation", "url_citation": {
        "start_index": 0, "end_index": 5, "url": "https://a.invalid/", "title": "A"}}
    body = completion({"content": "Rain.", "annotations": [cited]})
    if not json.loads(request.content).get("stream"):
        return httpx.Response(200, json=body)
    chunk = {**body, "object": "chat.completion.chunk"}
    chunk["choices"] = [{"index": 0, "finish_reason": "stop", "delta": {"role": "assistant", "content": "Rain."}}]
    return httpx.Response(
        200, text=f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n", headers={"content-type": "text/event-stream"}
    )


async def main():
    http = httpx.AsyncClient(transport=httpx.MockTransport(gateway))
    async with AsyncOpenAI(api_key="none", base_url="http://gw.invalid/v1", http_client=http) as client:
        agent = Agent(name="a", model=OpenAIChatCompletionsModel("gw", client))
        result = await Runner.run(agent, "Weather?")
    part = result.new_items[0].raw_item.content[0]
    print(json.dumps({"text": part.text, "cited": [each.url for each in part.annotations]}))


asyncio.run(main())
