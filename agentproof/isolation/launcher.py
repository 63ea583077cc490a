"""Stdlib only, run alone by the host's Python (`-I -S`): apply isolation, then exec a command.

Three processes stand between the runner and the recorded script:

    supervisor   the process that runs this file: holds the host's privileges, waits, kills, cleans up
    init         first process of the PID namespace (below `namespace`: an ordinary child); reaps
    script       drops everything, tests itself, execs the command

The runner sends this file's code and the plan through standard input (compiling it anew would cost
as much as all the rest). The supervisor answers with lines on standard output:

    started <pid>               the script process exists
    landlock <version>          the version that was applied; 0 where the kernel has none
    tested <what> <result>      its self-tests, just before the exec
    failed <step> <errno>       isolation could not be applied; nothing was executed
    exit <code> | signal <n>    how the command ended

Standard input stays open as long as the runner lives. One byte on it means "end now"; end of file
without it means that the runner died, and then the supervisor also removes the run's directory.
"""

import _signal as signal  # type: ignore[import-not-found]  # signal itself costs 5 ms (enum)
import _socket
import os
import resource
import select
import sys

from ..system.remove import remove_tree
from .confine import (
    CLONE_NEWUSER,
    NAMESPACES,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    apply_landlock,
    drop_bounding_set,
    drop_capabilities,
    enter_namespace,
)
from .filter import SCM_RIGHTS, SOL_SOCKET, apply_seccomp
from .referee import Referee
from .syscalls import Kernel, StepError, step, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing costs 5 ms
    from typing import NoReturn

    from .confine import Plan

SIGKILL, SIGCHLD = 9, 17
_MOST_SAID = 2**16
"""Bytes of a report: a dozen short lines."""
_SCOPES_SIGNALS = 6
"""The version of Landlock (Linux 6.12)."""


def main(plan: "Plan") -> int:
    """Do what the plan says, report."""
    kernel = Kernel()
    namespace = plan["level"] == "namespace"
    runner = os.getppid()
    # Below a PID namespace nobody else can be named.
    plan["protected"] = [] if namespace else [runner, -os.getpgid(runner), os.getpid(), -os.getpid()]
    report_read, report_write = os.pipe()
    ready_read, ready_write = os.pipe()
    handover, handed = _socket.socketpair()
    plan["handover"] = handed
    try:
        if namespace:
            kinds = NAMESPACES if plan["user_namespace"] else NAMESPACES & ~CLONE_NEWUSER
            init = kernel.syscall("namespaces", kernel.number("clone"), kinds | SIGCHLD, 0, 0, 0, 0)
        else:
            if sys.platform == "linux":
                kernel.prctl("subreaper", PR_SET_CHILD_SUBREAPER, 1)
            init = os.fork()
        if init == 0:
            os.close(report_read)
            os.close(ready_write)
            handover.close()
            _init(kernel, plan, ready_read, report_write)
        os.close(report_write)
        os.close(ready_read)
        handed.close()
        if plan["listen"]:
            os.close(plan["listeners_to"])
        if namespace and plan["user_namespace"]:
            _map_ids(init, plan)
        if sys.platform == "linux":
            # Nobody of this uid can trace it or open its memory. Not before the map: /proc is then root's.
            kernel.prctl("dumpable", PR_SET_DUMPABLE, 0)
        os.write(ready_write, b"g")
    except StepError as error:
        _say(f"failed {error.step} {error.number}\n".encode())
        return 0
    return _supervise(kernel, plan, init, report_read, handover)


def _say(lines: bytes) -> None:
    with suppress(BrokenPipeError):  # the runner is gone
        os.write(1, lines)


def _map_ids(init: int, plan: "Plan") -> None:
    """Map the one inner uid and gid. As root the ids are mapped from outside, which needs no mercy."""
    inner_uid, inner_gid = plan["inner"]
    outer_uid, outer_gid = plan["outer"]
    try:
        if not plan["root"]:
            _write(f"/proc/{init}/setgroups", b"deny")
        _write(f"/proc/{init}/gid_map", b"%d %d 1" % (inner_gid, outer_gid))
        _write(f"/proc/{init}/uid_map", b"%d %d 1" % (inner_uid, outer_uid))
    except OSError as error:
        os.kill(init, SIGKILL)
        os.waitpid(init, 0)
        raise StepError("id-map", error.errno or 0) from error


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


