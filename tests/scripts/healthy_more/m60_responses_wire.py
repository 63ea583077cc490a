"""The Responses adapter and a provider on loopback: plain and streamed, tools, a handoff, settings, one retry."""
import asyncio

from agents import Agent, ModelSettings, OpenAIResponsesModel, Runner, SQLiteSession, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from provider import Provider, calls, says, served

set_tracing_disabled(True)


@function_tool
def weather(city: str) -> str:
    return f"rain in {city}"


@function_tool
def clock(zone: str) -> str:
    return f"noon in {zone}"


async def main():
    provider = Provider(
        calls(("weather", {"city": "Oslo"}), ("clock", {"zone": "CET"})),
        says("Rain at noon."),
        says("It stays so."),
        500,
        calls(("transfer_to_billing", {})),
        says("Paid."),
    )
    with served(provider) as url:
        async with AsyncOpenAI(api_key="none", base_url=url, max_retries=1) as client:
            model = OpenAIResponsesModel("gpt-test", client)
            settings = ModelSettings(temperature=0.5, top_p=0.9, max_tokens=200, parallel_tool_calls=True, metadata={"a": "b"})
            agent = Agent(name="weatherman", instructions="Short.", model=model, tools=[weather, clock], model_settings=settings)
            session = SQLiteSession("s")
            result = await Runner.run(agent, "Weather in Oslo?", session=session)
            print(result.final_output, result.context_wrapper.usage.requests)
            streamed = Runner.run_streamed(agent, "And later?", session=session)
            async for _ in streamed.stream_events():
                pass
            print(streamed.final_output)
            billing = Agent(name="billing", model=model)
            desk = Agent(name="desk", model=model, handoffs=[billing])
            print((await Runner.run(desk, "Pay.")).final_output, len(provider.asked))


asyncio.run(main())
