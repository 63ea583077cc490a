# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents[voice]==0.19.4"]
# ///
"""We slow the voice down for learners, and it speaks as fast as ever."""
import asyncio
import json

import httpx
from openai import AsyncOpenAI

from agents.voice import OpenAITTSModel, TTSModelSettings

sent = []


def speech(request):
    sent.append(json.loads(request.content))
    return httpx.Response(200, content=b"\0\0" * 600)


async def main():
    http = httpx.AsyncClient(transport=httpx.MockTransport(speech))
    async with AsyncOpenAI(api_key="none", base_url="http://speech.invalid/v1", http_client=http) as client:
        model = OpenAITTSModel("tts-1", client)
        size = 0
        async for chunk in model.run("Hello", TTSModelSettings(voice="ash", speed=0.5)):
            size += len(chunk)
    print(json.dumps({"speed": sent[0].get("speed"), "bytes": size}))


asyncio.run(main())
