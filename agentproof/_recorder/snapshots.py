"""Ask live objects without touching them: in a forked child that answers through a pipe.

1. A child may be forked while this process has one thread, or others that only wait for work (idle
   workers of a thread pool hold no lock). The parent stays as it was by construction. Otherwise the
   caller asks in this process and puts back what the question changed.
2. The thread that asks, which may be that of an event loop, is held for at most `STALL` seconds by one
   question, whatever the question does, and a child that would have to wait says so at once (`answering`).
3. Children cost the script at most a twentieth of its time (`Budget`); then none is asked for a session
   or a result.

Standard library only.
"""

import contextlib
import gc
import json
import linecache
import os
import select
import signal
import stat
import sys
import threading
import time
import warnings
from typing import Any, Callable, Iterator, List, Optional, Tuple

from . import answering
from .events import journal

_leave = os._exit  # before anything else can take its place

STALL = 0.045
"""Seconds for one question, with all that it takes to ask it."""
_BUSY = 0.03
"""Seconds of processor time that a child may use up. One that has not got them within `STALL`, and waits for
nothing, is held up by a busy machine and not by what it was asked: it is waited for up to `_BUSY_STALL`."""
_BUSY_STALL = 1.0
_CHUNK = 1 << 16
_PATIENCE = {"settling": 0.02, "at work": 0.005}
"""How long other threads are waited for, by what they do. A thread that has nothing to do but to start, to
end, or to take its next work needs microseconds, and all of this only on a machine that is very busy."""
_NO_PATIENCE = 0.001
"""The same until they have been seen idle again: a script with a thread that works on is not slowed."""
_is_patient = True

forking = False
"""True while the recorder itself forks."""

in_child = False
"""True in a child that only answers; the audit hook lets it change nothing outside itself."""


class UnavailableError(Exception):
    """No child could be asked, or it gave no answer."""


class StalledError(UnavailableError):
    """The question would have had to wait: asked again, it would again."""


class Budget:
    """What was spent on looking, and how much of the script's time children may cost.

    What the SDK itself says of a state in this process is counted but not held to it: evidence must not
    depend on how fast a machine is.
    """

    LEAST = 0.05
    SHARE = 0.05

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._depth = 0
        self._since = 0.0
        self.spent = 0.0
        """Seconds that the script's threads were held in all."""
        self.asked = 0.0
        """Of these, for the sake of children."""

    def __enter__(self) -> None:
        if self._depth == 0:
            self._since = time.monotonic()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.spent += time.monotonic() - self._since

    @property
    def passed(self) -> float:
        """Seconds since this process began to run the script."""
        return time.monotonic() - self._began

    def is_left(self) -> bool:
        """True while another child may be asked."""
        return self.asked < max(self.LEAST, self.SHARE * self.passed)


budget = Budget()


def can_fork() -> bool:
    """True when a child forked now is sound.

    A worker that has just begun or ended its work is given a moment; without it, what is observed would
    depend on how fast this machine is.
    """
    global _is_patient
    if not hasattr(os, "fork"):
        return False
    began = time.monotonic()
    while True:
        doing = _others()
        if doing == "idle":
            _is_patient = True
            return True
        if time.monotonic() - began >= (_PATIENCE[doing] if _is_patient else _NO_PATIENCE):
            _is_patient = False
            return False
        time.sleep(0.0005)


def _others() -> str:
    """What the other threads do: they are "idle", some are "settling", or some are "at work"."""
    try:
        threads = len(os.listdir("/proc/self/task"))
    except OSError:
        return "idle" if threading.active_count() == 1 else "at work"
    if threads == 1:
        return "idle"
    frames = sys._current_frames()
    if len(frames) != threads:
        return "at work"  # a thread that Python does not know (of a C library) may hold any lock
    mine = threading.get_ident()
    busy = [frame for name, frame in frames.items() if name != mine and not _waits_for_work(frame)]
    if not busy:
        return "idle"
    return "settling" if all(_is_between(frame) for frame in busy) else "at work"


def _is_between(frame: Any) -> bool:
    """True for a thread that has not begun what it is for, has ended it, or looks for the next."""
    while frame is not None:
        if frame.f_code.co_filename not in _OF_THREADS:
            return False
        frame = frame.f_back
    return True


_OF_THREADS = (
    threading.__file__,
    os.path.join(os.path.dirname(threading.__file__), "concurrent", "futures", "thread.py"),
    os.path.join(os.path.dirname(threading.__file__), "concurrent", "futures", "_base.py"),
)


_IDLE = (
    ("_worker", ("concurrent", "futures", "thread.py")),
    ("_run", ("agents", "tracing", "processors.py")),
    ("run", ("aiosqlite", "core.py")),
    ("_connection_worker_thread", ("aiosqlite", "core.py")),
    ("wait", ("threading.py",)),
)
"""Functions in which a thread waits and, but for the last, holds no lock."""
_trusted: Tuple[Tuple[str, Tuple[str, ...]], ...] = _IDLE
"""A thread that waits for an event of the script's may hold a lock all the while. Once a child that was
forked beside such threads did not answer, they are taken to be at work."""


def _waits_for_work(frame: Any) -> bool:
    code = frame.f_code
    return any(
        code.co_name == name and code.co_filename.endswith(os.path.join(*file)) for name, file in _trusted
    ) or _hands_over(frame)


_DELIVERING = (".set_result(", ".set_exception(")


