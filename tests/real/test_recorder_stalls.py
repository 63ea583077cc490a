"""What a session does when it is looked at holds the script up by some milliseconds, whatever that is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentproof.environment import venv
from tests.real.test_recorder_identity import environment
from tests.unit.recorder.driver import Recorded, record

pytestmark = [pytest.mark.real, pytest.mark.slow]

SCRIPT = """
import asyncio, json, threading, time

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)


class Yes(Model):
    async def get_response(self, *args, **kwargs):
        text = ResponseOutputText(type="output_text", text="yes", annotations=[])
        message = ResponseOutputMessage(
            id="msg_1", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[message], usage=Usage(requests=1), response_id=None)

    async def stream_response(self, *args, **kwargs):
        raise NotImplementedError
        yield


class Stuck:
    '''Answers the SDK at once, and nobody else ever.'''

    session_id = "stuck"

    def __init__(self):
        self.items = []

    async def get_items(self, limit=None):
        if not asked_by_the_sdk:
            %s
        return list(self.items)

    async def add_items(self, items):
        self.items += items

    async def pop_item(self):
        return self.items.pop() if self.items else None

    async def clear_session(self):
        self.items.clear()


async def main():
    session = Stuck()
    begun = time.perf_counter()
    for number in range(4):
        await Runner.run(Agent(name="a", model=Yes()), f"text {number}", session=session)
    print(json.dumps({"items": len(session.items), "took": time.perf_counter() - begun}))


import os

parent = os.getpid()


class _Asked:
    def __bool__(self):
        return os.getpid() == parent


asked_by_the_sdk = _Asked()
asyncio.run(main())
"""

WAYS = {
    "sleeps": "await asyncio.sleep(60)",
    "waits for an event": "await asyncio.Event().wait()",
    "blocks": "time.sleep(60)",
    "waits for a thread": "threading.Event().wait()",
    "works": "while True: pass",
}


@pytest.fixture(scope="module")
def prepared() -> Iterator[venv.PreparedEnvironment]:
    """A venv with one release."""
    with environment("0.24.0", "3.12") as found:
        yield found


def _recorded(source: str, prepared: venv.PreparedEnvironment, work: Path) -> Recorded:
    script = work / "root" / "script.py"
    script.parent.mkdir()
    script.write_text(source)
    return record(
        script,
        work,
        python=prepared.python,
        site_packages=prepared.site_packages,
        cache=prepared.pycache_prefix,
    )["as-written"]


@pytest.mark.parametrize("way", WAYS)
def test_a_session_that_never_answers_is_asked_once(
    way: str, prepared: venv.PreparedEnvironment, tmp_path: Path
) -> None:
    found = _recorded(SCRIPT % WAYS[way], prepared, tmp_path)
    assert found.of("recorder.failed") == []
    assert found.exit_code == 0
    assert [event.get("session_after") for event in found.of("run.ended")] == [None] * 4
    whats = [gap["what"] for gap in found.end["coverage"]]
    assert "Stuck contents" in whats
    # One question, and what a busy machine adds; before, it was 20 seconds for each.
    assert found.end["observed_ms"] < 1500


REFUSED = """
import asyncio
from agents import Agent, Runner


async def main():
    try:
        Runner.run_sync(Agent(name="a"), "inside of a loop")
    except RuntimeError as error:
        print(type(error).__name__)


asyncio.run(main())
"""


def test_an_entry_point_that_raises_before_a_run_begins_is_told(
    prepared: venv.PreparedEnvironment, tmp_path: Path
) -> None:
    found = _recorded(REFUSED, prepared, tmp_path)
    (refused,) = found.of("run.refused")
    assert (refused["entry"], refused["agent"]) == ("Runner.run_sync", "a")
    assert refused["error"]["type"] == "builtins:RuntimeError"
    assert found.of("run.started") == []
