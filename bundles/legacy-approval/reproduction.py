# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0"]
#
# [tool.agentproof]
# title = "Decisions saved by older releases are honoured on resume"
# reference = "openai/openai-agents-python#4409"
# ///
"""RunState JSON that older releases wrote is restored, decided where nothing was, and resumed.

`saved/` holds, for each of 0.8.4, 0.14.8, 0.19.4 and 0.20.0, what `to_json()` of that release gave for one
paused run: with the call pending, approved and rejected (`write.py` made them). An approved call should run
once, a rejected one never, a pending one should wait for its decision. Run it with
`uv run reproduction.py`.
"""

import asyncio
import json
from pathlib import Path

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
    Model,
    ModelResponse,
    Runner,
    RunState,
    Usage,
    function_tool,
    set_tracing_disabled,
)

set_tracing_disabled(True)

CALL = ResponseFunctionToolCall(
    id="fc_1", call_id="call_1", type="function_call", name="pay", arguments='{"amount": 100}'
)
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


SAVED = Path(__file__).with_name("saved")
VERSIONS = ("0.8.4", "0.14.8", "0.19.4", "0.20.0")


async def resumed(saved, decision):
    """What resuming comes to: how often the tool ran, what is pending, the output."""
    ran.clear()
    agent = Agent(name="clerk", model=Scripted(ANSWER), tools=[pay])
    state = await RunState.from_json(agent, saved)
    if decision is not None:
        getattr(state, decision)(state.get_interruptions()[0])
    result = await Runner.run(agent, state)
    return len(ran), len(result.interruptions), result.final_output


async def main():
    wrong = []
    for version in VERSIONS:
        saved = json.loads((SAVED / f"{version}.json").read_text())
        for kind, decision, expected in (
            ("pending", None, (0, 1, None)),
            ("pending", "approve", (1, 0, "Paid.")),
            ("pending", "reject", (0, 0, "Paid.")),
            ("approved", None, (1, 0, "Paid.")),
            ("rejected", None, (0, 0, "Paid.")),
        ):
            then = f", then {decision}" if decision else ""
            try:
                seen = await resumed(saved[kind], decision)
            except Exception as error:
                seen = type(error).__name__
            line = f"{version}, {kind}{then}: runs, pending, output = {seen}"
            print(line)
            if seen != expected:
                wrong.append(line)
    assert not wrong, wrong


asyncio.run(main())
