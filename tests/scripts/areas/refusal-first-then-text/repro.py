# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.4"]
# ///
"""The streamed events say: refusal at 0, text at 1. The message at the end has it the other way round."""

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
    deltas = [
        ({"role": "assistant", "refusal": "I cannot say that."}, None),
        ({"content": "But this I can."}, None),
        ({}, "stop"),
    ]
    lines = []
    for delta, finish in deltas:
        chunk = {**completion({}), "object": "chat.completion.chunk"}
        chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": finish}]
        lines.append(f"data: {json.dumps(chunk)}\n\n")
    return httpx.Response(
        200, text="".join(lines) + "data: [DONE]\n\n", headers={"content-type": "text/event-stream"}
    )


async def main():
    from agents import ModelSettings, ModelTracing

    http = httpx.AsyncClient(transport=httpx.MockTransport(gateway))
    announced, final = [], []
    async with AsyncOpenAI(api_key="none", base_url="http://gw.invalid/v1", http_client=http) as client:
        events = OpenAIChatCompletionsModel("gw", client).stream_response(
            None, "hi", ModelSettings(), [], None, [], ModelTracing.DISABLED,
            previous_response_id=None, conversation_id=None, prompt=None,
        )
        async for event in events:
            if event.type == "response.content_part.added":
                announced.append(event.part.type)
            if event.type == "response.completed":
                final = [part.type for part in event.response.output[0].content]
    print(json.dumps({"announced": announced, "finished": final}))


asyncio.run(main())
