"""The pytest plugin in environments of its own: bundles on the installed SDK, and tests that fail there."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentproof.bundle.store import read_bundle
from agentproof.models.manifest import Manifest
from tests.workflow import ROOT

pytestmark = [pytest.mark.real, pytest.mark.slow]

SCRIPTED = """
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from agents import Model, ModelResponse, Usage


def call():
    return ResponseFunctionToolCall(
        id="fc_1", call_id="call_1", type="function_call", name="pay", arguments='{"amount": 100}'
    )


def say(text):
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="msg_1", type="message", role="assistant", status="completed", content=[part]
    )


class Scripted(Model):
    def __init__(self, *answers):
        self.answers = list(answers)

    async def get_response(self, *args, **kwargs):
        usage = Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15)
        return ModelResponse(output=[self.answers.pop(0)], usage=usage, response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError
"""

CONFTEST = """
import pytest

from scripted import Scripted


@pytest.fixture
def model():
    return Scripted
"""

TESTS = """
import asyncio

from scripted import call, say

from agents import Agent, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)
PAID = []


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    PAID.append(amount)
    return f"paid {amount}"


def test_only_the_approved_state_pays(model, agentproof):
    async def main():
        agent = Agent(name="clerk", model=model(call(), say("Paid.")), tools=[pay])
        paused = await Runner.run(agent, "Pay 100.")
        decided, untouched = paused.to_state(), paused.to_state()
        decided.approve(decided.get_interruptions()[0])
        await Runner.run(agent, untouched)

    asyncio.run(main())
    assert agentproof.check.bundle("nothing was paid", PAID == [])


def test_of_something_else():
    assert 1 == 2
"""

INI = """
[pytest]
addopts = --strict-markers --agentproof-record-failures out
filterwarnings = error
"""


@dataclass(frozen=True)
class Environment:
    """A venv with the SDK, pytest and agentproof, as a project has them."""

    place: Path

    def pytest(self, directory: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [str(self.place / "bin" / "pytest"), "-q", "-p", "no:cacheprovider", *arguments],
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    place = tmp_path_factory.mktemp("venv")
    _uv("venv", "--quiet", "--python", sys.executable, str(place))
    _install(place, "openai-agents==0.20.0", "pytest", str(ROOT))
    return Environment(place)


def _install(place: Path, *requirements: str) -> None:
    _uv("pip", "install", "--quiet", "--python", str(place / "bin" / "python"), *requirements)


def _uv(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", *arguments], check=True, capture_output=True)


def test_a_test_of_one_s_own_becomes_a_bundle_when_it_fails(environment: Environment, tmp_path: Path) -> None:
    files = {"scripted.py": SCRIPTED, "conftest.py": CONFTEST, "test_pay.py": TESTS}
    (tmp_path / "tests").mkdir()
    for name, text in files.items():
        (tmp_path / "tests" / name).write_text(text)
    (tmp_path / "pytest.ini").write_text(INI)
    done = environment.pytest(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed" in done.stdout
    (archive,) = (tmp_path / "out").iterdir()
    assert archive.name == "tests-test_pay-test_only_the_approved_state_pays.agentproof.zip"
    said = "tool pay ran for call_1; the resumed state S2 held no approval"
    assert f"approval-respected (as-written and streamed): {said}" in done.stdout
    manifest = Manifest.from_bytes(read_bundle(archive).manifest)
    assert manifest.reproduction.tests == ("tests/test_pay.py::test_only_the_approved_state_pays",)
    assert manifest.target.version == "0.20.0"
    assert "pytest" in {package.name for package in manifest.environment.packages}
    violated = {claim.id for claim in manifest.judgement.claims if claim.status == "violated"}
    assert {"approval-respected", "state-integrity", "nothing was paid"} <= violated


def test_committed_bundles_fail_on_the_release_that_has_the_bug_and_pass_on_the_next(
    environment: Environment, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "bundles" / "sibling-approval", tmp_path / "bundles" / "sibling-approval")
    target = ("bundles/", "--agentproof-target", "installed")
    done = environment.pytest(tmp_path, *target)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout
    assert "violated on openai-agents 0.20.0" in done.stdout
    for claim in ("approval-respected", "state-integrity"):
        assert f"{claim} (as-written and streamed): " in done.stdout
    _install(environment.place, "openai-agents==0.21.0")
    done = environment.pytest(tmp_path, *target)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
