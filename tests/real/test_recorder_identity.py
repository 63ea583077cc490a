"""What a script prints and how it ends is the same with and without the recorder, on every release.

One script goes through every surface that the recorder hooks (`tests/scripts/surfaces`): tools, agents
as tools, handoffs, RunStates and their JSON, streams, sessions, hooks, callbacks, tracebacks, threads.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from agentproof.environment import interpreters, locking, venv, wheel_store
from agentproof.errors import CannotDoError
from tests.unit.recorder.driver import Recorded, bare, record

pytestmark = [pytest.mark.real, pytest.mark.slow]

SCRIPTS = Path(__file__).parents[1] / "scripts" / "surfaces"
RELEASES = ("0.2.0", "0.8.0", "0.14.0", "0.19.4", "0.20.0", "0.21.0", "0.22.3", "0.24.0")
PYTHON = "3.12"


@contextmanager
def environment(version: str, python: str) -> Iterator[venv.PreparedEnvironment]:
    """A venv with the release as of its own day."""
    try:
        interpreter = interpreters.find(python)
    except CannotDoError as error:
        pytest.skip(str(error))
    store = wheel_store.default_store()
    lock = locking.lock(requirement=f"openai-agents=={version}", interpreter=interpreter, store=store)
    with venv.prepare(lock, store) as prepared:
        yield prepared


def compare(version: str, python: str, script: Path, work: Path) -> Recorded:
    """Run `script` bare and recorded, in one mode; they must print and end alike."""
    with ExitStack() as stack:
        prepared = stack.enter_context(environment(version, python))
        expected = bare(script, work, python=prepared.python, cache=prepared.pycache_prefix)
        recorded = record(
            script,
            work,
            python=prepared.python,
            site_packages=prepared.site_packages,
            cache=prepared.pycache_prefix,
        )["as-written"]
    assert recorded.stream("stdout").decode() == expected.stdout.decode()
    assert _without_paths(recorded.stream("stderr"), work) == _without_paths(expected.stderr, work)
    assert recorded.exit_code == expected.exit_code
    return recorded


def _without_paths(stream: bytes, work: Path) -> str:
    return stream.decode().replace(str(work / "work-as-written"), "W").replace(str(work / "work-bare"), "W")


@pytest.mark.parametrize("version", RELEASES)
def test_the_recorder_does_not_show_in_what_a_script_prints(version: str, tmp_path: Path) -> None:
    recorded = compare(version, PYTHON, SCRIPTS / "everything.py", tmp_path)
    assert recorded.of("recorder.failed") == []
    assert recorded.of("script.ended")[0]["code"] == 3
    assert recorded.end["conduct"]["changed"] == []
    expected = {"callbacks.py", "everything.py", "scripted.py", "sessions.py", "states.py", "streams.py"}
    assert set(recorded.end["files"]) == {*expected, "tools.py", "words.txt"}
    # 34 on 0.2.0, which has no RunState to go on from; 60 and more since 0.8.0.
    assert len(recorded.of("run.started")) == len(recorded.of("run.ended")) > 30


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.13"])
def test_it_does_not_show_on_other_pythons(python: str, tmp_path: Path) -> None:
    recorded = compare("0.20.0", python, SCRIPTS / "everything.py", tmp_path)
    assert recorded.of("recorder.failed") == []
    assert bool(recorded.of("body.started")) == (python >= "3.12")
