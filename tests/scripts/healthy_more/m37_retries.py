"""Model calls that fail and that the SDK tries again: with hooks, a session, tools and streams."""
import asyncio

from agents import Agent, AgentHooks, ModelRetrySettings, ModelSettings, RunHooks, Runner, SQLiteSession

from scripted import Scripted, add, attempt, call, say

again = ModelSettings(
    retry=ModelRetrySettings(max_retries=2, policy=lambda context: True, backoff={"initial_delay": 0.0})
)
seen = []


class Hooks(RunHooks):
    async def on_llm_start(self, context, agent, system_prompt, input_items):
        seen.append("start")

    async def on_llm_end(self, context, agent, response):
        seen.append("end")


class Own(AgentHooks):
    async def on_llm_start(self, context, agent, system_prompt, input_items):
        seen.append("own start")


def flaky(*turns):
    return Agent(name="flaky", model=Scripted(*turns), tools=[add], model_settings=again, hooks=Own())


async def go(streamed, agent, session=None):
    if not streamed:
        return await Runner.run(agent, "add", hooks=Hooks(), session=session)
    result = Runner.run_streamed(agent, "add", hooks=Hooks(), session=session)
    async for _ in result.stream_events():
        pass
    return result


async def main():
    down = ConnectionError("reset")
    for streamed in (False, True):
        turns = [[down, [call("add", {"a": 1, "b": 1}, "c1")], down, down, [say("two")]], [[say("first")], down, [say("next")]]]
        for answers in turns:
            session = SQLiteSession(f"s{streamed}{len(answers)}")
            await session.add_items([{"role": "user", "content": "before"}])
            result = await go(streamed, flaky(*answers), session)
            print(result.final_output, len(await session.get_items()), result.context_wrapper.usage.input_tokens)
        try:
            await go(streamed, flaky(down, down, down))
        except ConnectionError:
            print("down")
    nested = flaky(down, [say("in")])
    outer = Agent(name="outer", model=Scripted([call("ask", {"input": "x"}, "o1")], [say("out")]),
                  tools=[nested.as_tool("ask", "d")])
    await attempt(outer, "go")
    print(sorted(set(seen)))


asyncio.run(main())
