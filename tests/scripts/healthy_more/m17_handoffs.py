"""Handoffs: with filters, inputs, callbacks and nested history; two at once; filters of the run."""
import asyncio

from agents import Agent, RunConfig, handoff
from agents.extensions import handoff_filters
from pydantic import BaseModel

from scripted import Scripted, add, attempt, call, say


class Why(BaseModel):
    reason: str


reasons = []


async def note(context, why: Why):
    reasons.append(why.reason)


def keep(data):
    return data


async def main():
    for options in (
        {},
        {"input_filter": handoff_filters.remove_all_tools},
        {"input_filter": keep},
        {"on_handoff": note, "input_type": Why},
        {"nest_handoff_history": True},
        {"is_enabled": lambda context, agent: True},
    ):
        given = {"reason": "r"} if "input_type" in options else {}
        second = Agent(name="b", model=Scripted([say("from b")]))
        model = Scripted([call("add", {"a": 1, "b": 2}, "c1")], [call("transfer_to_b", given, "h1")])
        first = Agent(name="a", model=model, tools=[add], handoffs=[handoff(second, **options)])
        result = await attempt(first, "go")
        print(*options, result.final_output, len(result.new_items))
    print(reasons)
    targets = [Agent(name=name, model=Scripted([say("from " + name)])) for name in ("b", "c")]
    both = [call("transfer_to_b", {}, "h1"), call("transfer_to_c", {}, "h2")]
    result = await attempt(Agent(name="a", model=Scripted(both), handoffs=targets), "go")
    print(result.final_output)
    config = RunConfig(handoff_input_filter=keep, call_model_input_filter=lambda data: data.model_data)
    first = Agent(name="a", model=Scripted([call("transfer_to_b", {}, "h1")]), handoffs=[Agent(name="b", model=Scripted([say("from b")]))])
    result = await attempt(first, "go", run_config=config)
    print(result.final_output)


asyncio.run(main())
