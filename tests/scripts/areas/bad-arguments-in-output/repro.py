# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.3"]
# ///
"""OPENAI_AGENTS_DONT_LOG_TOOL_DATA=1 is set; a card number in bad arguments ends in the exception."""
import asyncio
import json
import os

os.environ["OPENAI_AGENTS_DONT_LOG_TOOL_DATA"] = "1"

from agents import function_tool, set_tracing_disabled

from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from agents import Agent, Model, ModelResponse, Runner, Usage


def text(words):
    part = ResponseOutputText(type="output_text", text=words, annotations=[])
    return ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[part])


def call(name, arguments):
    return ResponseFunctionToolCall(
        id="fc_1", call_id="call_1", type="function_call", name=name, arguments=arguments
    )


class Script(Model):
    """Plays its answers, and keeps what it was given."""

    def __init__(self, *answers):
        self.answers, self.inputs, self.tools = list(answers), [], []

    async def get_response(self, system_instructions, input, model_settings, tools, *args, **kwargs):
        self.inputs.append(input)
        self.tools.append(tools)
        return ModelResponse(output=[self.answers.pop(0)], usage=Usage(requests=1), response_id=None)

    async def stream_response(self, system_instructions, input, model_settings, tools, *args, **kwargs):
        from openai.types.responses import Response, ResponseCompletedEvent

        self.inputs.append(input)
        self.tools.append(tools)
        response = Response(
            id="r", object="response", created_at=0, model="s", output=[self.answers.pop(0)], tool_choice="auto",
            tools=[], parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=0, response=response)

set_tracing_disabled(True)


@function_tool(failure_error_function=None)
def pay(amount: int) -> str:
    return "paid"


async def main():
    model = Script(call("pay", '{"amount": "4111 1111"}'), text("done"))
    try:
        await Runner.run(Agent(name="a", model=model, tools=[pay]), "pay")
    except Exception as error:
        print(json.dumps({"raised": type(error).__name__, "number in the error": "4111 1111" in str(error)}))


asyncio.run(main())
