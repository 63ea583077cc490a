"""Ask live objects without touching them: in a forked child that answers through a pipe.

A child may be forked while this process has one thread, or others that only wait for work (idle
workers of a thread pool hold no lock). The parent stays as it was by construction. Otherwise the
caller asks in this process and puts back what the question changed. Standard library only.
"""

import contextlib
import gc
import json
import linecache
import os
import select
import sys
import threading
import time
import warnings
from typing import Any, Callable, Iterator, List, Optional

from .events import journal

_leave = os._exit  # before anything else can take its place

TIMEOUT = 20.0
_CHUNK = 1 << 16
_LONG_PATIENCE = 0.3
_SHORT_PATIENCE = 0.01
_patience = _LONG_PATIENCE
"""How long a thread at work is waited for: once one stays at work, hardly at all, so that the script is
not slowed."""

forking = False
"""True while the recorder itself forks."""

in_child = False
"""True in a child that only answers; the audit hook lets it change nothing outside itself."""


class UnavailableError(Exception):
    """No child could be asked, or it gave no answer."""


def can_fork() -> bool:
    """True when a child forked now is sound.

    A worker that has just begun or ended its work is given a moment; without it, what is observed would
    depend on how fast this machine is.
    """
    global _patience
    if not hasattr(os, "fork"):
        return False
    deadline = time.monotonic() + _patience
    while not _others_are_idle():
        if time.monotonic() >= deadline:
            _patience = _SHORT_PATIENCE
            return False
        time.sleep(0.0005)
    _patience = _LONG_PATIENCE
    return True


def _others_are_idle() -> bool:
    try:
        threads = len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count() == 1
    if threads == 1:
        return True
    frames = sys._current_frames()
    mine = threading.get_ident()
    # A thread that Python does not know (of a C library) may hold any lock.
    return len(frames) == threads and all(
        name == mine or _waits_for_work(frame) for name, frame in frames.items()
    )


_IDLE = (
    ("_worker", ("concurrent", "futures", "thread.py")),
    ("_run", ("agents", "tracing", "processors.py")),
    ("run", ("aiosqlite", "core.py")),
    ("_connection_worker_thread", ("aiosqlite", "core.py")),
    ("wait", ("threading.py",)),
)
"""Functions in which a thread waits without holding a lock."""


def _waits_for_work(frame: Any) -> bool:
    code = frame.f_code
    return any(
        code.co_name == name and code.co_filename.endswith(os.path.join(*file)) for name, file in _IDLE
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

    Without `may_write` no file that the script has open can grow there.

    Raises:
        UnavailableError: the child could not be forked, failed, or did not answer in time.
    """
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
        data = _read_all(reading, child)
    finally:
        os.close(reading)
        with contextlib.suppress(ChildProcessError):  # a SIGCHLD handler of the script may have reaped it
            os.waitpid(child, 0)
    if not data:
        raise UnavailableError("the child gave no answer")
    answer = json.loads(data)
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
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        if not may_write:
            _forbid_growing_files()
        try:
            text = json.dumps({"answer": question()})
        except BaseException as error:
            text = json.dumps({"error": "{}: {}".format(type(error).__name__, str(error)[:300])})
        data = text.encode("utf-8")
        while data:
            data = data[os.write(writing, data) :]
    finally:
        _leave(0)


def _forbid_growing_files() -> None:
    """A callback of the script that is asked here must not write to files that the script has open."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    except (ImportError, ValueError, OSError):
        return


def _read_all(reading: int, child: int) -> bytes:
    parts: List[bytes] = []
    deadline = time.monotonic() + TIMEOUT
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(child, 9)
            return b""
        part = os.read(reading, _CHUNK)
        if not part:
            return b"".join(parts)
        parts.append(part)


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
