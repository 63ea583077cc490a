"""Tracing of runs that pause and are resumed, that are streamed, guarded, nested, and that fail."""
import asyncio
import json

from agents import (
    Agent,
    GuardrailFunctionOutput,
    RunConfig,
    Runner,
    RunState,
    input_guardrail,
    output_guardrail,
    set_trace_processors,
    set_tracing_disabled,
    trace,
)

from scripted import Scripted, add, attempt, call, pay, say

set_tracing_disabled(False)
set_trace_processors([])


@input_guardrail
async def slow_in(context, agent, given):
    await asyncio.sleep(0.05)
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


@output_guardrail
async def slow_out(context, agent, output):
    await asyncio.sleep(0.05)
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered="no" in output)


def till(*turns):
    return Agent(name="till", model=Scripted(*turns), tools=[pay, add])


async def go(streamed, *args, **kwargs):
    if not streamed:
        return await Runner.run(*args, **kwargs)
    result = Runner.run_streamed(*args, **kwargs)
    async for _ in result.stream_events():
        pass
    return result


async def paused(streamed, through_json, config=None):
    agent = till([call("pay", {"amount": 1}, "c1")], [call("pay", {"amount": 2}, "c2")], [say("done")])
    result = await go(streamed, agent, "pay", run_config=config)
    while result.interruptions:
        state = result.to_state()
        if through_json:
            state = await RunState.from_json(agent, json.loads(json.dumps(state.to_json())))
        for item in state.get_interruptions():
            state.approve(item)
        result = await go(streamed, agent, state, run_config=config)
    print(result.final_output)


async def main():
    for streamed in (False, True):
        for through_json in (False, True):
            await paused(streamed, through_json)
    await paused(False, True, RunConfig(workflow_name="w", trace_id="trace_0123456789abcdef0123456789abcdef"))
    with trace("one workflow"):
        await paused(False, False)

    # A resumed run that fails, and is tried again from the same state.
    agent = till([call("pay", {"amount": 1}, "c1")], ConnectionError("down"), [say("done")])
    state = (await Runner.run(agent, "pay")).to_state()
    state.approve(state.get_interruptions()[0])
    await attempt(agent, state)
    await attempt(agent, state)

    for streamed in (False, True):
        guarded = Agent(name="g", model=Scripted([say("yes")], [say("no")]), input_guardrails=[slow_in],
                        output_guardrails=[slow_out])
        await go(streamed, guarded, "go")
        try:
            await go(streamed, guarded, "go")
        except Exception as error:
            print(type(error).__name__)
        try:
            await go(streamed, Agent(name="f", model=Scripted(ConnectionError("down"))), "go")
        except ConnectionError:
            print("down")

    inner = Agent(name="inner", model=Scripted([call("pay", {"amount": 1}, "i1")], [say("in")]), tools=[pay])
    outer = Agent(name="outer", model=Scripted([call("ask", {"input": "x"}, "o1")], [say("out")]),
                  tools=[inner.as_tool("ask", "d")])
    state = (await Runner.run(outer, "go")).to_state()
    state.approve(state.get_interruptions()[0])
    print((await Runner.run(outer, state)).final_output)

    second = Agent(name="second", model=Scripted([call("add", {"a": 1, "b": 1}, "h2")], [say("there")]), tools=[add])
    first = Agent(name="first", model=Scripted([call("transfer_to_second", {}, "h1")]), handoffs=[second])
    for streamed in (False, True):
        second.model = Scripted([call("add", {"a": 1, "b": 1}, "h2")], [say("there")])
        first.model = Scripted([call("transfer_to_second", {}, "h1")])
        print((await go(streamed, first, "go")).final_output)
    first_result = await asyncio.gather(*(Runner.run(till([call("add", {"a": n, "b": 1}, f"p{n}")], [say(f"s{n}")]), "go")
                                          for n in range(2)))
    print([one.final_output for one in first_result])


asyncio.run(main())
