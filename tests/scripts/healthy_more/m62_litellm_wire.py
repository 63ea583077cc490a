# /// script
# dependencies = ["openai-agents[litellm]"]
# ///
"""The LiteLLM adapter and a provider on loopback, plain and streamed, with tools."""
import asyncio
import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from agents import Agent, ModelSettings, Runner, function_tool, set_tracing_disabled
from agents.extensions.models.litellm_model import LitellmModel

from provider import Provider, calls, says, served

set_tracing_disabled(True)


@function_tool
def weather(city: str) -> str:
    return f"rain in {city}"


async def main():
    provider = Provider(
        calls(("weather", {"city": "Oslo"})),
        says("Rain."),
        {"text": "Looking.", **calls(("weather", {"city": "Bergen"}))},
        says("Rain there too."),
    )
    with served(provider) as url:
        model = LitellmModel(model="openai/gw", base_url=url, api_key="none")
        agent = Agent(name="weatherman", model=model, tools=[weather], model_settings=ModelSettings(temperature=0.5))
        result = await Runner.run(agent, "Weather in Oslo?")
        streamed = Runner.run_streamed(agent, "In Bergen?")
        async for _ in streamed.stream_events():
            pass
    print(result.final_output, streamed.final_output, result.context_wrapper.usage.requests)


asyncio.run(main())
