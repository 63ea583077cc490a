# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.24.0"]
#
# [tool.agentproof]
# title = "A decision below an agent tool, saved before 0.20.0, is asked for again on resume"
# reference = "openai/openai-agents-python#4409"
# ///
"""RunState JSON that older releases wrote, with a call below an agent that is used as a tool, is resumed.

`saved/` holds states of the recordings of legacy-states on 0.14.8 and 0.19.4: a paused run whose
agent tool waits for a call that is pending, approved or rejected. An approved call should run once, a
rejected one never, a pending one should wait for its decision; then the run should come to its end. Run it
with `uv run reproduction.py`.
"""

import asyncio
import json
from pathlib import Path

from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
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

ANSWER = ResponseOutputMessage(
    id="msg_1",
    type="message",
    role="assistant",
    status="completed",
    content=[ResponseOutputText(type="output_text", text="Done.", annotations=[])],
)


class Scripted(Model):
    """Gives the prepared answers, one for each request."""

    def __init__(self, *answers):
        self.answers = list(answers)

    async def get_response(self, *args, **kwargs):
        return ModelResponse(output=[self.answers.pop(0)], usage=Usage(), response_id="resp_1")

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
VERSIONS = ("0.14.8", "0.19.4")


def restoring_agent():
    clerk = Agent(name="clerk", model=Scripted(ANSWER), tools=[pay])
    tool = clerk.as_tool(tool_name="ask_clerk", tool_description="Ask.")
    return Agent(name="boss", model=Scripted(ANSWER), tools=[tool])


async def resumed(version, kind, decision):
    """How often the tool ran, how many calls are pending then, and the output."""
    ran.clear()
    saved = json.loads((SAVED / f"{version}-{kind}.json").read_text())
    agent = restoring_agent()
    state = await RunState.from_json(agent, saved)
    if decision is not None:
        (pending,) = state.get_interruptions()
        getattr(state, decision)(pending)
    result = await Runner.run(agent, state)
    return len(ran), len(result.interruptions), result.final_output


async def main():
    wrong = []
    for version in VERSIONS:
        for kind, decision, expected in (
            ("pending", "approve", (1, 0, "Done.")),
            ("approved", None, (1, 0, "Done.")),
            ("rejected", None, (0, 0, "Done.")),
        ):
            case = f"{version}, {kind}" + (f", then {decision}" if decision else "")
            try:
                seen = await resumed(version, kind, decision)
            except Exception as error:
                seen = type(error).__name__
            print(f"{case}: runs, pending, output = {seen}")
            if seen != expected:
                wrong.append(case)
    assert not wrong, f"not honoured: {'; '.join(wrong)}"


asyncio.run(main())
