"""Input filters of runs, handoffs and models; nested history; input as lists; to_input_list as the next input."""
import asyncio

from agents import Agent, RunConfig, Runner, SQLiteSession, handoff
from agents.extensions import handoff_filters
from agents.run import CallModelData, ModelInputData

from scripted import Scripted, add, attempt, call, say


def last_only(data: CallModelData) -> ModelInputData:
    return ModelInputData(input=data.model_data.input[-1:], instructions=data.model_data.instructions)


async def main():
    config = RunConfig(call_model_input_filter=last_only)
    turns = [[call("add", {"a": 1, "b": 1}, "c1")], [say("two")]]
    result = await attempt(Agent(name="f", model=Scripted(*turns), tools=[add]), "go", run_config=config)
    print(result.final_output)

    two = Agent(name="two", model=Scripted([say("clean")]))
    one = Agent(
        name="one",
        model=Scripted([call("add", {"a": 1, "b": 1}, "c1")], [call("transfer_to_two", {}, "h1")]),
        tools=[add],
        handoffs=[handoff(two, input_filter=handoff_filters.remove_all_tools)],
    )
    result = await attempt(one, "go", session=SQLiteSession("f"))
    print(result.final_output)

    agent = Agent(name="a", model=Scripted([call("add", {"a": 1, "b": 1}, "c1")], [say("first")], [say("second", "m2")]), tools=[add])
    result = await Runner.run(agent, [{"role": "user", "content": "one"}])
    result = await attempt(agent, result.to_input_list() + [{"role": "user", "content": "two"}])
    print(result.final_output)


asyncio.run(main())
