"""A recording that is killed, at any moment and in any way, leaves nothing after the next one."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentproof.errors import CannotDoError
from agentproof.isolation import control
from agentproof.isolation.sandbox import Level
from tests.sandboxed import Environment, choice, make_environment, run_script

pytestmark = [pytest.mark.real, pytest.mark.slow]

if sys.platform != "linux":
    pytest.skip("what is left is looked for in Linux's /proc", allow_module_level=True)

ROOT = Path(__file__).parents[2]
VICTIM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests behind itself
from pathlib import Path
from tests.sandboxed import Environment, choice, run_script
print("ready", flush=True)
while True:
    environment, held = Environment(Path({venv!r})), choice({level!r})
    run_script({source!r}, environment, Path({case!r}), isolation=held, repeats=2)
"""
SCRIPT = """
import os, subprocess, time
os.mkdir("shut")
os.chmod("shut", 0)
subprocess.Popen(["/bin/sleep", "600"], start_new_session=True)
time.sleep(0.3)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return make_environment(tmp_path_factory.mktemp("environment"))


def left_by(process: int) -> list[str]:
    """Directories of a run, and processes that live in one."""
    mark = f"agentproof-tmp-run-{process}-"
    found = [each for each in os.listdir(control._places()[0]) if each.startswith(mark)]
    for each in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if each.name.isdigit() and mark.encode() in (each / "environ").read_bytes():
                found.append(f"{each.name} {(each / 'cmdline').read_bytes()[:200]!r}")
    return found


def start_victim(environment: Environment, case: Path, level: Level) -> "subprocess.Popen[bytes]":
    source = VICTIM.format(source=SCRIPT, venv=str(environment.prefix), case=str(case), level=level)
    victim = subprocess.Popen(
        [sys.executable, "-c", source], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert victim.stdout is not None
    assert victim.stdout.readline() == b"ready\n"
    return victim


@pytest.mark.parametrize("level", ["namespace", "seccomp"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_is_left_of_a_killed_recording(
    environment: Environment, tmp_path: Path, level: Level, number: signal.Signals
) -> None:
    choice(level)
    randomness = random.Random(f"{level}{number}")  # noqa: S311  (moments, not secrets)
    for round_ in range(int(os.environ.get("AGENTPROOF_TEST_KILLS", "3"))):
        with start_victim(environment, tmp_path / "case", level) as victim:
            time.sleep(randomness.uniform(0, 0.8))
            victim.send_signal(number)
            try:
                victim.wait(20)
            finally:
                victim.kill()
        # The launchers notice the death of their runner and clean up; the next recording sweeps the rest.
        deadline = time.monotonic() + 5
        while left_by(victim.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        run_script("pass", environment, tmp_path / "next")
        assert left_by(victim.pid) == [], round_


@pytest.mark.parametrize("level", ["namespace", "seccomp"])
def test_nothing_is_left_when_the_launchers_are_killed_with_it(
    environment: Environment, tmp_path: Path, level: Level
) -> None:
    choice(level)
    with start_victim(environment, tmp_path / "case", level) as victim:
        deadline = time.monotonic() + 20
        while len(left_by(victim.pid)) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        children = Path(f"/proc/{victim.pid}/task/{victim.pid}/children").read_text().split()
        victim.kill()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        victim.wait(20)
    run_script("pass", environment, tmp_path / "next")
    assert left_by(victim.pid) == []


@pytest.mark.parametrize("level", ["namespace", "seccomp"])
def test_a_launcher_that_is_killed_alone_is_no_evidence(
    environment: Environment, tmp_path: Path, level: Level
) -> None:
    held = choice(level)
    mine = os.getpid()

    def kill_the_launcher(_: str) -> None:
        for child in Path(f"/proc/{mine}/task/{mine}/children").read_text().split():
            if b"marshal" in Path(f"/proc/{child}/cmdline").read_bytes():
                os.kill(int(child), signal.SIGKILL)

    with pytest.raises(CannotDoError, match="launcher ended early"):
        run_script(
            "import time\ntime.sleep(60)", environment, tmp_path, isolation=held, progress=kill_the_launcher
        )
    assert left_by(mine) == []
