"""Hooks, callbacks, tracebacks and spans: who calls the script, how often and with what."""

import asyncio
import threading
import traceback
import warnings

import agents
from agents import Agent, AgentHooks, RunConfig, RunHooks, Runner, function_tool, set_tracing_disabled
from agents.tracing import TracingProcessor, set_trace_processors
from scripted import Scripted, call, say

asked = []


class Log(RunHooks):
    def __init__(self):
        self.lines = []

    async def on_tool_start(self, context, agent, tool):
        self.lines.append("start " + tool.name)
        await super().on_tool_start(context, agent, tool)

    async def on_tool_end(self, context, agent, tool, result):
        self.lines.append("end " + tool.name)

    async def on_agent_end(self, context, agent, output):
        self.lines.append("agent end " + str(output))


class Own(AgentHooks):
    async def on_start(self, context, agent):
        asked.append("own start")


class Spans(TracingProcessor):
    def __init__(self):
        self.ended = []

    def on_trace_start(self, trace):
        pass

    def on_trace_end(self, trace):
        pass

    def on_span_start(self, span):
        pass

    def on_span_end(self, span):
        self.ended.append((span.span_data.type, span.error is not None))

    def shutdown(self):
        pass

    def force_flush(self):
        pass


@function_tool
def echo(text: str) -> str:
    return text


async def hooks():
    log = Log()
    agent = Agent(
        name="a", model=Scripted([call("echo", "e1", text="x")], [say("done")]), tools=[echo], hooks=Own()
    )
    await Runner.run(agent, "go", hooks=log)
    return log.lines, asked


async def tracebacks():
    @function_tool(failure_error_function=None)
    def breaks() -> str:
        raise ValueError("broken")

    agent = Agent(name="a", model=Scripted([call("breaks", "b1")]), tools=[breaks])
    for start in (Runner.run, None):
        try:
            if start is not None:
                await start(agent, "go")
            else:
                agent.model = Scripted([call("breaks", "b1")])
                result = Runner.run_streamed(agent, "go")
                async for _ in result.stream_events():
                    pass
        except Exception:
            names = [line.strip() for line in traceback.format_exc().splitlines() if line.startswith("  File")]
            print("\n".join(name.rpartition("/")[2] for name in names))


async def spans():
    processor = Spans()
    set_tracing_disabled(False)
    set_trace_processors([processor])
    try:
        agent = Agent(name="a", model=Scripted(ValueError("model down")))
        try:
            await Runner.run(agent, "go")
        except ValueError:
            pass
        await Runner.run(Agent(name="b", model=Scripted([say("done")])), "go")
    finally:
        set_tracing_disabled(True)
        set_trace_processors([])
    return sorted(processor.ended)


async def approvals():
    try:

        async def needs(context, arguments, call_id):
            asked.append((arguments, call_id))
            return arguments["amount"] > 10

        @function_tool(needs_approval=needs)
        def pay(amount: int) -> str:
            return f"paid {amount}"

    except TypeError:
        return "this release has no approvals"
    asked.clear()
    turns = [call("pay", "p1", amount=5), call("pay", "p2", amount=50)]
    agent = Agent(name="a", model=Scripted(turns, [say("done")]), tools=[pay])
    paused = await Runner.run(agent, "go")
    state = paused.to_state()
    state.approve(state.get_interruptions()[0])
    resumed = await Runner.run(agent, state)
    return resumed.final_output, asked


async def enabled():
    asked.clear()

    def is_enabled(context, agent):
        asked.append("enabled?")
        return True

    try:

        @function_tool(is_enabled=is_enabled)
        def sometimes() -> str:
            return "yes"

    except TypeError:
        return "this release has no is_enabled"
    agent = Agent(name="a", model=Scripted([call("sometimes", "s1")], [say("done")]), tools=[sometimes])
    await Runner.run(agent, "go")
    return asked


async def warned():
    def warn():
        warnings.warn("shown once", UserWarning, stacklevel=1)

    for _ in range(2):
        warn()
        agent = Agent(name="a", model=Scripted([say("done")]))
        await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
    return "warned"


async def in_threads():
    seen = []

    def work():
        seen.append(Runner.run_sync(Agent(name="t", model=Scripted([say("from a thread")])), "go").final_output)

    thread = threading.Thread(target=work)
    thread.start()
    await asyncio.to_thread(thread.join)
    return seen


async def parallel():
    @function_tool
    async def wait(n: int) -> str:
        await asyncio.sleep(0.005 * n)
        return f"waited {n}"

    turns = [call("wait", f"w{number}", n=(number * 7) % 5) for number in range(5)]
    turns += [call("echo", f"e{number}", text=str(number)) for number in range(3)]
    runs = [
        Runner.run(Agent(name=f"p{number}", model=Scripted(turns, [say("done")]), tools=[wait, echo]), "go")
        for number in range(2)
    ]
    results = await asyncio.gather(*runs)
    return [[item.output for item in result.new_items if hasattr(item, "output")] for result in results]


async def main():
    print(agents.__name__)
    for case in (hooks, tracebacks, spans, approvals, enabled, warned, in_threads, parallel):
        try:
            print(case.__name__, await case())
        except Exception as error:
            print(case.__name__, "raised", type(error).__name__, str(error)[:150])
