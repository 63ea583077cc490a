"""The launcher: its filter, its answers, and that it leaves nothing."""

import contextlib
import os
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from agentproof.isolation import sandbox
from agentproof.isolation.levels import SelfTest
from agentproof.isolation.sandbox import Level
from tests.sandboxed import choice, probed

if sys.platform != "linux":
    pytest.skip("the launcher's isolation is Linux's", allow_module_level=True)

from agentproof.isolation.filter import seccomp_program
from agentproof.isolation.syscalls import EVERYWHERE, MACHINES, Kernel, StepError

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, EACCES, ENOSYS = 0x50001, 0x5000D, 0x50026
MACHINE = "x86_64"


@pytest.fixture
def kernel() -> Kernel:
    """System call numbers of one machine, whatever this one is."""
    kernel = Kernel()
    kernel.machine = MACHINES[MACHINE]
    return kernel


def verdict(program: bytes, number: int, *arguments: int, arch: int = MACHINES[MACHINE]["audit_arch"]) -> int:
    """Run a classic BPF program as the kernel does (linux/filter.h, the five instructions used here)."""
    data = struct.pack(
        "<iIQ6Q", number - (number >> 31 << 32), arch, 0, *arguments, *[0] * (6 - len(arguments))
    )
    accumulator, place = 0, 0
    code = [struct.unpack_from("HBBI", program, at) for at in range(0, len(program), 8)]
    while True:
        operation, when_true, when_false, value = code[place]
        place += 1
        if operation == 0x06:
            return int(value)
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
            continue
        holds = {
            0x15: accumulator == value,
            0x45: bool(accumulator & value),
            0x35: accumulator >= value,
        }[operation]
        place += when_true if holds else when_false


@pytest.mark.parametrize("namespace", [True, False])
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("unshare", EPERM),
        ("setns", EPERM),
        ("ptrace", EPERM),
        ("process_vm_readv", EPERM),
        ("keyctl", EPERM),
        ("bpf", EPERM),
        ("clone3", ENOSYS),
        ("io_uring_setup", ENOSYS),
    ],
)
def test_calls_that_reach_past_the_sandbox_are_refused(
    kernel: Kernel, namespace: bool, name: str, answer: int
) -> None:
    assert verdict(seccomp_program(kernel, namespace=namespace), kernel.number(name)) == answer


@pytest.mark.parametrize(
    ("family", "protocol", "with_namespace"),
    [
        (1, 0, ALLOW),  # AF_UNIX
        (2, 0, ALLOW),  # AF_INET
        (10, 0, ALLOW),  # AF_INET6
        (16, 0, ALLOW),  # AF_NETLINK, NETLINK_ROUTE
        (16, 9, EACCES),  # NETLINK_AUDIT
        (17, 0, EACCES),  # AF_PACKET
        (38, 0, EACCES),  # AF_ALG
        (40, 0, EACCES),  # AF_VSOCK
    ],
)
def test_sockets_are_refused_but_for_those_that_a_network_namespace_holds(
    kernel: Kernel, family: int, protocol: int, with_namespace: int
) -> None:
    number = kernel.number("socket")
    inside = seccomp_program(kernel, namespace=True)
    assert verdict(inside, number, family, 1, protocol) == with_namespace
    # The upper half of a register is not part of an int argument.
    assert verdict(inside, number, family | 1 << 40, 1, protocol) == with_namespace
    assert verdict(seccomp_program(kernel, namespace=False), number, family, 1, protocol) == EACCES


def test_a_process_can_be_forked_but_not_into_a_namespace(kernel: Kernel) -> None:
    program = seccomp_program(kernel, namespace=True)
    fork, thread = 0x01200011, 0x003D0F00
    assert verdict(program, kernel.number("clone"), fork) == ALLOW
    assert verdict(program, kernel.number("clone"), thread) == ALLOW
    for new in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(program, kernel.number("clone"), fork | new) == EPERM


ASK = 0x7FC00000
TUNED = ("prlimit64", "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_setattr")


