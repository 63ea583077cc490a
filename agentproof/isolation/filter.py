"""Stdlib only, runs in the launcher: the filter of system calls (seccomp(2), linux/filter.h).

It sees numbers: which call, and its arguments, but nothing that these point to. What needs a look is asked
of the supervisor (`referee`).
"""

import ctypes
import os
import struct

from .confine import NAMESPACES
from .syscalls import ENOSYS, NEWEST, Kernel, StepError

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing costs 5 ms
    import _socket
    from collections.abc import Sequence

Instruction = tuple[int, int, int, int]

PR_SET_SECCOMP = 22
REFUSED = (
    *("unshare", "setns", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "keyctl", "add_key"),
    *("request_key", "bpf", "perf_event_open", "userfaultfd", "fanotify_init", "inotify_add_watch"),
    *("inotify_init1", "open_by_handle_at", "move_pages", "migrate_pages", "process_madvise"),
    "process_mrelease",
)
"""Calls that no script needs and that reach past the sandbox or widen the kernel's surface."""
UNKNOWN = (
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "pidfd_getfd"),
    # Memory that belongs to no process, so that no limit counts it; it may outlive them all.
    *("shmget", "shmat", "shmdt", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd"),
    *("msgrcv", "msgctl", "mq_open", "mq_unlink", "memfd_create", "memfd_secret"),
)
"""Calls that look as if the kernel did not have them, so that programs go on without."""
XATTRS = tuple(
    f"{prefix}{verb}xattr" for verb in ("set", "get", "list", "remove") for prefix in ("", "l", "f")
)
"""Landlock does not hold them; they look as on a file system that has none (`shutil` goes on)."""
CONNECTING = ("connect", "bind", "listen")
"""What makes of one half of a pair a socket that reaches others."""

SIGNALLING = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open")
"""Calls whose first argument names a process to be acted on (Landlock scopes signals from Linux 6.12)."""
TUNING = ("prlimit64", "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_setattr")
"""Calls whose first argument names a process; 0 is the caller. Nothing but the user holds them."""
TUNING_KIND = (("setpriority", 0, 2), ("ioprio_set", 1, 3))
"""Calls whose first argument says what the second one names: a process, or (last) all of a user's."""

F_SETLK, F_SETLKW, F_SETOWN, F_SETSIG, F_SETOWN_EX, F_OFD_SETLK, F_OFD_SETLKW = 6, 7, 8, 10, 15, 37, 38
F_SETLEASE, F_NOTIFY = 1024, 1026
LOCKING = (F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW)
REFUSED_FCNTL = (F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY)
"""Signals to whoever is named, and news of who uses a file."""
REFUSED_IOCTL = (0x5412, 0x541C, 0x8901, 0x8902, 0x40086602, 0x40046602, 0x401C5820)
"""TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP, FS_IOC_SETFLAGS (64 and 32 bits), FS_IOC_FSSETXATTR."""

SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER = 1, 8
SOL_SOCKET, SCM_RIGHTS = 1, 1

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
SOCK_DGRAM = 2
EPERM, EACCES, ENOTSUP = 1, 13, 95


_LOAD, _EQUAL, _ANY_BIT, _FROM, _ANSWER = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _REFUSE, _ASK = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
_NUMBER, _ARCH, _FIRST, _SECOND, _THIRD, _FIFTH = 0, 4, 16, 24, 32, 48
"""Offsets into struct seccomp_data; of each argument the lower half."""


def seccomp_program(
    kernel: Kernel, *, namespace: bool, protected: "Sequence[int]" = (), asked: "Sequence[str]" = ()
) -> bytes:
    """The filter, as classic BPF.

    Without a PID namespace the processes and groups in `protected` cannot be signalled, and no process
    but the caller can be tuned. Of the calls in `asked` the supervisor decides: `locks`, `tuning`, `signals`.
    """
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, kernel.number("audit_arch")),
        (_ANSWER, 0, 0, _KILL),  # another ABI has other numbers (i386 on x86-64)
        (_LOAD, 0, 0, _NUMBER),
        (_FROM, 0, 1, NEWEST + 1),  # x32 too
        (_ANSWER, 0, 0, _REFUSE | ENOSYS),
    ]
    for names, error in ((UNKNOWN, ENOSYS), (REFUSED, EPERM), (XATTRS, ENOTSUP)):
        for name in names:
            program += _refused(kernel, name, error)
    program += _descriptors(kernel, asked)
    if protected:
        program += _signals(kernel, protected, asked)
    program += _tuning_of_own(kernel) if namespace else _tuning(kernel, asked)
    if not namespace:
        program += _pairs(kernel)
    program += _only(
        kernel,
        "clone",
        (_LOAD, 0, 0, _FIRST),
        (_ANY_BIT, 0, 1, NAMESPACES),  # a user namespace would give capabilities
        (_ANSWER, 0, 0, _REFUSE | EPERM),
        (_ANSWER, 0, 0, _ALLOW),
    )
    program += _sockets(kernel, namespace=namespace)
    return b"".join(struct.pack("HBBI", *each) for each in program)


