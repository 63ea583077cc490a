"""Stdlib only, runs in the launcher: system calls that the standard library has no name for.

os.unshare came with Python 3.12; Landlock, seccomp, capabilities and the newer mount calls have none.
"""

import ctypes
import os

ENOSYS = 38

MACHINES: dict[str, dict[str, int]] = {
    "x86_64": {
        "audit_arch": 0xC000003E,
        "clone": 56,
        "pivot_root": 155,
        "capset": 126,
        "socket": 41,
        "unshare": 272,
        "setns": 308,
        "ptrace": 101,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "kcmp": 312,
        "keyctl": 250,
        "add_key": 248,
        "request_key": 249,
        "bpf": 321,
        "perf_event_open": 298,
        "userfaultfd": 323,
        "fanotify_init": 300,
        "shmget": 29,
        "semget": 64,
        "msgget": 68,
        "mq_open": 240,
        "kill": 62,
        "tkill": 200,
        "tgkill": 234,
        "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297,
        "prlimit64": 302,
        "open_by_handle_at": 304,
        "move_pages": 279,
        "migrate_pages": 256,
        "memfd_create": 319,
        "inotify_init1": 294,
        "inotify_add_watch": 254,
        "setxattr": 188,
        "lsetxattr": 189,
        "fsetxattr": 190,
        "getxattr": 191,
        "lgetxattr": 192,
        "fgetxattr": 193,
        "listxattr": 194,
        "llistxattr": 195,
        "flistxattr": 196,
        "removexattr": 197,
        "lremovexattr": 198,
        "fremovexattr": 199,
        "shmat": 30,
        "shmctl": 31,
        "shmdt": 67,
        "semop": 65,
        "semctl": 66,
        "semtimedop": 220,
        "msgsnd": 69,
        "msgrcv": 70,
        "msgctl": 71,
        "mq_unlink": 241,
        "setpriority": 141,
        "sched_setaffinity": 203,
        "sched_setparam": 142,
        "sched_setscheduler": 144,
        "sched_setattr": 314,
        "ioprio_set": 251,
        "connect": 42,
        "bind": 49,
        "listen": 50,
        "sendto": 44,
        "socketpair": 53,
        "fcntl": 72,
        "flock": 73,
        "ioctl": 16,
        "seccomp": 317,
    },
    "aarch64": {
        "audit_arch": 0xC00000B7,
        "clone": 220,
        "pivot_root": 41,
        "capset": 91,
        "socket": 198,
        "unshare": 97,
        "setns": 268,
        "ptrace": 117,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "kcmp": 272,
        "keyctl": 219,
        "add_key": 217,
        "request_key": 218,
        "bpf": 280,
        "perf_event_open": 241,
        "userfaultfd": 282,
        "fanotify_init": 262,
        "shmget": 194,
        "semget": 190,
        "msgget": 186,
        "mq_open": 180,
        "kill": 129,
        "tkill": 130,
        "tgkill": 131,
        "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240,
        "prlimit64": 261,
        "open_by_handle_at": 265,
        "move_pages": 239,
        "migrate_pages": 238,
        "memfd_create": 279,
        "inotify_init1": 26,
        "inotify_add_watch": 27,
        "setxattr": 5,
        "lsetxattr": 6,
        "fsetxattr": 7,
        "getxattr": 8,
        "lgetxattr": 9,
        "fgetxattr": 10,
        "listxattr": 11,
        "llistxattr": 12,
        "flistxattr": 13,
        "removexattr": 14,
        "lremovexattr": 15,
        "fremovexattr": 16,
        "shmat": 196,
        "shmctl": 195,
        "shmdt": 197,
        "semop": 193,
        "semctl": 191,
        "semtimedop": 192,
        "msgsnd": 189,
        "msgrcv": 188,
        "msgctl": 187,
        "mq_unlink": 181,
        "setpriority": 140,
        "sched_setaffinity": 122,
        "sched_setparam": 118,
        "sched_setscheduler": 119,
        "sched_setattr": 274,
        "ioprio_set": 30,
        "connect": 203,
        "bind": 200,
        "listen": 201,
        "sendto": 206,
        "socketpair": 199,
        "fcntl": 25,
        "flock": 32,
        "ioctl": 29,
        "seccomp": 277,
    },
}
EVERYWHERE = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "pidfd_open": 434,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "memfd_secret": 447,
    "process_mrelease": 448,
}
NEWEST = 462
"""`mseal` (Linux 6.10): calls with a higher number look as if the kernel did not have them. The first of
them are `setxattrat` and its like, and `file_setattr`."""


class suppress:  # noqa: N801  (contextlib's, without the 3 ms that importing it costs)
    """Go on after these errors."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self.kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self.kinds)


class StepError(Exception):
    """A step of the isolation that the kernel refused."""

    def __init__(self, step: str, number: int) -> None:
        super().__init__(step, number)
        self.step, self.number = step, number


class step:  # noqa: N801  (a context manager is used like a statement)
    """Name the step in which the operating system refuses something."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError):
            where = f":{error.filename}" if isinstance(error.filename, str) else ""
            raise StepError(f"{self.name}{where}".replace(" ", "?"), error.errno or 0) from error


class Kernel:
    """The system calls that the standard library has no name for."""

    def __init__(self) -> None:
        # PyDLL keeps the GIL: `clone` below must return into a child that still holds it.
        self.libc = ctypes.PyDLL(None, use_errno=True)
        self.libc.syscall.restype = ctypes.c_long
        self.machine = MACHINES.get(os.uname().machine, {})

    def number(self, name: str) -> int:
        number = EVERYWHERE.get(name, self.machine.get(name))
        if number is None:
            raise StepError(f"machine:{os.uname().machine}", ENOSYS)
        return number

    def syscall(self, step: str, number: int, *arguments: int | bytes | None) -> int:
        passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
        result = int(self.libc.syscall(ctypes.c_long(number), *passed))
        if result == -1:
            raise StepError(step, ctypes.get_errno())
        return result

    def prctl(self, step: str, option: int, *values: int | bytes) -> None:
        passed = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in values]
        passed += [ctypes.c_ulong(0)] * (4 - len(passed))
        if self.libc.prctl(option, *passed) == -1:
            raise StepError(step, ctypes.get_errno())

    def mount(self, source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
        names = [None if each is None else each.encode() for each in (source, target, kind, data)]
        if self.libc.mount(*names[:3], ctypes.c_ulong(flags), names[3]) == -1:
            raise StepError(f"mount:{target}", ctypes.get_errno())