@pytest.mark.parametrize("name", TUNED)
def test_without_a_pid_namespace_nobody_but_the_caller_is_tuned(kernel: Kernel, name: str) -> None:
    alone = seccomp_program(kernel, namespace=False)
    asking = seccomp_program(kernel, namespace=False, asked=("locks", "tuning"))
    inside = seccomp_program(kernel, namespace=True)
    number = kernel.number(name)
    assert [verdict(alone, number, who) for who in (0, 1, 4711)] == [ALLOW, EPERM, EPERM]
    assert [verdict(asking, number, who) for who in (0, 1, 4711)] == [ALLOW, ASK, ASK]
    assert [verdict(inside, number, who) for who in (0, 1, 4711)] == [ALLOW, EPERM, ALLOW]
    assert verdict(alone, number, 1 << 32) == ALLOW  # the upper half is not part of a pid


@pytest.mark.parametrize(
    ("name", "process", "group", "user"), [("setpriority", 0, 1, 2), ("ioprio_set", 1, 2, 3)]
)
def test_priorities_of_a_user_or_of_other_groups_are_nobodys(
    kernel: Kernel, name: str, process: int, group: int, user: int
) -> None:
    number = kernel.number(name)
    asking = seccomp_program(kernel, namespace=False, asked=("locks", "tuning"))
    assert verdict(asking, number, process, 0) == verdict(asking, number, group, 0) == ALLOW
    assert verdict(asking, number, process, 4711) == ASK
    assert verdict(asking, number, group, 4711) == verdict(asking, number, user, 0) == EPERM
    inside = seccomp_program(kernel, namespace=True)
    assert verdict(inside, number, process, 4711) == ALLOW
    assert verdict(inside, number, process, 1) == verdict(inside, number, user, 0) == EPERM


def test_where_the_kernel_does_not_scope_signals_the_supervisor_is_asked(kernel: Kernel) -> None:
    program = seccomp_program(kernel, namespace=False, protected=[77, -77, -1], asked=("locks", "signals"))
    for name in ("kill", "tgkill", "tkill", "rt_sigqueueinfo", "pidfd_open"):
        number = kernel.number(name)
        assert [verdict(program, number, who & 0xFFFFFFFF) for who in (77, -77, -1, 0, 4711)] == [
            *(EPERM, EPERM, EPERM, ALLOW, ASK)
        ]


@pytest.mark.parametrize("namespace", [True, False])
def test_locks_are_asked_about_and_other_uses_of_a_descriptor_are_not(
    kernel: Kernel, namespace: bool
) -> None:
    program = seccomp_program(kernel, namespace=namespace, asked=("locks",))
    fcntl, ioctl = kernel.number("fcntl"), kernel.number("ioctl")
    assert verdict(program, kernel.number("flock"), 3, 2) == ASK
    assert {verdict(program, fcntl, 3, command) for command in (6, 7, 37, 38)} == {ASK}
    assert {verdict(program, fcntl, 3, command) for command in (0, 1, 2, 3, 4, 5, 36, 1030)} == {ALLOW}
    assert {verdict(program, fcntl, 3, command) for command in (8, 10, 15, 1024, 1026)} == {EPERM}
    assert verdict(program, ioctl, 0, 0x5412) == verdict(program, ioctl, 0, 0x8901) == EPERM
    assert verdict(program, ioctl, 0, 0x5401) == ALLOW


def test_pairs_without_a_network_namespace_reach_each_other_alone(kernel: Kernel) -> None:
    program = seccomp_program(kernel, namespace=False)
    pair, sendto = kernel.number("socketpair"), kernel.number("sendto")
    flags = 0x80800  # SOCK_CLOEXEC, SOCK_NONBLOCK
    for kind, answer in (
        (1, ALLOW),
        (5, ALLOW),
        (2, EACCES),
        (3, EACCES),
        (2 | flags, EACCES),
        (1 | flags, ALLOW),
    ):
        assert verdict(program, pair, 1, kind) == answer
    assert verdict(program, pair, 30, 1) == EACCES
    assert verdict(program, sendto, 3, 0, 0, 0, 0, 0) == ALLOW
    assert verdict(program, sendto, 3, 0, 0, 0, 0x7FFF_0000_0000, 110) == EACCES
    assert verdict(program, sendto, 3, 0, 0, 0, 0x1000, 110) == EACCES
    for name in ("connect", "bind", "listen"):
        assert verdict(program, kernel.number(name), 3) == EACCES


