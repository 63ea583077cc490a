# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.21.1"]
# ///
"""max_output_tokens cuts the answer off, and the run ends as if all were well."""
import asyncio
import json

import httpx
from openai import AsyncOpenAI

from agents import Agent, ModelSettings, OpenAIResponsesModel, Runner, set_tracing_disabled

set_tracing_disabled(True)


def responses(request):
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "status": "incomplete",
        "content": [{"type": "output_text", "text": "The first half of", "annotations": []}],
    }
    body = {
        "id": "resp_1", "object": "response", "created_at": 1700000000, "model": "gpt-x", "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"}, "output": [message], "tools": [],
        "tool_choice": "auto", "parallel_tool_calls": True, "error": None, "instructions": None, "metadata": {},
        "temperature": 1.0, "top_p": 1.0,
    }
    if not json.loads(request.content).get("stream"):
        return httpx.Response(200, json=body)
    event = {"type": "response.incomplete", "sequence_number": 0, "response": body}
    text = f"event: response.incomplete\ndata: {json.dumps(event)}\n\n"
    return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})


async def main():
    http = httpx.AsyncClient(transport=httpx.MockTransport(responses))
    async with AsyncOpenAI(api_key="none", base_url="http://gw.invalid/v1", http_client=http) as client:
        model = OpenAIResponsesModel("gpt-x", client)
        agent = Agent(name="a", model=model, model_settings=ModelSettings(max_tokens=4))
        try:
            result = await Runner.run(agent, "Tell me a story.")
        except Exception as error:
            print(json.dumps({"raised": type(error).__name__}))
        else:
            print(json.dumps({"final": result.final_output}))


asyncio.run(main())
