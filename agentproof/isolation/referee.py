"""Stdlib only, runs in the launcher: what no filter can decide, since it sees numbers and no files.

The filter stops a few calls and asks the supervisor (seccomp_unotify(2), Linux 5.5):

    locks     a lock on a file of the run's own is taken. Nobody within can write any other file, so a
              shared lock on one is granted without being taken; an exclusive one cannot be had (ENOLCK)
    tuning    limits and priorities: for the script's own processes
    signals   the same, where Landlock does not scope them (before Linux 6.12)

A descriptor may be exchanged by another thread between the look and the lock; docs/security/isolation.md
says so. Numbers of processes are arguments, which nobody can exchange.
"""

import fcntl
import os
import struct

from .filter import SIGNALLING, TUNING, TUNING_KIND
from .syscalls import Kernel

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing costs 5 ms
    from collections.abc import Callable

    from .confine import Plan

_RECEIVE, _ANSWER, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_NOTICE = struct.Struct("=QIIiIQ6Q")  # struct seccomp_notif
_REPLY = struct.Struct("=QqiI")  # struct seccomp_notif_resp
_CONTINUE = 1
_EPERM, _ENOLCK = 1, 37
_LOCK_EX = 2


class Referee:
    """Answers for one run."""

    def __init__(
        self, kernel: Kernel, plan: "Plan", listener: int, own_processes: "Callable[[], list[int]]"
    ) -> None:
        self.listener = listener
        self._own_processes = own_processes
        # Paths are the same within and without.
        self._own = [os.path.realpath(each) for each in plan["lockable"]]
        self._other = [os.path.realpath(each) for each in plan["shared"]]
        named = ((*SIGNALLING, *TUNING), 0), ([name for name, _, _ in TUNING_KIND], 1)
        self._process_of = {kernel.number(name): place for names, place in named for name in names}
        self._flock = kernel.number("flock")

    def answer(self) -> None:
        """Answer the call that waits, if it still does."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, notice, True)
        except OSError:
            return  # it was interrupted, or its process is gone
        identity, task, _, number, _, _, *arguments = _NOTICE.unpack(notice)
        error = self._decide(task, number, arguments)
        try:
            # A number that was looked at may be another process's by now.
            fcntl.ioctl(self.listener, _IS_VALID, struct.pack("=Q", identity))
            flags = _CONTINUE if error is None else 0
            fcntl.ioctl(self.listener, _ANSWER, _REPLY.pack(identity, 0, -(error or 0), flags))
        except OSError:
            pass  # as above

    def _decide(self, task: int, number: int, arguments: "list[int]") -> int | None:
        """None: as the kernel does; else the error, 0 for success."""
        place = self._process_of.get(number)
        if place is not None:
            return None if self._is_own(_signed(arguments[place])) else _EPERM
        try:
            path = os.readlink(f"/proc/{task}/fd/{arguments[0] & 0xFFFFFFFF}")
        except OSError:
            return None  # no descriptor, or the task is gone
        if not path.startswith("/") or self._is_lockable(path):
            return None
        # An exclusive one of fcntl's needs a descriptor that writes, which nobody has here.
        return _ENOLCK if number == self._flock and arguments[1] & _LOCK_EX else 0

    def _is_own(self, process: int) -> bool:
        """Whether this process, or the group that it leads, is the script's."""
        return self._leader(abs(process)) in self._own_processes()

    def _leader(self, task: int) -> int:
        try:
            with open(f"/proc/{task}/status", "rb") as stream:
                return next(int(line.split()[1]) for line in stream if line.startswith(b"Tgid:"))
        except (OSError, StopIteration):
            return task

    def _is_lockable(self, path: str) -> bool:
        """Whether the nearest place that holds it is the run's own."""
        return self._nearest(path, self._own) > self._nearest(path, self._other)

    @staticmethod
    def _nearest(path: str, places: "list[str]") -> int:
        return max((len(each) for each in places if path == each or path.startswith(f"{each}/")), default=0)


def _signed(argument: int) -> int:
    value = argument & 0xFFFFFFFF
    return value - (value >> 31 << 32)