def test_calls_that_are_newer_than_the_list_look_unknown(kernel: Kernel) -> None:
    for namespace in (True, False):
        program = seccomp_program(kernel, namespace=namespace)
        assert verdict(program, 462) == ALLOW
        assert verdict(program, 463) == verdict(program, 500) == ENOSYS
        for name in ("shmget", "shmat", "msgrcv", "mq_open", "memfd_create"):
            assert verdict(program, kernel.number(name)) == ENOSYS
        assert verdict(program, kernel.number("fgetxattr")) == 0x5005F  # ENOTSUP


def test_another_abi_has_no_way_around_the_filter(kernel: Kernel) -> None:
    program = seccomp_program(kernel, namespace=False)
    assert verdict(program, 359, 2, arch=0x40000003) == KILL  # socket(2) of i386
    assert verdict(program, 0x40000000 | 41, 2) == ENOSYS  # of x32
    assert verdict(program, 0xFFFFFFFF, 2) == ENOSYS


def test_ordinary_calls_pass(kernel: Kernel) -> None:
    program = seccomp_program(kernel, namespace=False)
    for number in (0, 1, 9, 57, 59, 231, 257, 53):  # read write mmap fork execve exit_group openat socketpair
        assert verdict(program, number) == ALLOW


def test_the_tables_of_all_machines_name_the_same_calls() -> None:
    assert len({tuple(sorted(table)) for table in MACHINES.values()}) == 1


