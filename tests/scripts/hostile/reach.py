"""Attempts to reach past the sandbox, each by name; prints what became of them as one JSON object.

Arguments: what the test made outside (JSON): a process, sockets, files, System V objects.
"""

import array
import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys

given = json.loads(sys.argv[1])
victim = given["process"]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
done = {}
NUMBERS = {
    "x86_64": dict(
        ioprio_set=251, tkill=200, tgkill=234, rt_sigqueueinfo=129, ptrace=101, process_vm_readv=310, kcmp=312,
        move_pages=279, migrate_pages=256, shmget=29, shmat=30, shmctl=31, semget=64, semop=65, msgget=68,
        msgrcv=70, mq_open=240, memfd_create=319, userfaultfd=323, keyctl=250, add_key=248, request_key=249,
        perf_event_open=298, bpf=321, unshare=272, setns=308, mount=165, fanotify_init=300, inotify_init1=294,
        inotify_add_watch=254, open_by_handle_at=304, sched_setscheduler=144, sched_setattr=314,
        name_to_handle_at=303, timer_create=222,
    ),
    "aarch64": dict(
        ioprio_set=30, tkill=130, tgkill=131, rt_sigqueueinfo=138, ptrace=117, process_vm_readv=270, kcmp=272,
        move_pages=239, migrate_pages=238, shmget=194, shmat=196, shmctl=195, semget=190, semop=193, msgget=186,
        msgrcv=188, mq_open=180, memfd_create=279, userfaultfd=282, keyctl=219, add_key=217, request_key=218,
        perf_event_open=241, bpf=280, unshare=97, setns=268, mount=40, fanotify_init=262, inotify_init1=26,
        inotify_add_watch=27, open_by_handle_at=265, sched_setscheduler=119, sched_setattr=274,
        name_to_handle_at=264, timer_create=107,
    ),
}[os.uname().machine]
NUMBERS.update(
    pidfd_send_signal=424, io_uring_setup=425, pidfd_open=434, clone3=435, pidfd_getfd=438, process_madvise=440,
    memfd_secret=447, process_mrelease=448, setxattrat=463, file_setattr=469,
)


def attempt(name):
    def made(function):
        try:
            done[name] = ["done", repr(function())[:200]]
        except BaseException as error:
            done[name] = ["refused", f"{type(error).__name__}: {error}"]
        return function

    return made


