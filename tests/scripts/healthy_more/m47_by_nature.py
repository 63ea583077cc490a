"""Values that are another in each run: tokens, keys, moments, names, addresses."""
import asyncio
import datetime
import secrets
import tempfile
import time
import uuid

from agents import Agent, Runner, function_tool

from scripted import Scripted, call, say


@function_tool
def stamp(request: str, at: float) -> str:
    return f"{request} at {datetime.datetime.now(datetime.timezone.utc).isoformat()}"


async def handle(request, token, key, begun, folder):
    answer = [call("stamp", {"request": request, "at": begun}, f"call_{token}")]
    agent = Agent(name="a", model=Scripted(answer, [say("stamped")]), tools=[stamp])
    result = await Runner.run(agent, f"{request} with {token} of {folder}, {object()!r}")
    print(result.final_output, int(begun))


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(
        handle(str(uuid.uuid4()), secrets.token_hex(16), secrets.token_bytes(24), time.time(), folder)
    )
