# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.2"]
# ///
"""Claude's redacted thinking block is gone from the second request, and the API refuses it."""
import asyncio
import json

from agents.models.chatcmpl_converter import Converter
from openai.types.chat import ChatCompletionMessage


class Message(ChatCompletionMessage):
    reasoning_content: str = ""
    thinking_blocks: list = []


blocks = [
    {"type": "thinking", "thinking": "hm", "signature": "s1"},
    {"type": "redacted_thinking", "data": "x7f3"},
]
answer = Message(role="assistant", content="Hello.", reasoning_content="hm", thinking_blocks=blocks)
items = [item.model_dump(exclude_unset=True) for item in Converter.message_to_output_items(answer)]
again = Converter.items_to_messages(
    [{"role": "user", "content": "hi"}, *items], preserve_thinking_blocks=True, model="anthropic/claude-x"
)
print(json.dumps({"redacted block is sent again": "x7f3" in json.dumps(again)}))
