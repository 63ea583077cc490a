"""What an exception tells of the input guardrails that ran."""
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


from agents import GuardrailFunctionOutput, InputGuardrailTripwireTriggered, input_guardrail


@input_guardrail(run_in_parallel=False)
async def polite(context, agent, given):
    return GuardrailFunctionOutput(output_info="polite", tripwire_triggered=False)


@input_guardrail(run_in_parallel=False)
async def short(context, agent, given):
    await asyncio.sleep(0.05)
    return GuardrailFunctionOutput(output_info="too long", tripwire_triggered=True)


async def told(streamed):
    agent = Agent(name="a", model=Script([text("hello")]), input_guardrails=[polite, short])
    try:
        if streamed:
            async for _ in Runner.run_streamed(agent, "hi").stream_events():
                pass
        else:
            await Runner.run(agent, "hi")
    except InputGuardrailTripwireTriggered as error:
        return [result.output.output_info for result in error.run_data.input_guardrail_results]
    return "not blocked"


async def main():
    print(json.dumps({"plain": await told(False), "streamed": await told(True)}))


asyncio.run(main())
