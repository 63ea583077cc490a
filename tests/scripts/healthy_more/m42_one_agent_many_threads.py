"""Threads that share an agent, each with `run_sync`, beside a thread that only waits."""
import threading
from concurrent.futures import ThreadPoolExecutor

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool

from scripted import call, say


@function_tool
def shout(word: str) -> str:
    return word.upper()


class Shouter(Model):
    async def get_response(self, system_instructions, input, *args, **kwargs):
        word = input[0]["content"]
        outputs = [item["output"] for item in input if item.get("type") == "function_call_output"]
        done = say(outputs[0], id=f"msg_{word}") if outputs else call("shout", {"word": word}, f"call_{word}")
        return ModelResponse(output=[done], usage=Usage(requests=1), response_id=None)

    async def stream_response(self, *args, **kwargs):
        raise NotImplementedError
        yield


agent = Agent(name="shouter", model=Shouter(), tools=[shout])
over = threading.Event()
waiter = threading.Thread(target=over.wait)
waiter.start()
with ThreadPoolExecutor(4) as pool:
    print(sorted(pool.map(lambda word: Runner.run_sync(agent, word).final_output, "abcdef")))
over.set()
waiter.join()
