"""Approvals as a project tests them: parameters, fixtures with an end, classes, marks."""

import pytest
from checks.answers import ANSWERS
from scripted import call, say

from agents import Agent, Runner, RunState


@pytest.mark.money
@pytest.mark.parametrize("through_json", [False, True], ids=["live", "restored"])
@pytest.mark.parametrize(("approve", "output"), [(True, "paid 100"), (False, None)])
async def test_a_decision_reaches_the_tool(clerk, approve, output, through_json):
    agent = clerk()
    paused = await Runner.run(agent, "Pay 100.")
    state = paused.to_state()
    if through_json:
        state = await RunState.from_json(agent, state.to_json())
    (interruption,) = state.get_interruptions()
    state.approve(interruption) if approve else state.reject(interruption)
    resumed = await Runner.run(agent, state)
    outputs = [item.output for item in resumed.new_items if item.type == "tool_call_output_item"]
    assert resumed.interruptions == []
    assert (outputs == [output]) is approve
    assert resumed.final_output == ANSWERS["paid"]


class TestSessions:
    amount = 7

    @pytest.fixture
    def agent(self, clerk):
        return clerk([call("add", {"a": self.amount, "b": 1})], [say("8")], [say("Again 8.")])

    async def test_a_session_holds_what_was_said(self, agent, session):
        await Runner.run(agent, "Add.", session=session)
        result = await Runner.run(agent, "And again?", session=session)
        assert result.final_output == "Again 8."
        assert len(await session.get_items()) == 7

    async def test_a_stream_says_the_same(self, agent):
        result = Runner.run_streamed(agent, "Add.")
        seen = [event.type async for event in result.stream_events()]
        assert "run_item_stream_event" in seen
        assert result.final_output == "8"


@pytest.mark.skipif(not hasattr(Agent, "as_tool"), reason="needs agents as tools")
async def test_an_agent_as_a_tool(clerk):
    inner = clerk([say("inner")])
    tool = inner.as_tool(tool_name="ask_inner", tool_description="Ask.")
    outer = Agent(name="outer", model=clerk([call("ask_inner", {"input": "hi"})], [say("outer")]).model, tools=[tool])
    assert (await Runner.run(outer, "go")).final_output == "outer"


@pytest.mark.xfail(reason="nobody said so", raises=AssertionError)
async def test_an_answer_that_nobody_gave(clerk):
    result = await Runner.run(clerk([say("Paid.")]), "go")
    assert result.final_output == ANSWERS["refused"]
