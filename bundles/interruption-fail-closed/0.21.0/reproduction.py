# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0"]
#
# [tool.agentproof]
# title = "A pending call that cannot be copied is handed out, one that is pending twice is decided"
# reference = "openai/openai-agents-python#4409"
# ///
"""Pending calls that cannot be copied are asked for, and calls that belong to two runs are decided.

1. A call carries more than the SDK knows: a text beside something that JSON has not (an object, NaN, a
   loop), or its class answers for attributes itself. Handing it out as it is lets the caller change the
   pending approval. So asking for the interruptions should fail, for the harmless call beside it as well.
2. One call is pending twice, of the agent itself or below an agent tool. A decision on it should fail.

Failing means: with an error of the SDK, which repeats nothing of the payload, with no decision made, and no
tool run. Run it with `uv run reproduction.py`.
"""

import asyncio
import copy
import dataclasses
import itertools
import json

from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agents import (
    Agent,
    AgentsException,
    Model,
    ModelResponse,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)

set_tracing_disabled(True)

SECRET = "the words of the payload"
ANSWER = ResponseOutputMessage(
    id="msg_1",
    type="message",
    role="assistant",
    status="completed",
    content=[ResponseOutputText(type="output_text", text="Done.", annotations=[])],
)


class Scripted(Model):
    """Gives the prepared answers, one for each request."""

    def __init__(self, *answers):
        self.answers = list(answers)

    async def get_response(self, *args, **kwargs):
        return ModelResponse(output=self.answers.pop(0), usage=Usage(), response_id="resp_1")

    async def stream_response(self, *args, **kwargs):
        items = self.answers.pop(0)
        for place, item in enumerate(items):
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=place, sequence_number=place
            )
        response = Response(
            id="resp_1",
            object="response",
            created_at=0,
            model="scripted",
            output=items,
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=len(items), response=response)


ran = []
numbers = itertools.count(1)


@function_tool(needs_approval=True)
def pay(amount: int, note: str) -> str:
    """Pay somebody."""
    ran.append(amount)
    return f"paid {amount}"


class Answering(ResponseFunctionToolCall):
    """Answers for attributes that it does not have."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return SECRET


def call(call_id, name="pay", make=ResponseFunctionToolCall, **more):
    arguments = json.dumps({"amount": 100, "note": SECRET} if name == "pay" else {"input": "Pay."})
    return make(
        id=f"fc_{call_id}", call_id=call_id, type="function_call", name=name, arguments=arguments, **more
    )


def clerk(name):
    """An agent whose call is pending."""
    return Agent(name="clerk", model=Scripted([call(name)], [ANSWER]), tools=[pay])


def boss(name):
    """An agent that has the clerk as a tool; the clerk's call is pending."""
    tool = clerk(name).as_tool(tool_name="ask", tool_description="Ask.")
    return Agent(name="boss", model=Scripted([call(f"{name}_ask", "ask")], [ANSWER]), tools=[tool])


def uncopyable(kind, call_id):
    loop = [SECRET]
    loop.append(loop)
    match kind:
        case "an object":
            return call(call_id, extra=[SECRET, object()])
        case "NaN":
            return call(call_id, extra=[SECRET, float("nan")])
        case "a loop":
            return call(call_id, extra=loop)
        case "a hook":
            return call(call_id, make=Answering, extra=SECRET)
    return {**call(call_id).model_dump(), "extra": [SECRET, object()]}


def refusal(action):
    """What an action that should fail comes to."""
    try:
        done = action()
    except AgentsException as error:
        told = f"{error} {error.__cause__ or ''} {error.__context__ or ''}"
        return "refused, repeating the payload" if SECRET in told else "refused"
    except Exception as error:
        return f"raised {type(error).__name__}, which is no error of the SDK"
    return "done" if done is None else f"handed out {len(done)}"


async def pending_still(agent, state):
    """Whether nothing was decided: a run that goes on pauses again, and no tool runs."""
    try:
        result = await Runner.run(agent, state)
    except AgentsException:
        return not ran
    return bool(result.interruptions) and not ran


async def paused(agent, more):
    """A state that waits for the agent's call, and for more than that."""
    # The list of a result is the caller's; it is changed in a copy, and a state is made of what it holds.
    result = copy.copy(await Runner.run(agent, "Pay."))
    (item,) = result.interruptions
    result.interruptions = [item, dataclasses.replace(item, raw_item=more(item.raw_item))]
    return result.to_state()


async def asked(kind):
    """Ask for the interruptions where one of two pending calls cannot be copied."""
    ran.clear()
    name = f"call_{next(numbers)}"
    agent = clerk(name)
    state = await paused(agent, lambda call: uncopyable(kind, f"{name}_b"))
    seen = refusal(state.get_interruptions)
    return seen, await pending_still(agent, state)


async def decided(agent, decision):
    """Decide on a call that is pending in two places."""
    ran.clear()
    state = await paused(agent, lambda call: call.model_copy(deep=True))
    pending = state.get_interruptions()[-1]
    before = state.to_json()
    seen = refusal(lambda: getattr(state, decision)(pending))
    return seen, state.to_json() == before and await pending_still(agent, state)


async def main():
    wrong = []

    def note(case, seen, undecided):
        line = f"{case}: {seen}; {'nothing' if undecided else 'something'} was decided"
        print(line)
        if seen != "refused" or not undecided:
            wrong.append(line)

    for kind in ("an object", "NaN", "a loop", "a hook", "a mapping"):
        note(kind, *await asked(kind))
    for make in (clerk, boss):
        for decision in ("approve", "reject"):
            agent = make(f"call_{next(numbers)}")
            note(f"the call of the {agent.name} twice, {decision}", *await decided(agent, decision))
    assert not wrong, f"{len(wrong)} of 9 are not refused"


asyncio.run(main())
