# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents[litellm]==0.19.1"]
# ///
"""We stop reading when the first words are there. The connection to the gateway is never given back."""
import asyncio
import json
import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import litellm
from litellm.types.utils import Delta, ModelResponseStream, StreamingChoices

from agents import ModelSettings, ModelTracing, set_tracing_disabled
from agents.extensions.models.litellm_model import LitellmModel

set_tracing_disabled(True)


class Wire:
    """What a gateway streams, and whether somebody closed it."""

    closed = False

    def __aiter__(self):
        return self.words()

    async def words(self):
        for word in ("one ", "two ", "three "):
            choice = StreamingChoices(index=0, delta=Delta(content=word, role="assistant"))
            yield ModelResponseStream(id="c1", created=1, model="gw", choices=[choice])

    async def aclose(self):
        self.closed = True


async def main():
    wire = Wire()

    async def acompletion(**asked):
        return wire

    litellm.acompletion = acompletion
    model = LitellmModel("openai/gw", api_key="none")
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
