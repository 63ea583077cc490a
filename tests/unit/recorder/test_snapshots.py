"""Asking live objects: rules of `agentproof._recorder.snapshots`."""

import os
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentproof._recorder import snapshots
from agentproof._recorder.events import Journal

IN_WORKER = "PYTEST_XDIST_WORKER" in os.environ
"""A worker of pytest-xdist has a thread of its own, so no child may be forked there."""

_forks = pytest.mark.skipif(
    not hasattr(os, "fork") or IN_WORKER, reason="no child can be forked here; run in a process of their own"
)


@pytest.mark.skipif(not IN_WORKER, reason="the tests below run here themselves")
def test_the_tests_below_pass_in_a_process_of_their_own() -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


@_forks
def test_the_answer_comes_from_a_child_and_nothing_changes_here(journal: Journal) -> None:
    live = {"log": [1]}

    def question() -> object:
        live["log"].append(2)
        return {"log": live["log"], "elsewhere": os.getpid() != here}

    here = os.getpid()
    assert snapshots.ask(question) == {"log": [1, 2], "elsewhere": True}
    assert live == {"log": [1]}


@_forks
def test_a_long_answer_arrives_whole(journal: Journal) -> None:
    assert snapshots.ask(lambda: "x" * 1_000_000) == "x" * 1_000_000


@_forks
def test_a_question_that_fails_is_unavailable(journal: Journal) -> None:
    with pytest.raises(snapshots.UnavailableError, match="ZeroDivisionError"):
        snapshots.ask(lambda: 1 // 0)
    with pytest.raises(snapshots.UnavailableError, match="no answer"):
        snapshots.ask(lambda: os._exit(0))


@_forks
def test_a_question_that_never_ends_is_unavailable(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "TIMEOUT", 0.05)
    with pytest.raises(snapshots.UnavailableError, match="no answer"):
        snapshots.ask(threading.Event().wait)


@_forks
def test_a_file_that_the_script_has_open_does_not_grow_there(journal: Journal, tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab", buffering=0) as log:
        with pytest.raises(snapshots.UnavailableError):
            snapshots.ask(lambda: log.write(b"asked\n"))
        log.write(b"own\n")
    assert (tmp_path / "log").read_bytes() == b"own\n"


@_forks
def test_idle_workers_are_no_obstacle_and_a_thread_at_work_is(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_LONG_PATIENCE", 0.01)
    monkeypatch.setattr(snapshots, "_patience", 0.3)
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        while not go_on.is_set():
            sum(range(10_000))

    with ThreadPoolExecutor(2) as pool:
        pool.submit(int).result()
        assert snapshots.ask(lambda: "answered") == "answered"
        pool.submit(work)
        begun.wait()
        try:
            with pytest.raises(snapshots.UnavailableError, match="at work"):
                snapshots.ask(lambda: "answered")
        finally:
            go_on.set()


@_forks
def test_a_worker_that_hands_over_what_it_found_is_no_obstacle(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_LONG_PATIENCE", 0.01)
    monkeypatch.setattr(snapshots, "_patience", 0.01)
    told, go_on = threading.Event(), threading.Event()

    def hear(_: object) -> None:  # called by the worker, inside of `set_result`
        told.set()
        while not go_on.is_set():
            sum(range(10_000))

    with ThreadPoolExecutor(1) as pool:
        begin = threading.Event()
        future = pool.submit(begin.wait)
        future.add_done_callback(hear)
        begin.set()
        told.wait()
        try:
            assert snapshots.ask(lambda: "answered") == "answered"
        finally:
            go_on.set()


@_forks
def test_forking_does_not_bring_back_a_warning_that_was_shown(journal: Journal) -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")

        def warn() -> None:
            warnings.warn("once", UserWarning, stacklevel=1)

        warn()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()
            snapshots.ask(lambda: None)
        warn()
        assert [str(each.message) for each in shown] == ["once"]


@_forks
def test_attributes_that_a_question_sets_are_put_back() -> None:
    class State:
        kept = None

    state = State()
    state.marker = 1  # type: ignore[attr-defined]
    gone = state.items = [1]  # type: ignore[attr-defined]
    with snapshots.put_back(state):
        state.marker = 2  # type: ignore[attr-defined]
        state.new = 3  # type: ignore[attr-defined]
        del state.items  # type: ignore[attr-defined]
    assert vars(state) == {"marker": 1, "items": gone}


@_forks
def test_a_logger_is_silent_for_a_moment_only(caplog: pytest.LogCaptureFixture) -> None:
    import logging  # noqa: PLC0415  # the recorder too imports it only here

    logger = logging.getLogger("tests.quiet")
    with snapshots.quiet_logging("tests.quiet"):
        logger.warning("unheard")
    logger.warning("heard")
    assert [record.message for record in caplog.records] == ["heard"]