def call(name, *arguments):
    result = libc.syscall(NUMBERS[name], *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def refuse(why="nothing was reached"):
    raise LookupError(why)


def seen_processes():
    return [int(each) for each in os.listdir("/proc") if each.isdigit()]


def inherited():
    """Descriptors beyond the three and what this Python has opened itself."""
    return [
        os.readlink(f"/proc/self/fd/{each}")
        for each in os.listdir("/proc/self/fd")
        if os.path.lexists(f"/proc/self/fd/{each}")
        and int(each) > 2
        and os.readlink(f"/proc/self/fd/{each}").startswith(("pipe:", "socket:", "anon_inode:"))
    ]


attempt("inherited descriptors")(lambda: inherited() or refuse("none"))

# Other processes: a victim of the same user.
attempt("prlimit of another process")(lambda: resource.prlimit(victim, resource.RLIMIT_CPU, (1, 1)))
attempt("read another's limits")(lambda: resource.prlimit(victim, resource.RLIMIT_CPU))
attempt("renice another process")(lambda: os.setpriority(os.PRIO_PROCESS, victim, 19))
attempt("renice another's group")(lambda: os.setpriority(os.PRIO_PGRP, victim, 19))
attempt("renice the user")(lambda: os.setpriority(os.PRIO_USER, 0, 19))
attempt("affinity of another process")(lambda: os.sched_setaffinity(victim, {0}))
attempt("scheduler of another process")(
    lambda: os.sched_setscheduler(victim, os.SCHED_BATCH, os.sched_param(0))
)
attempt("sched_setattr of another process")(lambda: call("sched_setattr", victim, bytes(48), 0))
attempt("ioprio of another process")(lambda: call("ioprio_set", 1, victim, 3 << 13))
attempt("ioprio of the user")(lambda: call("ioprio_set", 3, 0, 3 << 13))
attempt("kill")(lambda: os.kill(victim, signal.SIGTERM))
attempt("kill its group")(lambda: os.killpg(victim, signal.SIGTERM))
attempt("kill everybody")(lambda: os.kill(-1, 0) if victim in seen_processes() else refuse())
attempt("tkill")(lambda: call("tkill", victim, 15))
attempt("tgkill")(lambda: call("tgkill", victim, victim, 15))
attempt("rt_sigqueueinfo")(lambda: call("rt_sigqueueinfo", victim, 15, struct.pack("iii", 15, 0, -1) + bytes(116)))
attempt("pidfd_send_signal")(lambda: call("pidfd_send_signal", call("pidfd_open", victim, 0), 15, None, 0))
attempt("signal by a descriptor of /proc")(
    lambda: call("pidfd_send_signal", os.open(f"/proc/{victim}", os.O_RDONLY | os.O_DIRECTORY), 15, None, 0)
)
attempt("pidfd_getfd")(lambda: call("pidfd_getfd", call("pidfd_open", victim, 0), 0, 0))
attempt("process_madvise")(lambda: call("process_madvise", call("pidfd_open", victim, 0), bytes(16), 1, 4, 0))
attempt("process_mrelease")(lambda: call("process_mrelease", call("pidfd_open", victim, 0), 0))
attempt("ptrace attach")(lambda: call("ptrace", 16, victim, 0, 0))
attempt("ptrace seize")(lambda: call("ptrace", 0x4206, victim, 0, 0))
attempt("process_vm_readv")(lambda: call("process_vm_readv", victim, bytes(16), 1, bytes(16), 1, 0))
attempt("kcmp")(lambda: call("kcmp", os.getpid(), victim, 0, 0, 0))
attempt("move_pages")(lambda: call("move_pages", victim, 0, 0, 0, 0, 0))
attempt("migrate_pages")(lambda: call("migrate_pages", victim, 1, bytes(8), bytes(8)))


@attempt("SIGIO to another process")
def _():
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(reader, fcntl.F_SETOWN, victim)
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writer, b"x")


attempt("FIOSETOWN")(lambda: fcntl.ioctl(socket.socketpair()[0], 0x8901, struct.pack("i", victim)))
attempt("environ of another process")(lambda: open(f"/proc/{victim}/environ", "rb").read())
attempt("memory of another process")(lambda: open(f"/proc/{victim}/mem", "rb"))
attempt("numbers of another's descriptors")(lambda: os.listdir(f"/proc/{victim}/fd"))
attempt("what another process has open")(
    lambda: [os.readlink(f"/proc/{victim}/fd/{each}") for each in os.listdir(f"/proc/{victim}/fd")]
)
attempt("what the launcher has open")(
    lambda: [os.readlink(f"/proc/{os.getppid()}/fd/{each}") for each in os.listdir(f"/proc/{os.getppid()}/fd")]
)
attempt("root of another process")(lambda: os.listdir(f"/proc/{victim}/root/"))
attempt("memory of the launcher")(lambda: open(f"/proc/{os.getppid()}/mem", "rb"))
attempt("numbers of the launcher's descriptors")(lambda: os.listdir(f"/proc/{os.getppid()}/fd"))
attempt("the launcher's limits")(lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (1, 1)))
attempt("oom score of another process")(lambda: open(f"/proc/{victim}/oom_score_adj", "w").write("1000"))
attempt("coredump filter of another")(lambda: open(f"/proc/{victim}/coredump_filter", "w").write("0"))
attempt("command line of another process")(lambda: open(f"/proc/{victim}/cmdline").read() or refuse())


# Sockets.
def pair(kind=socket.SOCK_DGRAM):
    return socket.socketpair(socket.AF_UNIX, kind)[0]


def pass_descriptor(end, address):
    rights = array.array("i", [1])
    end.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], 0, address)


def bound_outside():
    """A name that is bound within a namespace of its own is nobody's outside; the test looks."""
    end = pair(socket.SOCK_STREAM)
    end.bind(abstract + "-script")
    end.listen()


