# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents[any-llm]==0.19.2"]
# ///
"""We stop reading when the first words are there. The provider's stream is never closed."""
import asyncio
import json

from openai.types.chat import ChatCompletionChunk

from agents import ModelSettings, ModelTracing, set_tracing_disabled
from agents.extensions.models.any_llm_model import AnyLLMModel

set_tracing_disabled(True)


class Wire:
    """What a provider streams, and whether somebody closed it."""

    closed = False

    def __aiter__(self):
        return self.words()

    async def words(self):
        for word in ("one ", "two ", "three "):
            yield ChatCompletionChunk.model_validate({
                "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gw",
                "choices": [{"index": 0, "delta": {"role": "assistant", "content": word}, "finish_reason": None}],
            })

    async def aclose(self):
        self.closed = True


class Provider:
    SUPPORTS_RESPONSES = False

    def __init__(self, wire):
        self.wire = wire

    async def acompletion(self, **asked):
        return self.wire


async def main():
    wire = Wire()
    model = AnyLLMModel("openrouter/gw", api_key="none", api="chat_completions")
    model._provider = Provider(wire)
    model._get_provider = lambda: model._provider
    events = model.stream_response(
        system_instructions=None, input="count", model_settings=ModelSettings(), tools=[], output_schema=None,
        handoffs=[], tracing=ModelTracing.DISABLED, previous_response_id=None, conversation_id=None, prompt=None,
    )
    kinds = []
    async for event in events:
        kinds.append(event.type)
        if event.type == "response.output_text.delta":
            break
    await events.aclose()
    print(json.dumps({"seen": kinds, "closed": wire.closed}))


asyncio.run(main())