def _hands_over(frame: Any) -> bool:
    """True for a worker that has done its work and tells so.

    Whoever waits for it may go on before it is idle again; on a busy machine, long before.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_name == "run" and code.co_filename.endswith(os.path.join("futures", "thread.py")):
            line = linecache.getline(code.co_filename, frame.f_lineno)
            return any(word in line for word in _DELIVERING)
        frame = frame.f_back
    return False


def ask(question: Callable[[], Any], *, may_write: bool = False) -> Any:
    """What `question()` gives in a child, as JSON data.

    What the question may call of the script's own (the `get_items` of a session, validators of arguments)
    can do little in the child: it starts nothing, changes no file by name, signals nobody, and holds
    nothing in the place of the sockets and pipes that the script has open. Without `may_write` no file
    that the script has open can grow there either. Shared memory, locks on files and, where the script has
    a loopback of its own, new connections are left to it.

    Raises:
        StalledError: the child would have had to wait, or did not answer in time.
        UnavailableError: the child could not be forked, or failed.
    """
    began = time.monotonic()
    with budget:
        try:
            return _asked(question, may_write, began)
        finally:
            budget.asked += time.monotonic() - began


def _asked(question: Callable[[], Any], may_write: bool, began: float) -> Any:
    if not can_fork():
        raise UnavailableError("other threads are at work")
    reading, writing = os.pipe()
    try:
        child = fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        raise UnavailableError("fork: {}".format(error.strerror)) from error
    if child == 0:
        _answer(question, reading, writing, may_write)
    os.close(writing)
    try:
        data = _read_all(reading, child, began)
    except BaseException:  # Ctrl-C; handlers of the script's wait (`interrupts`)
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(reading)
        with contextlib.suppress(ChildProcessError):  # a SIGCHLD handler of the script may have reaped it
            os.waitpid(child, 0)
    if not data:
        raise UnavailableError("the child gave no answer")
    answer = json.loads(data)
    if "stalled" in answer:
        raise StalledError(str(answer["stalled"]))
    if "error" in answer:
        raise UnavailableError(str(answer["error"]))
    return answer["answer"]


def fork() -> int:
    """Fork for the recorder's own ends.

    CPython 3.12 and newer warn about other threads. The list of filters is exchanged for a moment:
    `catch_warnings` would reset the registries that decide whether a warning of the script's is shown
    again.
    """
    global forking
    filters = warnings.filters
    warnings.filters = [("ignore", None, DeprecationWarning, None, 0), *filters]
    forking = True
    try:
        return os.fork()
    finally:
        forking = False
        warnings.filters = filters


def _answer(question: Callable[[], Any], reading: int, writing: int, may_write: bool) -> None:
    global in_child
    try:
        in_child = True
        gc.disable()
        journal().silence()
        os.close(reading)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        _let_go_of_others(nothing, writing)
        if not may_write:
            _forbid_growing_files()
        try:
            text = json.dumps({"answer": question()})
        except answering.WouldWait as error:
            text = json.dumps({"stalled": str(error)})
        except BaseException as error:
            text = json.dumps({"error": "{}: {}".format(type(error).__name__, str(error)[:300])})
        data = text.encode("utf-8")
        while data:
            data = data[os.write(writing, data) :]
    finally:
        _leave(0)


def _let_go_of_others(nothing: int, writing: int) -> None:
    """Put `nothing` in the place of what reaches other processes or is shared with this one's parent:
    sockets, pipes, and what has no name (an event loop's epoll)."""
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        return
    for descriptor in map(int, names):
        if descriptor in (nothing, writing):
            continue
        with contextlib.suppress(OSError):  # the listing's own
            if stat.S_IFMT(os.fstat(descriptor).st_mode) in (stat.S_IFSOCK, stat.S_IFIFO, 0):
                os.dup2(nothing, descriptor)


def _forbid_growing_files() -> None:
    """A callback of the script that is asked here must not write to files that the script has open."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    except (ImportError, ValueError, OSError):
        return


def _read_all(reading: int, child: int, began: float) -> bytes:
    global _trusted
    parts: List[bytes] = []
    deadline = began + STALL
    waiting = select.poll()  # `select` refuses descriptors above 1,023
    waiting.register(reading, select.POLLIN)
    while True:
        if not waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
            if time.monotonic() < began + _BUSY_STALL and _is_held_up(child):
                deadline = time.monotonic() + 0.005
                continue
            os.kill(child, signal.SIGKILL)
            if threading.active_count() > 1:
                _trusted = _IDLE[:-1]
            raise StalledError("the child gave no answer in time")
        part = os.read(reading, _CHUNK)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _is_held_up(child: int) -> bool:
    """True for a child that has work, and has not got the processor to do it."""
    try:
        opened = os.open("/proc/{}/stat".format(child), os.O_RDONLY)
        try:
            fields = os.read(opened, _CHUNK).rpartition(b")")[2].split()
        finally:
            os.close(opened)
        ticks = int(fields[11]) + int(fields[12])
        return fields[0] in (b"R", b"D") and ticks / os.sysconf("SC_CLK_TCK") < _BUSY
    except (OSError, ValueError, IndexError):
        return False


@contextlib.contextmanager
def quiet_logging(name: str) -> Iterator[None]:
    """Keep a logger silent while the recorder asks in this process."""
    import logging

    logger = logging.getLogger(name)
    disabled = logger.disabled
    logger.disabled = True
    filters = warnings.filters
    warnings.filters = [("ignore", None, Warning, None, 0), *filters]
    try:
        yield
    finally:
        logger.disabled = disabled
        warnings.filters = filters


@contextlib.contextmanager
def put_back(target: Optional[object]) -> Iterator[None]:
    """Restore the attributes of `target` that a question changed."""
    held = getattr(target, "__dict__", None)
    if not isinstance(held, dict):
        yield
        return
    before = dict(held)
    try:
        yield
    finally:
        for name, item in before.items():
            if name not in held or held[name] is not item:
                held[name] = item
        for name in [name for name in held if name not in before]:
            del held[name]
