# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0"]
#
# [tool.agentproof]
# title = "A pending call that cannot be copied is handed out as it is"
# reference = "openai/openai-agents-python#4409"
# ///
"""Calls that cannot be copied safely are paused, and their interruptions are asked for.

A call carries more than the SDK knows: here a text beside something that has no copy in JSON (an object, a
number that JSON lacks), or it is of a class that answers for attributes itself. Handing it out as it is
would let the caller change the pending approval. So asking should fail: with the SDK's own error, which
repeats nothing of the payload, and with nothing decided. Run it with `uv run reproduction.py`.
"""

import asyncio

from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agents import (
    Agent,
    AgentsException,
    Model,
    ModelResponse,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)

set_tracing_disabled(True)

ANSWER = ResponseOutputMessage(
    id="msg_1",
    type="message",
    role="assistant",
    status="completed",
    content=[ResponseOutputText(type="output_text", text="Paid.", annotations=[])],
)


class Scripted(Model):
    """Gives the prepared answers, one for each request."""

    def __init__(self, *answers):
        self.answers = list(answers)

    async def get_response(self, *args, **kwargs):
        usage = Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15)
        return ModelResponse(output=[self.answers.pop(0)], usage=usage, response_id=None)

    async def stream_response(self, *args, **kwargs):
        item = self.answers.pop(0)
        yield ResponseOutputItemDoneEvent(
            type="response.output_item.done", item=item, output_index=0, sequence_number=0
        )
        response = Response(
            id="resp_1",
            object="response",
            created_at=0,
            model="scripted",
            output=[item],
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=1, response=response)


ran = []


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    ran.append(amount)
    return f"paid {amount}"


SECRET = "the words of the payload"


class Answering(ResponseFunctionToolCall):
    """Answers for attributes that it does not have."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return SECRET


def call(kind):
    facts = {"id": "fc_1", "call_id": f"call_{kind}", "type": "function_call", "name": "pay"}
    facts["arguments"] = '{"amount": 100}'
    if kind == "hook":
        return Answering(**facts, note=SECRET)
    if kind == "object":
        return ResponseFunctionToolCall(**facts, note=SECRET, extra={"words": SECRET, "thing": object()})
    return ResponseFunctionToolCall(**facts, note=SECRET, extra={"words": SECRET, "ratio": float("nan")})


async def asked(kind):
    """What asking for the interruptions of such a call comes to."""
    agent = Agent(name="clerk", model=Scripted(call(kind), ANSWER), tools=[pay])
    state = (await Runner.run(agent, "Pay 100.")).to_state()
    try:
        items = state.get_interruptions()
    except AgentsException as error:
        told = f"{error} {error.__cause__ or ''} {error.__context__ or ''}"
        return "repeated the payload" if SECRET in told else "refused"
    except Exception as error:
        return f"raised {type(error).__name__}, which is no error of the SDK"
    return f"handed out {len(items)}"


async def main():
    wrong = []
    for kind in ("object", "number", "hook"):
        try:
            seen = await asked(kind)
        except Exception as error:
            seen = f"pausing raised {type(error).__name__}"
        print(f"{kind}: {seen}")
        if seen != "refused":
            wrong.append(f"{kind}: {seen}")
    assert not ran
    assert not wrong, wrong


asyncio.run(main())