def _only(kernel: Kernel, name: str, *tests: Instruction) -> list[Instruction]:
    """`tests` for this call alone; they end with an answer."""
    return [(_EQUAL, 0, len(tests), kernel.number(name)), *tests]


def _refused(kernel: Kernel, name: str, error: int) -> list[Instruction]:
    return _only(kernel, name, (_ANSWER, 0, 0, _REFUSE | error))


def _any_of(values: "Sequence[int]", result: int, *otherwise: Instruction) -> list[Instruction]:
    """`result` where what was loaded is one of `values`, else what follows, else allowed."""
    rest = otherwise or ((_ANSWER, 0, 0, _ALLOW),)
    last = len(values) + len(rest) - 1
    found = [(_EQUAL, last - place, 0, value & 0xFFFFFFFF) for place, value in enumerate(values)]
    return [*found, *rest, (_ANSWER, 0, 0, result)]


def _descriptors(kernel: Kernel, asked: "Sequence[str]") -> list[Instruction]:
    """Locks are asked about; news of others' doings and signals to them are refused."""
    program: list[Instruction] = []
    locks: list[Instruction] = []
    if "locks" in asked:
        program += _only(kernel, "flock", (_ANSWER, 0, 0, _ASK))
        for command in LOCKING:
            locks += [(_EQUAL, 0, 1, command), (_ANSWER, 0, 0, _ASK)]
    which = (_LOAD, 0, 0, _SECOND)
    program += _only(kernel, "fcntl", which, *locks, *_any_of(REFUSED_FCNTL, _REFUSE | EPERM))
    return program + _only(kernel, "ioctl", which, *_any_of(REFUSED_IOCTL, _REFUSE | EPERM))


def _signals(kernel: Kernel, protected: "Sequence[int]", asked: "Sequence[str]") -> list[Instruction]:
    """To nobody in `protected`; where the kernel does not scope signals, the supervisor knows the others."""
    # A descriptor of /proc/<pid> names a process too, and cannot be told apart here.
    program = _refused(kernel, "pidfd_send_signal", EPERM)
    others: tuple[Instruction, ...] = ()
    if "signals" in asked:
        # The caller's own group goes without asking.
        others = ((_EQUAL, 0, 1, 0), (_ANSWER, 0, 0, _ALLOW), (_ANSWER, 0, 0, _ASK))
    for name in SIGNALLING:
        tests = _any_of(protected, _REFUSE | EPERM, *others)
        program += _only(kernel, name, (_LOAD, 0, 0, _FIRST), *tests)
    return program


def _tuning_of_own(kernel: Kernel) -> list[Instruction]:
    """In a PID namespace: of everybody there but its first process, which is the launcher's."""
    program: list[Instruction] = []
    init = _any_of((1,), _REFUSE | EPERM)
    for name in TUNING:
        program += _only(kernel, name, (_LOAD, 0, 0, _FIRST), *init)
    for name, _, user in TUNING_KIND:
        whole = ((_LOAD, 0, 0, _FIRST), (_EQUAL, 0, 1, user), (_ANSWER, 0, 0, _REFUSE | EPERM))
        program += _only(kernel, name, *whole, (_LOAD, 0, 0, _SECOND), *init)
    return program


def _tuning(kernel: Kernel, asked: "Sequence[str]") -> list[Instruction]:
    """Without one: of the caller; the supervisor knows which others are the script's."""
    program: list[Instruction] = []
    other = _ASK if "tuning" in asked else _REFUSE | EPERM
    oneself = ((_EQUAL, 0, 1, 0), (_ANSWER, 0, 0, _ALLOW))
    for name in TUNING:
        program += _only(kernel, name, (_LOAD, 0, 0, _FIRST), *oneself, (_ANSWER, 0, 0, other))
    for name, process, user in TUNING_KIND:
        program += _only(
            kernel,
            name,
            *((_LOAD, 0, 0, _FIRST), (_EQUAL, 0, 1, user), (_ANSWER, 0, 0, _REFUSE | EPERM)),
            *((_LOAD, 0, 0, _SECOND), *oneself),
            # Groups are named by nobody but job control.
            *((_LOAD, 0, 0, _FIRST), (_EQUAL, 1, 0, process), (_ANSWER, 0, 0, _REFUSE | EPERM)),
            (_ANSWER, 0, 0, other),
        )
    return program


