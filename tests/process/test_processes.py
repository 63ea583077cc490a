"""Workers of a matrix end with the command: told alone, with its group as by a terminal, or killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

if os.name != "posix":
    pytest.skip("Windows has no such signals", allow_module_level=True)

ROOT = Path(__file__).parents[2]
JOB = """
import os, time
from pathlib import Path

def job(name):
    place = Path(os.environ["PLACE"])
    (place / f"{name}-began").touch()
    try:
        time.sleep(60)
    finally:
        (place / f"{name}-cleaned-up").touch()
"""
PROGRAM = """
import sys, time
from agentproof.compare import executors
from agentproof.system import signals
from job import job

if __name__ == "__main__":
    signals.end_at_once()
    signals.clean_up_first()
    with executors.processes(2) as pool, pool.make() as executor:
        for number in range(int(sys.argv[1])):
            executor.submit(job, str(number))
        time.sleep(60)
"""


def _wait(condition: Callable[[], object]) -> None:
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail("30 seconds were not enough")


def _groups(leader: int) -> list[Path]:
    """Processes of the session of `leader` that still run."""
    found = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = each.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has just ended
            continue
        if int(session) == leader and state != "Z":
            found.append(each)
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc which processes run")
@pytest.mark.parametrize("jobs", [1, 4], ids=["one idle", "more wait"])
@pytest.mark.parametrize(
    ("number", "whom"),
    [
        (signal.SIGINT, "group"),
        (signal.SIGINT, "command"),
        (signal.SIGTERM, "command"),
        (signal.SIGKILL, "command"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_workers_clean_up_and_leave_and_take_no_further_job(
    tmp_path: Path, number: signal.Signals, whom: str, jobs: int
) -> None:
    (tmp_path / "job.py").write_text(JOB)
    (tmp_path / "program.py").write_text(PROGRAM)
    # What a shell runs in the background has Ctrl-C ignored, and that is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "program.py", str(jobs)],
            cwd=tmp_path,
            env=os.environ | {"PLACE": str(tmp_path), "PYTHONPATH": f"{ROOT}:{tmp_path}"},
            stderr=said,
            start_new_session=True,
        )
    began = min(jobs, 2)
    try:
        _wait(lambda: len(list(tmp_path.glob("*-began"))) == began)
        if whom == "group":
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        process.wait(30)
        _wait(lambda: not _groups(process.pid))
    finally:
        for each in _groups(process.pid):
            os.kill(int(each.parent.name), signal.SIGKILL)
    assert len(list(tmp_path.glob("*-began"))) == began
    assert len(list(tmp_path.glob("*-cleaned-up"))) == began
    # What is told is the command's own, and nothing where it was killed: no traceback of a worker.
    assert (tmp_path / "said").read_text().count("Traceback") <= (number == signal.SIGINT)
