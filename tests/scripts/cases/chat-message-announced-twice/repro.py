# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.19.4"]
# ///
"""Our UI opens a bubble at `response.output_item.added` and closes it at `response.output_item.done`.

When our gateway streams some text and then a refusal in the same turn, a second bubble is opened that nobody
closes: the one message is added twice and done once.
"""
import asyncio
import json
from collections import Counter

from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled

httpx = __import__(DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])
set_tracing_disabled(True)

DELTAS = [{"role": "assistant", "content": "Well, "}, {"content": "no. "}, {"refusal": "I cannot help with that."}]


def server(request):
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in DELTAS]
    chunks.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "gw"}
    lines = "".join(f"data: {json.dumps({**head, 'choices': [chunk]})}\n\n" for chunk in chunks)
    return httpx.Response(200, text=lines + "data: [DONE]\n\n", headers={"content-type": "text/event-stream"})


async def main():
    seen = Counter()
    http = httpx.AsyncClient(transport=httpx.MockTransport(server))
    async with AsyncOpenAI(api_key="none", base_url="http://gateway.invalid/v1", http_client=http) as client:
        agent = Agent(name="clerk", model=OpenAIChatCompletionsModel("gw", client))
        result = Runner.run_streamed(agent, "something")
        try:
            async for event in result.stream_events():
                if event.type == "raw_response_event":
                    seen[event.data.type] += 1
        except Exception:
            pass  # newer releases raise a refusal; the stream came before
    print(json.dumps({"added": seen["response.output_item.added"], "done": seen["response.output_item.done"]}))


asyncio.run(main())
