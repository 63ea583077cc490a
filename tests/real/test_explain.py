"""`explain` on real wheels: the shared object and its line, and what it refuses."""

import json
from pathlib import Path

import pytest

from agentproof.environment import interpreters
from agentproof.errors import AgentproofError
from agentproof.models.explanation import Explanation
from tests.command import agentproof

ROOT = Path(__file__).parents[2]
SIBLING = ROOT / "bundles" / "sibling-approval" / "0.20.0"

pytestmark = [pytest.mark.real, pytest.mark.slow]

TRACING = """# /// script
# dependencies = ["openai-agents==0.20.0"]
# ///
import asyncio
import sys

from agents import Agent, Model, Runner

seen = []
sys.settrace(lambda frame, event, argument: seen.append(event))
sys.settrace(None)
sys.settrace(lambda frame, event, argument: None)


class Failing(Model):
    async def get_response(self, *args, **kwargs):
        raise ValueError("no")

    async def stream_response(self, *args, **kwargs):
        raise ValueError("no")
        yield


try:
    asyncio.run(Runner.run(Agent(name="a", model=Failing()), "go"))
except ValueError:
    pass
"""

RANDOM = """
import os

for _ in range(1 + os.urandom(1)[0] % 100):
    try:
        asyncio.run(Runner.run(Agent(name="a", model=Failing()), "go"))
    except ValueError:
        pass
"""


@pytest.fixture(scope="module")
def two_releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sibling-approval on 0.20.0 with 0.21.0."""
    place = tmp_path_factory.mktemp("explain") / "cause.json"
    done = agentproof("explain", SIBLING, "--with", "0.21.0", "--output", place, "--quiet")
    assert done.returncode == 0, done.stderr
    return place


def test_the_shared_object_and_the_line_that_shares_it_are_named(two_releases: Path) -> None:
    told = Explanation.from_bytes(two_releases.read_bytes())
    shared = next(each for each in told.shared if each.pointer.startswith("/context/approvals"))
    assert {"S1._context", "S2._context"} <= {*shared.paths}
    assert any(each.function == "RunResult.to_state" for each in shared.held)
    assert any("_approvals[" in each.text for each in shared.written)


def test_at_most_five_functions_are_named_with_lines_of_both_sides(two_releases: Path) -> None:
    told = Explanation.from_bytes(two_releases.read_bytes())
    assert 0 < len(told.functions) <= 5
    assert 0 < told.ran < told.changed
    place = next(each for each in told.functions if each.function == "RunResult.to_state")
    assert {line.side for line in place.lines} == {"bundle", "other"}
    first = place.lines[0]
    assert told.link(first) == (
        f"https://github.com/openai/openai-agents-python/blob/v0.20.0/src/{first.file}#L{first.line}"
    )


def test_what_it_wrote_is_checked_against_the_wheels(two_releases: Path, tmp_path: Path) -> None:
    assert agentproof("explain", SIBLING, "--check", two_releases).returncode == 0
    told = json.loads(two_releases.read_bytes())
    told["shared"][0]["held"][0]["text"] += " # forged"
    forged = tmp_path / "forged.json"
    forged.write_bytes(Explanation.from_shape(told).to_bytes())
    done = agentproof("explain", SIBLING, "--check", forged)
    assert done.returncode == 1
    assert "# forged" in done.stdout


def test_every_step_has_its_place_in_the_script_and_the_sdk(two_releases: Path) -> None:
    done = agentproof("show", SIBLING, "--where", two_releases)
    assert done.returncode == 0, done.stderr
    assert "reproduction.py:" in done.stdout
    assert "→ " in done.stdout


def test_an_issue_has_a_section_of_it(two_releases: Path) -> None:
    done = agentproof("report", SIBLING, "--cause", two_releases)
    assert done.returncode == 0, done.stderr
    assert "### Where in the SDK" in done.stdout


def test_a_bundle_that_shows_nothing_needs_another_release() -> None:
    done = agentproof("explain", SIBLING.with_name("0.21.0"))
    assert done.returncode == 2
    assert "--with VERSION" in done.stderr


def test_a_script_that_shows_something_else_each_time_is_not_explained(tmp_path: Path) -> None:
    script = tmp_path / "random.py"
    once = TRACING.partition("try:")[0]
    script.write_text(once + RANDOM)
    archive = tmp_path / "random.agentproof.zip"
    agentproof("record", script, "--output", archive, "--quiet")
    assert archive.exists()
    done = agentproof("explain", archive, "--with", "0.21.0", "--quiet")
    assert done.returncode == 4
    assert "other evidence" in done.stderr


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12"])
def test_a_trace_function_of_the_script_wins_before_3_12(tmp_path: Path, version: str) -> None:
    try:
        interpreters.find(version)
    except AgentproofError:
        pytest.skip(f"no Python {version} here")
    script = tmp_path / "tracing.py"
    script.write_text(TRACING)
    archive = tmp_path / "tracing.agentproof.zip"
    done = agentproof("record", script, "--output", archive, "--python", version, "--quiet")
    assert done.returncode == 0, done.stderr
    done = agentproof("explain", archive, "--with", "0.21.0", "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    notes = " ".join(json.loads(done.stdout).get("notes", []))
    assert ("trace function" in notes) == (version != "3.12")
    assert json.loads(done.stdout)["executed"] if version == "3.12" else True


@pytest.mark.parametrize(
    ("other", "said"),
    [("0.20.0", "--with 0.20.0 is the bundle's own wheel"), ("99.9", "no openai-agents==99.9")],
)
def test_a_release_that_cannot_be_compared_is_refused_before_anything_runs(other: str, said: str) -> None:
    done = agentproof("explain", SIBLING, "--with", other)
    assert done.returncode != 0
    assert said in done.stderr
    assert "\n  next: " in done.stderr
    assert "  replayed" not in done.stderr
    assert "  ran " not in done.stderr
