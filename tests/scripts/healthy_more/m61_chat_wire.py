"""The Chat Completions adapter, a transport of the script's own and a provider on loopback, plain and streamed."""
import asyncio
import json

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from provider import Provider, calls, says, served

set_tracing_disabled(True)
httpx = __import__(DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])


@function_tool
def weather(city: str) -> str:
    return f"rain in {city}"


@function_tool
def clock(zone: str) -> str:
    return f"noon in {zone}"


def agent_of(client):
    settings = ModelSettings(temperature=0.5, max_tokens=200, frequency_penalty=0.1)
    model = OpenAIChatCompletionsModel("gpt-test", client)
    return Agent(name="weatherman", instructions="Short.", model=model, tools=[weather, clock], model_settings=settings)


def answers():
    return (
        calls(("weather", {"city": "Oslo"}), ("clock", {"zone": "CET"})),
        says("Rain at noon."),
        {"text": "Looking.", **calls(("weather", {"city": "Bergen"}))},
        says("Rain there too."),
    )


async def both(agent):
    result = await Runner.run(agent, "Weather in Oslo?")
    streamed = Runner.run_streamed(agent, "In Bergen?")
    async for _ in streamed.stream_events():
        pass
    print(result.final_output, streamed.final_output, result.context_wrapper.usage.requests)


async def main():
    mocked = Provider(*answers())

    def transport(request):
        status, kind, text = mocked.answer(request.url.path, json.loads(request.content))
        return httpx.Response(status, text=text, headers={"content-type": kind})

    http = httpx.AsyncClient(transport=httpx.MockTransport(transport))
    async with AsyncOpenAI(api_key="none", base_url="http://gateway.invalid/v1", http_client=http) as client:
        await both(agent_of(client))
    with served(Provider(*answers())) as url:
        async with AsyncOpenAI(api_key="none", base_url=url) as client:
            await both(agent_of(client))


asyncio.run(main())
