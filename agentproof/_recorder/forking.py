"""One process a mode: forked at the end of the script's own import of the SDK (standard library only).

Forking is sound while the process has one thread, no running loop, no child of its own, and has
written nothing that both modes would share. Otherwise the process goes on as the plan's first mode
and says why; the host then starts another one.
"""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from typing import List, Optional

from . import audit, processes, snapshots
from .events import journal
from .plan import Plan


class Streams:
    """Where the script's stdout and stderr go: a file of each in the control directory."""

    def __init__(self, plan: Plan, mode: str) -> None:
        self._plan = plan
        self.redirect(mode)

    def redirect(self, mode: str) -> None:
        """Point descriptors 1 and 2 at the files of `mode`."""
        for descriptor, name in ((1, "stdout"), (2, "stderr")):
            path = self._path(mode, name)
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(opened, descriptor)
            if opened != descriptor:
                os.close(opened)

    def copy(self, mode: str, other: str) -> None:
        """Begin the files of `other` with what is in those of `mode`."""
        for name in ("stdout", "stderr"):
            with open(self._path(mode, name), "rb") as source, open(self._path(other, name), "wb") as target:
                target.write(source.read())

    def _path(self, mode: str, name: str) -> str:
        return os.path.join(self._plan.control, "{}.{}".format(mode, name))


def enter_work(plan: Plan, mode: str) -> None:
    """Make the mode's working directory the current one, with its temporary directory inside.

    Tests are run in the reproduction's root, as pytest is.
    """
    work = plan.work[mode]
    temporary = os.path.join(work, "tmp")
    os.makedirs(temporary, exist_ok=True)
    os.chdir(plan.root if plan.tests else work)
    os.environ["TMPDIR"] = temporary
    tempfile.tempdir = None


def why_not() -> Optional[str]:
    """Why the process cannot be forked now; None when it can."""
    if not hasattr(os, "fork"):
        return "this platform has no fork"
    if asyncio._get_running_loop() is not None:
        return "the SDK was imported inside of a running event loop"
    if audit.seen.started is not None:
        return "the script had started a process before it imported the SDK"
    if audit.seen.written is not None:
        return "the script had written a file before it imported the SDK"
    try:
        threads = len(os.listdir("/proc/self/task"))
    except OSError:
        return "the number of threads is not known on this platform"
    if threads != 1:
        return "the script had started a thread before it imported the SDK"
    return None


def split(plan: Plan, streams: Streams) -> str:
    """Fork one child a mode and return, in each child, its mode. The parent waits and ends here."""
    first = plan.modes[0]
    if len(plan.modes) == 1:
        return first
    why = why_not()
    if why is not None:
        _tell_unforked(plan, why)
        return first
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the script may have put anything in its place
            stream.flush()
    children: List[int] = []
    with audit.Unwatched():
        for mode in plan.modes[1:]:
            streams.copy(first, mode)
            journal().copy(mode)
        for mode in plan.modes:
            try:
                child = snapshots.fork()
            except OSError as error:
                if children:
                    raise  # the modes that run already end by themselves; the host sees what is missing
                _tell_unforked(plan, "fork: {}".format(error.strerror))
                return first
            if child == 0:
                streams.redirect(mode)
                journal().move(mode)
                enter_work(plan, mode)
                return mode
            children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return processes.leave(0)


def _tell_unforked(plan: Plan, why: str) -> None:
    path = os.path.join(plan.control, "unforked.json")
    with audit.Unwatched(), open(path + ".part", "w", encoding="utf-8") as stream:
        json.dump({"why": why}, stream)
    os.replace(path + ".part", path)