# ---- supervisor


def _supervise(kernel: Kernel, plan: "Plan", init: int, report: int, handover: "_socket.socket") -> int:
    """Wait for the end of init or of the runner, answering for the filter; leave no process behind."""
    poll = select.poll()
    for descriptor in (0, report, handover.fileno()):
        poll.register(descriptor, select.POLLIN)
    referee: Referee | None = None
    orphaned = False
    running = True
    lines = b""
    while running:
        for descriptor, events in poll.poll():
            if descriptor == report:
                piece = os.read(report, 4096)
                running = bool(piece)
                lines = (lines + piece)[:_MOST_SAID]
            elif descriptor == 0:
                orphaned = not os.read(0, 1)
                running = False
                break
            elif referee is None:
                poll.unregister(descriptor)
                referee = _referee(kernel, plan, init, handover)
                if referee is not None:
                    poll.register(referee.listener, select.POLLIN)
            elif events & select.POLLIN:
                referee.answer()
            else:
                poll.unregister(descriptor)  # nobody is left who could ask
    with suppress(ProcessLookupError):
        os.kill(init, SIGKILL)
    # With a PID namespace this returns once every process in it is gone.
    os.waitpid(init, 0)
    if plan["level"] != "namespace":
        _kill_descendants(lines)
    if orphaned:
        remove_tree(plan["base"])
    else:
        _say(lines)
    return 0


def _referee(kernel: Kernel, plan: "Plan", init: int, handover: "_socket.socket") -> Referee | None:
    """With the listener that the script's process sent before it became the script; None if it has none."""
    try:
        _, received, _, _ = handover.recvmsg(1, _socket.CMSG_SPACE(4))
    except OSError:
        return None
    for level, kind, data in received:
        if (level, kind) == (SOL_SOCKET, SCM_RIGHTS):
            listener = int.from_bytes(data[:4], sys.byteorder)
            return Referee(kernel, plan, listener, lambda: _descendants(init))
    return None


def _kill_descendants(lines: bytes) -> None:
    """Kill the script's group, then what reparented to this subreaper, until no child is left."""
    for line in lines.splitlines():
        if line.startswith(b"started "):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(int(line.split()[1]), SIGKILL)
    while True:
        for child in _descendants(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(child, SIGKILL)
        try:
            # All the dead go before the next look, which costs as much for them as for those that live.
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        select.select([], [], [], 0.002)


def _descendants(root: int) -> list[int]:
    """All processes below `root`, breadth first; empty where there is no Linux /proc."""
    found: list[int] = []
    queue = [root]
    while queue:
        parent = queue.pop()
        try:
            tasks = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for task in tasks:
            try:
                with open(f"/proc/{parent}/task/{task}/children", "rb") as stream:
                    children = [int(each) for each in stream.read().split()]
            except OSError:
                continue
            found += children
            queue += children
    return found


# ---- init


def _init(kernel: Kernel, plan: "Plan", ready: int, report: int) -> "NoReturn":
    """Set up what the script process inherits, start it, reap until it ends."""
    try:
        if sys.platform == "linux":
            kernel.prctl("pdeathsig", PR_SET_PDEATHSIG, SIGKILL)
        # The supervisor may have died before the line above; then this is an end of file.
        if os.read(ready, 1) != b"g":
            os._exit(0)
        os.close(ready)
        os.close(0)
        os.setsid()
        if plan["level"] == "namespace":
            enter_namespace(kernel, plan)
        if sys.platform == "linux":
            kernel.prctl("dumpable", PR_SET_DUMPABLE, 0)
            kernel.prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)
        os.umask(0o022)
        # The script's own signals to its group or session must not end its reaper.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        script = os.fork()
        if script == 0:
            _script(kernel, plan, report)
        _report(report, f"started {script}")
    except StepError as error:
        _report(report, f"failed {error.step} {error.number}")
        os._exit(0)
    except BaseException as error:  # noqa: BLE001  (a fault here must reach the runner, never the script)
        _report(report, f"failed {type(error).__name__}:{_place(error)} {getattr(error, 'errno', 0) or 0}")
        os._exit(0)
    while True:
        child, status = os.wait()
        # A script that asks to be traced (PTRACE_TRACEME) stops at signals; that is no end.
        if child == script and not os.WIFSTOPPED(status):
            break
    if os.WIFSIGNALED(status):
        _report(report, f"signal {os.WTERMSIG(status)}")
    else:
        _report(report, f"exit {os.WEXITSTATUS(status)}")
    os._exit(0)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_lineno) if trace is not None else "?"