def _pairs(kernel: Kernel) -> list[Instruction]:
    """Sockets that come in pairs reach each other and nobody else."""
    program: list[Instruction] = []
    for name in CONNECTING:
        program += _refused(kernel, name, EACCES)
    # A datagram names its receiver in memory, where no filter reads; these types have bit 1 set.
    program += _only(
        kernel,
        "socketpair",
        *((_LOAD, 0, 0, _FIRST), (_FROM, 0, 1, AF_UNIX + 1), (_ANSWER, 0, 0, _REFUSE | EACCES)),
        *((_LOAD, 0, 0, _SECOND), (_ANY_BIT, 0, 1, SOCK_DGRAM), (_ANSWER, 0, 0, _REFUSE | EACCES)),
        (_ANSWER, 0, 0, _ALLOW),
    )
    return program + _only(
        kernel,
        "sendto",
        *((_LOAD, 0, 0, _FIFTH), (_EQUAL, 0, 2, 0), (_LOAD, 0, 0, _FIFTH + 4), (_EQUAL, 1, 0, 0)),
        *((_ANSWER, 0, 0, _REFUSE | EACCES), (_ANSWER, 0, 0, _ALLOW)),
    )


def _sockets(kernel: Kernel, *, namespace: bool) -> list[Instruction]:
    """The end of the filter: every other call is allowed; sockets of the families that a namespace holds."""
    program: list[Instruction] = [(_EQUAL, 1, 0, kernel.number("socket")), (_ANSWER, 0, 0, _ALLOW)]
    if namespace:
        program += [
            (_LOAD, 0, 0, _FIRST),
            (_EQUAL, 5, 0, AF_UNIX),
            (_EQUAL, 4, 0, AF_INET),
            (_EQUAL, 3, 0, AF_INET6),
            (_EQUAL, 0, 3, AF_NETLINK),
            (_LOAD, 0, 0, _THIRD),
            (_EQUAL, 0, 1, 0),  # NETLINK_ROUTE, with which glibc lists the interfaces
            (_ANSWER, 0, 0, _ALLOW),
        ]
    # AF_VSOCK knows no network namespace; AF_UNIX reaches the host's daemons where files are its own.
    return [*program, (_ANSWER, 0, 0, _REFUSE | EACCES)]


def apply_seccomp(
    kernel: Kernel, *, namespace: bool, protected: "Sequence[int]", signals: bool, handover: "_socket.socket"
) -> bool:
    """Install the filter; it stays, in every process that comes from this one.

    Hands the listener for the calls that are asked about (seccomp_unotify(2)) to the supervisor. False
    where the kernel has no such thing (before Linux 5.5), or another one is in the way.
    """
    asked = ("locks",) if namespace else ("locks", "tuning", *(("signals",) if signals else ()))
    program = _program(kernel, namespace=namespace, protected=protected, asked=asked)
    try:
        listener = kernel.syscall(
            "seccomp",
            kernel.number("seccomp"),
            SECCOMP_SET_MODE_FILTER,
            SECCOMP_FILTER_FLAG_NEW_LISTENER,
            program[0],
        )
    except StepError:
        program = _program(kernel, namespace=namespace, protected=protected)
        kernel.prctl("seccomp", PR_SET_SECCOMP, 2, program[0])
        return False
    handover.sendmsg([b"l"], [(SOL_SOCKET, SCM_RIGHTS, struct.pack("i", listener))])
    os.close(listener)
    return True


def _program(
    kernel: Kernel, *, namespace: bool, protected: "Sequence[int]", asked: "Sequence[str]" = ()
) -> tuple[bytes, object]:
    """A `struct sock_fprog`, and what it points to, which must live as long."""
    filters = seccomp_program(kernel, namespace=namespace, protected=protected, asked=asked)
    code = ctypes.create_string_buffer(filters)
    return struct.pack("HxxxxxxP", (len(code) - 1) // 8, ctypes.addressof(code)), code
