"""Handlers of signals and the recorder's work: rules of `agentproof._recorder.interrupts`."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentproof._recorder import interrupts
from agentproof._recorder.events import Journal, guarded, watching

signal_module: Any = sys.modules["_signal"]


class RangError(Exception):
    """What the script's handler raises."""


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("signal", "getsignal"):
        monkeypatch.setattr(signal_module, name, getattr(signal_module, name))
    earlier = signal.getsignal(signal.SIGUSR1)
    interrupts.install()
    yield
    signal.signal(signal.SIGUSR1, earlier)


def _ring(number: int, frame: Any) -> None:
    raise RangError(frame.f_code.co_name)


def _interrupt() -> None:
    os.kill(os.getpid(), signal.SIGUSR1)


def test_the_script_sees_the_handlers_that_it_set() -> None:
    for handler in (_ring, signal.SIG_DFL, signal.SIG_IGN, _ring):
        signal.signal(signal.SIGUSR1, handler)
        assert signal.getsignal(signal.SIGUSR1) is handler
    assert signal.signal(signal.SIGUSR1, signal.SIG_DFL) is _ring
    with pytest.raises(TypeError, match="must be signal"):
        signal.signal(signal.SIGUSR1, "no handler")  # type: ignore[arg-type]


def test_outside_of_the_recorder_a_handler_runs_at_once() -> None:
    signal.signal(signal.SIGUSR1, _ring)
    with pytest.raises(RangError, match="_interrupt"):
        _interrupt()


def test_what_a_handler_raises_in_the_middle_of_the_recorders_work_reaches_the_script(
    journal: Journal, told: Callable[[], list[dict[str, Any]]]
) -> None:
    done = []

    @guarded("probe")
    def work() -> None:
        _interrupt()
        journal.emit("first", {})
        done.append("work")

    def script() -> None:
        work()
        done.append("never")

    signal.signal(signal.SIGUSR1, _ring)
    with pytest.raises(RangError) as raised:
        script()
    assert raised.value.__context__ is None

    def block() -> None:
        with watching("states"):
            _interrupt()
            done.append("block")

    with pytest.raises(RangError):
        block()
    assert done == ["work", "block"]
    assert [event["kind"] for event in told()] == ["first"]


def test_a_fault_of_the_recorders_own_does_not_swallow_a_handler(
    journal: Journal, told: Callable[[], list[dict[str, Any]]]
) -> None:
    @guarded("probe")
    def broken() -> None:
        _interrupt()
        raise ZeroDivisionError

    signal.signal(signal.SIGUSR1, _ring)
    with pytest.raises(RangError):
        broken()
    assert [event["kind"] for event in told()] == ["recorder.failed"]


def test_an_event_is_written_whole_or_not_at_all(
    journal: Journal, told: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = journal._write

    def interrupted(line: str) -> None:
        _interrupt()
        write(line)

    signal.signal(signal.SIGUSR1, _ring)
    monkeypatch.setattr(journal, "_write", interrupted)
    for _ in range(3):
        with pytest.raises(RangError):
            journal.emit("x", {})
    names = [event["n"] for event in told()]
    assert [event["after"] for event in told()] == [[], *([name] for name in names[:-1])]


def test_each_of_several_handlers_runs() -> None:
    rung: list[int] = []

    def note(number: int, frame: object) -> None:
        rung.append(number)
        raise RangError

    signal.signal(signal.SIGUSR1, note)

    def work() -> None:
        with interrupts.Held():
            with interrupts.Held():
                _interrupt()
            _interrupt()
            assert rung == []

    with pytest.raises(RangError):
        work()
    assert rung == [signal.SIGUSR1, signal.SIGUSR1]


def test_work_in_another_thread_holds_nothing_back() -> None:
    signal.signal(signal.SIGUSR1, _ring)
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        with interrupts.Held():
            begun.set()
            go_on.wait()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    try:
        with pytest.raises(RangError):
            _interrupt()
    finally:
        go_on.set()
        thread.join()