@pytest.mark.parametrize(
    ("machine", "header"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        ("aarch64", "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_the_numbers_of_the_calls_are_the_kernels(machine: str, header: str) -> None:
    if not Path(header).exists():
        pytest.skip(f"{header} is not installed")
    kernels = {
        name: int(number)
        for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", Path(header).read_text())
    }
    for name, number in {**MACHINES[machine], **EVERYWHERE}.items():
        if name != "audit_arch":
            assert kernels[name] == number, name


def test_an_unknown_machine_is_a_step_that_failed() -> None:
    kernel = Kernel()
    kernel.machine = {}
    with pytest.raises(StepError, match="machine"):
        seccomp_program(kernel, namespace=False)


@contextlib.contextmanager
def launched(
    level: Level,
    base: Path,
    *command: str,
    beyond: sandbox.ProbeTargets | None = None,
    provided: sandbox.Provided | None = None,
) -> Iterator[int]:
    """A launcher that runs `command` with `base` as the run's directory; gives its report's descriptor."""
    (base / "work").mkdir()
    plan = sandbox.launch_plan(
        level,
        base=base,
        command=command,
        environment={"PATH": "/usr/bin:/bin"},
        directory=base / "work",
        streams=(base / "work" / "out", base / "work" / "err"),
        readable=(),
        writable=(base / "work",),
        limits={},
        user=None,
        beyond=beyond,
        provided=provided,
    )
    process = sandbox.start(plan)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.fileno()
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


def read_report(descriptor: int) -> SelfTest:
    data = b""
    while piece := os.read(descriptor, 4096):
        data += piece
    return SelfTest.parse(data)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A run's directory that any user can pass through."""
    for each in (tmp_path, *tmp_path.parents):
        if each.name.startswith("pytest-"):
            each.chmod(0o755)
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.mark.parametrize("level", ["namespace", "seccomp", "audit-hook"])
def test_the_exit_code_of_the_command_is_reported(level: Level, base: Path) -> None:
    choice(level)
    with launched(level, base, "/bin/sh", "-c", "exit 7") as report:
        assert read_report(report).exit_code == 7


def test_names_lead_to_sockets_of_the_runners(base: Path, tmp_path: Path) -> None:
    choice("namespace")
    authority = tmp_path / "authority.pem"
    authority.write_text("believed here\n")
    mine, theirs = socket.socketpair()
    provided = sandbox.Provided(
        places=[("one.test", 443), ("two.test", 443), ("one.test", 8080)],
        authority=authority,
        handed_to=theirs.fileno(),
    )
    files = " ".join({each for each in (sandbox.AUTHORITY, *sandbox.CERTIFICATES) if Path(each).exists()})
    script = (
        f"cat {sandbox.AUTHORITY} {files}; for each in two.test/443 one.test/8080 one.test/443; do "
        "cat </dev/tcp/$each; done; exec 3<>/dev/tcp/127.77.0.3/443"
    )
    with launched("namespace", base, "/bin/bash", "-c", script, provided=provided) as report:
        theirs.close()
        mine.settimeout(20)
        _, received, _, _ = socket.recv_fds(mine, 1, 3)
        for place, each in zip(provided.places, received, strict=True):
            with socket.socket(fileno=each) as listener:
                name = listener.getsockname()
                if place != provided.places[0]:
                    Thread(target=_greet, args=(listener.dup(), f"{place} at {name}\n")).start()
                else:
                    first = listener.dup()
        with first:
            _greet(first, "the last\n")
        assert read_report(report).exit_code != 0, "an address that nobody listens at"
    said = (base / "work" / "out").read_text()
    assert said == "believed here\n" * (1 + len(files.split())) + (
        "('two.test', 443) at ('127.77.0.2', 443)\n('one.test', 8080) at ('127.77.0.1', 8080)\nthe last\n"
    )
    assert "/dev/tcp/127.77.0.3/443: Connection refused" in (base / "work" / "err").read_text()
    mine.close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.77.0.1", 443), timeout=2)


def _greet(listener: socket.socket, text: str) -> None:
    with listener, listener.accept()[0] as connection:
        connection.sendall(text.encode())


def test_a_step_that_the_kernel_refuses_is_named_and_nothing_runs(base: Path) -> None:
    choice("namespace")
    with launched("namespace", base, "/no/such/program") as report:
        told = read_report(report)
    assert told.failed is not None
    assert "/no/such/program" in told.failed


@pytest.mark.parametrize("level", ["namespace", "seccomp"])
def test_where_the_self_test_gets_through_nothing_is_run(level: Level, base: Path) -> None:
    if probed(level).files == "none":
        pytest.skip("this machine holds no files in")
    choice(level)
    reachable = sandbox.ProbeTargets(port=0, file=Path("/usr/bin/env"))
    with launched(level, base, "/bin/sh", "-c", "echo run", beyond=reachable) as report:
        told = read_report(report)
    assert told.tested["files"] == "reached"
    assert told.held(level) is not None
    assert (base / "work" / "out").read_bytes() == b""


@pytest.mark.parametrize("level", ["namespace", "seccomp", "audit-hook"])
def test_when_the_runner_dies_every_process_ends_and_the_directory_goes(level: Level, base: Path) -> None:
    choice(level)
    (base / "work-elsewhere").mkdir(mode=0)
    mark = f"{os.getpid()}7531"
    with launched(level, base, "/bin/sh", "-c", f"setsid sleep {mark} & sleep {mark} & wait"):
        deadline = time.monotonic() + 10
        while len(sleeping(mark)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(sleeping(mark)) == 2
    # Leaving the block closed the launcher's standard input, as the kernel does for a dead runner.
    assert sleeping(mark) == []
    assert not base.exists()


def sleeping(mark: str) -> list[str]:
    """The processes whose command is `sleep <mark>`."""
    found = []
    for each in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if each.name.isdigit() and (each / "cmdline").read_bytes() == f"sleep\0{mark}\0".encode():
                found.append(each.name)
    return found


MANY_DEAD = """
import os
from agentproof.isolation import launcher

for _ in range(300):
    if os.fork() == 0:
        os._exit(0)
looks = 0
look = launcher._descendants

def counted(root):
    global looks
    looks += 1
    return look(root)

launcher._descendants = counted
launcher._kill_descendants(b"")
print(looks)
"""


def test_the_dead_of_a_fork_bomb_are_not_looked_at_again_for_each_that_is_buried() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MANY_DEAD], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(done.stdout) < 30
