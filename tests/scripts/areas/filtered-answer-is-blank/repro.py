# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.3"]
# ///
"""The gateway blocks an answer (finish_reason content_filter), and our agent says nothing at all."""

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
    body = completion({"content": ""}, "content_filter")
    if not json.loads(request.content).get("stream"):
        return httpx.Response(200, json=body)
    chunk = {**body, "object": "chat.completion.chunk"}
    chunk["choices"] = [{"index": 0, "finish_reason": "content_filter", "delta": {"role": "assistant", "content": ""}}]
    text = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
    return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})


async def main():
    http = httpx.AsyncClient(transport=httpx.MockTransport(gateway))
    async with AsyncOpenAI(api_key="none", base_url="http://gw.invalid/v1", http_client=http) as client:
        agent = Agent(name="a", model=OpenAIChatCompletionsModel("gw", client))
        try:
            result = await Runner.run(agent, "Tell me something forbidden.")
        except Exception as error:
            print(json.dumps({"raised": type(error).__name__}))
        else:
            print(json.dumps({"final": result.final_output, "items": len(result.new_items)}))


asyncio.run(main())
