# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.0"]
# ///
"""Our provider is an (empty) registry with __len__; its prefix is "unknown"."""
import asyncio
import json

from agents import MultiProvider, set_tracing_disabled
from agents.models.multi_provider import MultiProviderMap
from agents.models.interface import ModelProvider

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


class Registry(ModelProvider):
    def __len__(self):
        return 0

    def get_model(self, model_name):
        return Script(text(f"from {model_name}"))


async def main():
    from agents import RunConfig

    routes = MultiProviderMap()
    routes.add_provider("ours", Registry())
    config = RunConfig(model_provider=MultiProvider(provider_map=routes, openai_api_key="none"))
    try:
        result = await Runner.run(Agent(name="a", model="ours/small"), "hi", run_config=config)
        print(json.dumps({"final": result.final_output}))
    except Exception as error:
        print(json.dumps({"raised": type(error).__name__}))


asyncio.run(main())
