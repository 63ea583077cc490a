"""Asking live objects: rules of `agentproof._recorder.snapshots`."""

import asyncio
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentproof._recorder import answering, snapshots
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
    began = time.monotonic()
    with pytest.raises(snapshots.StalledError, match="no answer"):
        snapshots.ask(threading.Event().wait)
    assert time.monotonic() - began < 1


@_forks
@pytest.mark.parametrize("wait", [lambda: asyncio.sleep(5), lambda: asyncio.Event().wait()])
def test_a_coroutine_that_would_wait_says_so_at_once(
    journal: Journal, wait: Callable[[], Awaitable[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "STALL", 30.0)  # whatever else this machine does
    began = time.monotonic()
    with pytest.raises(snapshots.StalledError, match="waits for a thread"):
        snapshots.ask(lambda: answering.complete(wait))
    assert time.monotonic() - began < 4


@_forks
def test_a_coroutine_that_hands_its_work_to_a_thread_is_answered(journal: Journal) -> None:
    async def work() -> list[object]:
        await asyncio.sleep(0.001)
        return [await asyncio.to_thread(str.upper, "done"), await asyncio.to_thread(os.getpid) != here]

    here = os.getpid()
    assert snapshots.ask(lambda: answering.complete(work)) == ["DONE", True]


def test_children_cost_a_twentieth_of_the_time_or_fifty_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(snapshots, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    budget = snapshots.Budget()
    budget.asked = 0.049
    assert budget.is_left()
    budget.asked = 0.051
    assert not budget.is_left()
    clock[0] += 2
    assert budget.is_left()
    with budget, budget:
        clock[0] += 0.5
    assert budget.spent == 0.5


@_forks
def test_a_file_that_the_script_has_open_does_not_grow_there(journal: Journal, tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab", buffering=0) as log:
        with pytest.raises(snapshots.UnavailableError):
            snapshots.ask(lambda: log.write(b"asked\n"))
        log.write(b"own\n")
    assert (tmp_path / "log").read_bytes() == b"own\n"


@_forks
def test_idle_workers_are_no_obstacle_and_a_thread_at_work_is(journal: Journal) -> None:
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
def test_a_worker_that_hands_over_what_it_found_is_no_obstacle(journal: Journal) -> None:
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


def _stay(go_on: threading.Event) -> None:
    while not go_on.is_set():
        sum(range(10_000))


@_forks
def test_a_thread_that_works_on_holds_the_one_that_asks_once_and_for_a_moment(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    monkeypatch.setattr(snapshots, "_is_patient", True)

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr(snapshots, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    go_on = threading.Event()
    thread = threading.Thread(target=_stay, args=(go_on,))
    held = []
    thread.start()
    for _ in range(4):
        began = clock[0]
        assert not snapshots.can_fork()
        held.append(clock[0] - began)
    go_on.set()
    thread.join()
    assert held[0] <= 0.3  # while the thread began
    assert max(held[1:]) <= 0.002


@_forks
@pytest.mark.parametrize(("target", "doing"), [(_stay, "at work"), (threading.Event.wait, "idle")])
def test_a_thread_at_work_is_told_from_one_that_waits(
    target: Callable[[threading.Event], object], doing: str
) -> None:
    go_on = threading.Event()
    thread = threading.Thread(target=target, args=(go_on,))
    thread.start()
    try:
        deadline = time.monotonic() + 10
        while snapshots._others() != doing and time.monotonic() < deadline:
            time.sleep(0.001)
        assert snapshots._others() == doing
    finally:
        go_on.set()
        thread.join()


@_forks
def test_a_thread_that_waits_with_a_lock_in_its_hand_is_believed_once(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "STALL", 0.1)
    monkeypatch.setattr(snapshots, "_trusted", snapshots._IDLE)
    lock, go_on, holds = threading.Lock(), threading.Event(), threading.Event()

    def wait() -> None:
        with lock:
            holds.set()
            go_on.wait()

    def question() -> str:
        with lock:
            return "answered"

    thread = threading.Thread(target=wait)
    thread.start()
    holds.wait()
    try:
        for words in ("no answer", "at work", "at work"):
            with pytest.raises(snapshots.UnavailableError, match=words):
                snapshots.ask(question)
    finally:
        go_on.set()
        thread.join()
    assert snapshots.ask(question) == "answered"


@_forks
def test_the_child_reaches_no_process_by_what_is_open(journal: Journal, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    mine, other = socket.socketpair()
    mine.setblocking(False)
    with mine, other, select.epoll() as poll, (tmp_path / "log").open("a+b", buffering=0) as log:
        log.write(b"kept")
        poll.register(reading, select.EPOLLIN)

        def question() -> list[object]:
            os.write(writing, b"asked")
            os.write(other.fileno(), b"asked")
            changed = False
            try:
                poll.unregister(reading)
                changed = True
            except OSError:
                pass
            return [changed, log.seek(0), log.read().decode()]

        assert snapshots.ask(question) == [False, 0, "kept"]
        with pytest.raises(BlockingIOError):
            mine.recv(10)
        os.write(writing, b"own")
        assert [event for _, event in poll.poll(1)] == [select.EPOLLIN]
        assert os.read(reading, 20) == b"own"
    os.close(reading)
    os.close(writing)


@_forks
def test_an_answer_comes_through_a_high_descriptor(journal: Journal) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 1200:
        pytest.skip("this machine allows few descriptors")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    held = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while held[-1] < 1030:
            held.append(os.dup(held[0]))
        assert snapshots.ask(lambda: "answered") == "answered"
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@_forks
def test_what_interrupts_the_wait_for_an_answer_ends_the_child(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ring(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    earlier = signal.signal(signal.SIGALRM, ring)
    monkeypatch.setattr(snapshots, "STALL", 30.0)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            snapshots.ask(threading.Event().wait)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)
    assert time.monotonic() - began < 10
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


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
