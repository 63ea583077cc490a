"""What else projects test: errors, concurrency, output, environment variables, unittest."""

import asyncio
import json
import os
import unittest

import pytest
from scripted import Scripted, add, call, say

from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    Runner,
    function_tool,
    handoff,
)


@function_tool
def currency() -> str:
    return os.environ["SHOP_CURRENCY"]


async def test_a_tool_reads_the_environment(clerk, monkeypatch, capsys):
    monkeypatch.setenv("SHOP_CURRENCY", "EUR")
    agent = Agent(name="teller", model=Scripted([call("currency")], [say("euros")]), tools=[currency])
    result = await Runner.run(agent, "Which currency?")
    print(result.final_output)
    assert capsys.readouterr().out == "euros\n"


async def test_too_many_turns_raise(clerk):
    with pytest.raises(MaxTurnsExceeded):
        await Runner.run(clerk([call("add", {"a": 1, "b": 1})], [say("2")]), "Add.", max_turns=1)


async def test_a_guardrail_trips(clerk):
    def check(context, agent, given):
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered="gold" in str(given))

    # The guardrail runs beside the model, which may have been asked by the time it trips.
    turns = ([say("fine")], [say("too late")])
    agent = clerk(*turns, input_guardrails=[InputGuardrail(guardrail_function=check)])
    assert (await Runner.run(agent, "silver")).final_output == "fine"
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(agent, "gold")


async def test_runs_at_once_do_not_meet(prices):
    async def buy(name):
        price = {"a": prices[name], "b": 0}
        agent = Agent(name=name, model=Scripted([call("add", price, name)], [say(name)]), tools=[add])
        return (await Runner.run(agent, f"Buy {name}.")).final_output

    assert await asyncio.gather(*map(buy, sorted(prices))) == ["cake", "tea"]


async def test_a_handoff(tmp_path):
    second = Agent(name="second", model=Scripted([say("from the second")]))
    first = Agent(name="first", model=Scripted([call("transfer_to_second")]), handoffs=[handoff(second)])
    result = await Runner.run(first, "go")
    (tmp_path / "result.json").write_text(json.dumps([result.final_output, result.last_agent.name]))
    assert json.loads((tmp_path / "result.json").read_text()) == ["from the second", "second"]


def test_without_a_loop_of_its_own(clerk):
    assert Runner.run_sync(clerk([say("hello")]), "hi").final_output == "hello"


class TestCase(unittest.IsolatedAsyncioTestCase):
    async def test_a_pause(self):
        model = Scripted([call("add", {"a": 2, "b": 2})], [say("4")])
        result = await Runner.run(Agent(name="unit", model=model, tools=[add]), "Add.")
        self.assertEqual(result.final_output, "4")