abstract = "\0" + given["abstract"]
attempt("datagram pair, sendto a path")(lambda: pair().sendto(b"x", given["path"]))
attempt("datagram pair, connect to a path")(lambda: pair().connect(given["path"]))
attempt("datagram pair, sendto an abstract name")(lambda: pair().sendto(b"x", abstract))
attempt("datagram pair, a descriptor to a path")(lambda: pass_descriptor(pair(), given["path"]))
attempt("stream pair, sendto a path")(lambda: pair(socket.SOCK_STREAM).sendto(b"x", given["path"]))
attempt("stream pair, connect to a path")(lambda: pair(socket.SOCK_STREAM).connect(given["path"]))
attempt("packet pair, a descriptor to a path")(
    lambda: pass_descriptor(pair(socket.SOCK_SEQPACKET), given["path"]) or refuse("it went to its own pair")
)
attempt("bind an abstract name that the host sees")(lambda: bound_outside())
attempt("vsock")(lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("netlink audit")(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9))
attempt("netlink uevents")(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15))
attempt("packet socket")(lambda: socket.socket(17, socket.SOCK_RAW))
attempt("AF_ALG")(lambda: socket.socket(38, socket.SOCK_SEQPACKET))
attempt("AF_KEY")(lambda: socket.socket(15, socket.SOCK_RAW, 2))
attempt("bluetooth")(lambda: socket.socket(31, socket.SOCK_RAW, 1))
attempt("a pair of TIPC")(lambda: socket.socketpair(30, socket.SOCK_DGRAM))
attempt("io_uring")(lambda: call("io_uring_setup", 8, bytes(120)))


# Files.
attempt("read an extended attribute")(lambda: os.getxattr(given["file"], "user.secret"))
attempt("list extended attributes")(lambda: os.listxattr(given["file"]))
attempt("write an extended attribute")(lambda: os.setxattr(given["file"], "user.mark", b"x"))
attempt("setxattrat")(lambda: call("setxattrat", -100, given["file"].encode(), 0, b"user.mark", bytes(16), 16))
attempt("file_setattr")(lambda: call("file_setattr", -100, given["file"].encode(), bytes(24), 24, 0))
attempt("inotify")(
    lambda: call("inotify_add_watch", call("inotify_init1", 0), given["folder"].encode(), 0xFFF)
)
attempt("inotify on what all read")(lambda: call("inotify_add_watch", call("inotify_init1", 0), b"/usr/bin", 0x20))
attempt("fanotify")(lambda: call("fanotify_init", 0x200, 0))
attempt("dnotify")(lambda: fcntl.fcntl(os.open("/usr/bin", os.O_RDONLY), fcntl.F_NOTIFY, 1))
attempt("lease")(lambda: fcntl.fcntl(open("/usr/bin/env", "rb"), fcntl.F_SETLEASE, fcntl.F_RDLCK))
attempt("open by handle")(lambda: call("open_by_handle_at", -100, bytes(128), 0))
attempt("flock on a host file")(lambda: fcntl.flock(open("/usr/bin/env", "rb"), fcntl.LOCK_EX | fcntl.LOCK_NB))
attempt("flock on the interpreter")(lambda: fcntl.flock(open(os.__file__, "rb"), fcntl.LOCK_EX | fcntl.LOCK_NB))
attempt("flock on the script")(lambda: fcntl.flock(open(__file__, "rb"), fcntl.LOCK_EX | fcntl.LOCK_NB))
attempt("flock on a device")(lambda: fcntl.flock(open("/dev/null"), fcntl.LOCK_EX | fcntl.LOCK_NB))
attempt("flock on a folder of the host")(
    lambda: fcntl.flock(os.open("/usr", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
)
attempt("inode flags")(lambda: fcntl.ioctl(open("/usr/bin/env"), 0x40086602, struct.pack("l", 0x80)))
attempt("read a secret")(lambda: open(given["file"]).read())
attempt("read a secret through a link")(lambda: (os.symlink(given["file"], "link"), open("link").read()))
attempt("hard link to a secret")(lambda: os.link(given["file"], "hard"))
attempt("truncate a file")(lambda: os.truncate(given["file"], 0))
attempt("change a mode")(lambda: os.chmod(given["file"], 0o666))
attempt("change times")(lambda: os.utime(given["file"], (0, 0)))

# Terminals and devices.
attempt("TIOCSTI")(lambda: fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), 0x5412, b"x"))
attempt("TIOCSTI on stdin")(lambda: fcntl.ioctl(0, 0x5412, b"x"))
attempt("a new terminal")(lambda: os.open("/dev/ptmx", os.O_RDWR))
attempt("kernel memory")(lambda: open("/dev/mem", "rb"))
attempt("kernel log")(lambda: open("/dev/kmsg", "rb"))
attempt("sysrq")(lambda: open("/proc/sysrq-trigger", "w").write("h"))

