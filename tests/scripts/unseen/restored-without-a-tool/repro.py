"""A paused agent as a tool, restored into an agent that has lost another tool."""
import asyncio
import copy
import json

from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled

set_tracing_disabled(True)


def text(words, id="msg_1"):
    part = ResponseOutputText(type="output_text", text=words, annotations=[])
    return ResponseOutputMessage(
        id=id, type="message", role="assistant", status="completed", content=[part]
    )


def tool_call(name, call_id="call_1", **arguments):
    return ResponseFunctionToolCall(
        id="fc_" + call_id,
        call_id=call_id,
        type="function_call",
        name=name,
        arguments=json.dumps(arguments),
    )


class Script(Model):
    """Plays its answers one after the other and keeps what it was given."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    def next_answer(self, args, kwargs):
        self.requests.append(copy.deepcopy(kwargs["input"] if "input" in kwargs else args[1]))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def get_response(self, *args, **kwargs):
        answer = self.next_answer(args, kwargs)
        usage = Usage(requests=1, input_tokens=8, output_tokens=4, total_tokens=12)
        return ModelResponse(output=answer, usage=usage, response_id=None)

    async def stream_response(self, *args, **kwargs):
        answer = self.next_answer(args, kwargs)
        for index, item in enumerate(answer):
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=index,
                sequence_number=index,
            )
        yield ResponseCompletedEvent(
            type="response.completed",
            sequence_number=len(answer),
            response=Response(
                id="resp_1", object="response", created_at=0, model="script", output=answer,
                tool_choice="auto", tools=[], parallel_tool_calls=True,
            ),
        )


from agents import RunState

ran = []


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    ran.append(amount)
    return "paid"


@function_tool
def audit() -> str:
    return "audited"


def agents(with_audit):
    clerk = Agent(
        name="clerk", tools=[pay],
        model=Script([tool_call("pay", "in_1", amount=5)] if with_audit else [text("clerk done")]),
    )
    ask = clerk.as_tool(tool_name="ask_clerk", tool_description="asks the clerk")
    answers = (
        [[tool_call("audit", "out_0"), tool_call("ask_clerk", "out_1", input="pay 5")]]
        if with_audit
        else [[text("all done")]]
    )
    tools = [audit, ask] if with_audit else [ask]
    return Agent(name="boss", tools=tools, model=Script(*answers))


async def main():
    paused = await Runner.run(agents(True), "pay 5")
    stored = json.dumps(paused.to_state().to_json())
    boss = agents(False)
    state = await RunState.from_json(boss, json.loads(stored))
    state.approve(state.get_interruptions()[0])
    try:
        result = await Runner.run(boss, state)
        seen = {"output": result.final_output, "asks": len(result.interruptions)}
    except Exception as error:
        seen = {"error": type(error).__name__}
    print(json.dumps({**seen, "ran": ran}))


asyncio.run(main())
