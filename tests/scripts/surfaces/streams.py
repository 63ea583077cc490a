"""Streams: to the end, cancelled, left, failing; guardrails and limits of turns."""

import agents
from agents import Agent, Runner, function_tool
from scripted import Scripted, Unstreamable, call, say


@function_tool
def again() -> str:
    return "again"


async def whole():
    result = Runner.run_streamed(Agent(name="a", model=Scripted([say("done")])), "go")
    kinds = [event.type async for event in result.stream_events()]
    return kinds, result.final_output, result.is_complete


async def cancelled():
    model = Scripted([call("again", "c1")], [say("done")])
    result = Runner.run_streamed(Agent(name="a", model=model, tools=[again]), "go")
    async for event in result.stream_events():
        if event.type == "run_item_stream_event":
            result.cancel()
    return result.final_output


async def left():
    result = Runner.run_streamed(Agent(name="a", model=Scripted([say("done")])), "go")
    stream = result.stream_events()
    async for _ in stream:
        break
    await stream.aclose()
    return result.final_output


async def failing():
    result = Runner.run_streamed(Agent(name="a", model=Scripted(ValueError("model down"))), "go")
    return [event.type async for event in result.stream_events()]


async def failing_plain():
    return await Runner.run(Agent(name="a", model=Scripted(ValueError("model down"))), "go")


async def too_many_turns():
    turns = [[call("again", f"c{number}")] for number in range(9)]
    return await Runner.run(Agent(name="a", model=Scripted(*turns), tools=[again]), "go", max_turns=2)


async def tripped():
    @agents.input_guardrail
    async def refuse(context, agent, given):
        return agents.GuardrailFunctionOutput(output_info="bad", tripwire_triggered=True)

    agent = Agent(name="a", model=Scripted([say("done")]), input_guardrails=[refuse])
    return await Runner.run(agent, "go")


async def unstreamable():
    model = Unstreamable([call("again", "c1")], [say("done")])
    result = await Runner.run(Agent(name="a", model=model, tools=[again]), "go")
    return result.final_output


async def main():
    for case in (whole, cancelled, left, failing, failing_plain, too_many_turns, tripped, unstreamable):
        try:
            told = await case()
        except Exception as error:
            told = (type(error).__name__, str(error)[:80])
        print(case.__name__, getattr(told, "final_output", told))
