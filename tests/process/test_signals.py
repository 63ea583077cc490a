"""How a command ends on a signal: before its work at once, during it with everything cleaned up."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

if os.name != "posix":
    pytest.skip("Windows has no such signals", allow_module_level=True)

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, signal, sys
from agentproof.system import signals, temporary
if sys.argv[3:]:
    signal.signal(signal.Signals(int(sys.argv[2])), signal.SIG_IGN)
signals.end_at_once()
if sys.argv[1] == "starting":
    try:
        os.kill(os.getpid(), int(sys.argv[2]))
    finally:
        print("went on")
    sys.exit(0)
signals.clean_up_first()
with temporary.directory("test") as base:
    try:
        os.kill(os.getpid(), int(sys.argv[2]))
    finally:
        print("cleaning up")
print("went on")
"""


def run(tmp_path: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    # What a shell runs in the background has Ctrl-C ignored, what nohup runs its end, and that is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_only_starts_ends_at_once(tmp_path: Path, number: signal.Signals) -> None:
    done = run(tmp_path, "starting", int(number))
    assert (done.returncode, done.stdout, done.stderr) == (-number, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_at_work_cleans_up_first(tmp_path: Path, number: signal.Signals) -> None:
    done = run(tmp_path, "working", int(number))
    assert done.stdout == "cleaning up\n"
    assert done.returncode == (-number if number == signal.SIGINT else 128 + number)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("phase", ["starting", "working"])
def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path, phase: str) -> None:
    done = run(tmp_path, phase, int(signal.SIGHUP), "ignored")
    assert done.returncode == 0
    assert "went on" in done.stdout


def test_nothing_is_changed_within_another_program() -> None:
    from agentproof.render import console  # noqa: PLC0415  (what a command begins its work with)

    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with console.TerminalProgress(quiet=True):
        assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