def _report(report: int, line: str) -> None:
    os.write(report, line.encode("ascii", "replace") + b"\n")


# ---- script


def _script(kernel: Kernel, plan: "Plan", report: int) -> "NoReturn":
    """Give up everything that is left, test that it is gone, exec."""
    try:
        os.setsid()
        linux = sys.platform == "linux"
        if plan["level"] != "namespace" and plan["root"]:
            _leave_root(kernel, plan)
        if linux:
            kernel.prctl("pdeathsig", PR_SET_PDEATHSIG, SIGKILL)
        with step("directory"):
            _open_streams(plan)
            os.chdir(plan["directory"])
        os.umask(0o022)
        _limit(plan["limits"])
        landlock = apply_landlock(kernel, plan) if linux else 0
        if linux:
            _report(report, f"landlock {landlock}")
        if plan["level"] != "audit-hook":
            init = os.getppid()
            protected = [*plan["protected"], init, -init, -1] if plan["protected"] else []
            apply_seccomp(
                kernel,
                namespace=plan["level"] == "namespace",
                protected=protected,
                signals=landlock < _SCOPES_SIGNALS,
                handover=plan["handover"],
            )
        plan["handover"].close()
        _self_test(plan, report)
        os.set_inheritable(report, False)
        os.closerange(3, report)
        os.closerange(report + 1, 256)
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        command = plan["command"]
        if not command:
            os._exit(0)
        with step("exec"):
            os.execve(command[0], command, plan["environment"])  # noqa: S606
    except StepError as error:
        _report(report, f"failed {error.step} {error.number}")
    except BaseException as error:  # noqa: BLE001  (as above)
        _report(report, f"failed {type(error).__name__}:{_place(error)} 0")
    os._exit(127)


def _leave_root(kernel: Kernel, plan: "Plan") -> None:
    """Become the plan's user; or stay uid 0 without any capability where nothing else can read Python."""
    uid, gid = plan["outer"]
    if sys.platform == "linux":
        drop_bounding_set(kernel)
    if uid != 0:
        with step("become-user"):
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
    if sys.platform == "linux":
        drop_capabilities(kernel)


def _open_streams(plan: "Plan") -> None:
    opened = [(0, os.open(os.devnull, os.O_RDONLY))]
    for target, path in ((1, plan["stdout"]), (2, plan["stderr"])):
        opened.append((target, os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)))
    for target, descriptor in opened:
        if target == descriptor:
            os.set_inheritable(descriptor, True)
        else:
            os.dup2(descriptor, target)


def _limit(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        _, most = resource.getrlimit(kind)
        if most != resource.RLIM_INFINITY:
            value = min(value, most)  # noqa: PLW2901
        try:
            resource.setrlimit(kind, (value, value))
        except (OSError, ValueError) as error:
            if sys.platform == "linux":  # macOS knows limits that it does not let anybody set
                raise StepError(name, getattr(error, "errno", 0) or 0) from error


def _self_test(plan: "Plan", report: int) -> None:
    """Try to leave: towards the runner's own listener on loopback, and to its own file outside.

    Where one of them is reached that ought not to be, the runner ends everything: `strict`.
    """
    reached = False
    if plan["port"] and plan["level"] != "audit-hook":
        try:
            attempt = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
            attempt.settimeout(1)
            attempt.connect(("127.0.0.1", plan["port"]))
        except OSError as error:
            _report(report, f"tested network {'refused' if error.errno else 'silent'}")
        else:
            _report(report, "tested network reached")
            reached = True
    if plan["canary"]:
        try:
            os.close(os.open(plan["canary"], os.O_RDONLY))
        except OSError:
            _report(report, "tested files refused")
        else:
            _report(report, "tested files reached")
            reached = True
    if reached and plan["strict"]:
        os._exit(126)
