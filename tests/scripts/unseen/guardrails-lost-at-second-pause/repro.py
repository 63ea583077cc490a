"""Results of tool guardrails when a resumed run pauses again."""
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


from agents import ToolGuardrailFunctionOutput, tool_input_guardrail


@tool_input_guardrail
def check(data):
    return ToolGuardrailFunctionOutput(output_info=data.context.tool_call_id)


@function_tool(needs_approval=True, tool_input_guardrails=[check])
def pay(amount: int) -> str:
    return "paid"


@function_tool(tool_input_guardrails=[check])
def rate() -> str:
    return "1.1"


async def told(streamed):
    agent = Agent(
        name="till", tools=[pay, rate],
        model=Script([tool_call("rate", "c0"), tool_call("pay", "c1", amount=1),
                      tool_call("pay", "c2", amount=2)], [text("done")]),
    )

    async def go(what):
        if not streamed:
            return await Runner.run(agent, what)
        result = Runner.run_streamed(agent, what)
        async for _ in result.stream_events():
            pass
        return result

    result = await go("pay both")
    seen = [[r.output.output_info for r in result.tool_input_guardrail_results]]
    while result.interruptions:
        state = result.to_state()
        state.approve(state.get_interruptions()[0])
        result = await go(state)
        seen.append([r.output.output_info for r in result.tool_input_guardrail_results])
    return seen


async def main():
    print(json.dumps({"plain": await told(False), "streamed": await told(True)}))


asyncio.run(main())