# Memory and what outlives processes.
attempt("System V memory")(lambda: call("shmget", 0, 1 << 20, 0o1600))
attempt("System V memory of the host")(lambda: call("shmat", given["shm"], 0, 0))
attempt("state of System V memory")(lambda: call("shmctl", given["shm"], 2, bytes(256)))
attempt("System V semaphores")(lambda: call("semget", 0, 1, 0o1600))
attempt("System V queue")(lambda: call("msgget", 0, 0o1600))
attempt("System V queue of the host")(lambda: call("msgrcv", given["queue"], bytes(64), 8, 0, 0o4000))
attempt("POSIX queue")(lambda: call("mq_open", b"agentproof-test", 0o102, 0o600, 0))
attempt("memfd")(lambda: os.memfd_create("x"))
attempt("memfd_secret")(lambda: call("memfd_secret", 0))

# The kernel's surface.
attempt("userfaultfd")(lambda: call("userfaultfd", 1))
attempt("keyring")(lambda: call("keyctl", 0, -3, 1))
attempt("add_key")(lambda: call("add_key", b"user", b"x", b"y", 1, -3))
attempt("request_key")(lambda: call("request_key", b"user", b"x", 0, -3))
attempt("perf")(lambda: call("perf_event_open", bytes(128), 0, -1, -1, 0))
attempt("bpf")(lambda: call("bpf", 0, bytes(120), 120))
attempt("unshare a user namespace")(lambda: call("unshare", 0x10000000))
attempt("clone3 into a namespace")(lambda: call("clone3", struct.pack("Q", 0x10000000) + bytes(80), 88))
attempt("another's namespace")(lambda: call("setns", os.open(f"/proc/{os.getppid()}/ns/net", os.O_RDONLY), 0))
attempt("mount")(lambda: call("mount", b"none", b"/", b"tmpfs", 0, 0))
attempt("sysctl")(lambda: open("/proc/sys/kernel/core_pattern", "w"))
attempt("more memory than allowed")(lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)))
attempt("more processes than allowed")(lambda: resource.setrlimit(resource.RLIMIT_NPROC, (-1, -1)))


# What the script may do to itself and its own.
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
attempt("own: limits of a child")(lambda: resource.prlimit(child.pid, resource.RLIMIT_CPU, (50, 50)))
attempt("own: priority")(lambda: os.setpriority(os.PRIO_PROCESS, 0, 19))
attempt("own: affinity")(lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
attempt("own: affinity by number")(lambda: os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0)))
attempt("own: signal to a child")(lambda: os.kill(child.pid, signal.SIGTERM))
attempt("own: end of a child")(lambda: child.wait(5))
attempt("own: pidfd of itself")(lambda: os.close(call("pidfd_open", os.getpid(), 0)))
attempt("own: stream pair")(lambda: [end.send(b"x") for end in socket.socketpair()])
attempt("own: flock")(lambda: fcntl.flock(open("lock", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB))
attempt("own: lockf")(lambda: fcntl.lockf(open("lock", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB))
attempt("own: shared lock on the script")(lambda: fcntl.flock(open(__file__), fcntl.LOCK_SH))
attempt("own: mode of a file")(lambda: os.chmod("lock", 0o600))
attempt("own: copy with times and attributes")(lambda: __import__("shutil").copy2(__file__, "copy"))
print(json.dumps(done))
