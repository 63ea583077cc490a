"""How often a trace is started when a run is paused and resumed."""
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


from agents import add_trace_processor, set_trace_processors
from agents.tracing import TracingProcessor

set_tracing_disabled(False)
log = []


class Log(TracingProcessor):
    def on_trace_start(self, trace):
        log.append(("start", trace.trace_id))

    def on_trace_end(self, trace):
        log.append(("end", trace.trace_id))

    def on_span_start(self, span):
        pass

    def on_span_end(self, span):
        pass

    def shutdown(self):
        pass

    def force_flush(self):
        pass


set_trace_processors([Log()])


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    return "paid"


async def main():
    agent = Agent(name="till", tools=[pay],
                  model=Script([tool_call("pay", amount=5)], [text("done")]))
    state = (await Runner.run(agent, "pay 5")).to_state()
    state.approve(state.get_interruptions()[0])
    result = await Runner.run(agent, state)
    ids = list(dict.fromkeys(id for _, id in log))
    print(json.dumps({"output": result.final_output,
                      "trace": [[what, ids.index(id)] for what, id in log]}))


asyncio.run(main())
