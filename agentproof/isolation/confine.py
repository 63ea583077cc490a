"""Stdlib only, runs in the launcher: what the Linux kernel offers to hold a process in.

Namespaces with a root of their own, Landlock, and the loss of every capability.
"""

import _socket
import ctypes
import fcntl
import os
import struct

from .syscalls import Kernel, StepError, step, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing costs 5 ms
    from typing import Any

    Plan = dict[str, Any]  # Any: what `marshal` carries; sandbox.launch_plan writes it

SIGKILL, SIGCHLD = 9, 17  # as in signal, which costs 5 ms to import

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
NAMESPACES = (
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
)
"""Root may have all of them without CLONE_NEWUSER, where user namespaces are switched off."""

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
OPEN_TREE_CLONE = 1
MOVE_MOUNT_F_EMPTY_PATH = 4

# The numbers above 423 are the same everywhere.
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REFER, TRUNCATE = 1 << 13, 1 << 14
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE


def enter_namespace(kernel: Kernel, plan: "Plan") -> None:
    """Build the file system, raise loopback, become the inner user, give up every capability."""
    kernel.libc.sethostname(b"sandbox", 7)
    kernel.mount("none", "/", None, MS_REC | MS_PRIVATE)
    # As root the host's uid still opens directories of mode 0700 here; after setresuid it does not.
    trees = [
        (path, _open_tree(kernel, value if kind == "over" else path, kind))
        for path, kind, value in plan["mounts"]
        if kind in {"read", "write", "device", "over"}
    ]
    if plan["root"]:
        # The root of a rootless container may not; then the groups give no more than it has itself.
        with suppress(PermissionError):
            os.setgroups([])
    if plan["user_namespace"]:
        # All capabilities within the namespace stay, and what is made belongs to the inner user.
        _become_inner(kernel, plan)
    with step("root"):
        _build_root(kernel, plan, dict(trees))
    _raise_loopback()
    if plan["listen"]:
        _hand_listeners_up(plan)
    drop_bounding_set(kernel)
    if not plan["user_namespace"]:
        _become_inner(kernel, plan)
    drop_capabilities(kernel)


def _become_inner(kernel: Kernel, plan: "Plan") -> None:
    uid, gid = plan["inner"]
    with step("become-user"):
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    # A change of ids clears the parent-death signal (prctl(2)).
    kernel.prctl("pdeathsig", PR_SET_PDEATHSIG, SIGKILL)


def _open_tree(kernel: Kernel, path: str, kind: str) -> int:
    """A detached copy of the mount at `path`, with everything mounted below it."""
    flags = OPEN_TREE_CLONE | AT_RECURSIVE | os.O_CLOEXEC
    tree = kernel.syscall(f"open_tree:{path}", OPEN_TREE, AT_FDCWD, path.encode() + b"\0", flags)
    attributes = {
        "read": MS_RDONLY | MS_NOSUID | MS_NODEV,
        "write": MS_NOSUID | MS_NODEV,
        "device": MS_NOSUID | MS_NOEXEC,
        "over": MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
    }[kind]
    setting = struct.pack("QQQQ", attributes, 0, 0, 0)
    flags = AT_EMPTY_PATH | AT_RECURSIVE
    kernel.syscall(f"mount_setattr:{path}", MOUNT_SETATTR, tree, b"\0", flags, setting, len(setting))
    return tree


def _build_root(kernel: Kernel, plan: "Plan", trees: dict[str, int]) -> None:
    """A new root that holds what the plan lists and nothing else, at the same paths."""
    # /dev: a directory that is always there and that the inner user can search; its devices are held.
    new = "/dev"
    kernel.mount("tmpfs", new, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m,nr_inodes=4096")
    for path, kind, value in plan["mounts"]:
        target = new + path
        if kind == "link":
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(value, target)
        elif kind == "text":
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as stream:
                stream.write(value)
        elif kind == "tmpfs":
            os.makedirs(target, exist_ok=True)
            kernel.mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, value)
        elif kind == "proc":
            os.makedirs(target, exist_ok=True)
            # Read-only: a script that is the host's uid 0 could write sysctls of the whole machine.
            kernel.mount("proc", target, "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
        else:
            _make_mount_point(target, is_directory=value == "directory")
            kernel.syscall(
                f"move_mount:{path}",
                MOVE_MOUNT,
                trees[path],
                b"\0",
                AT_FDCWD,
                target.encode() + b"\0",
                MOVE_MOUNT_F_EMPTY_PATH,
            )
            os.close(trees[path])
    os.chdir(new)
    kernel.syscall("pivot_root", kernel.number("pivot_root"), b".\0", b".\0")
    if kernel.libc.umount2(b".", MNT_DETACH) == -1:
        raise StepError("umount", ctypes.get_errno())
    os.chdir("/")
    kernel.mount("none", "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _make_mount_point(target: str, *, is_directory: bool) -> None:
    if is_directory:
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.lexists(target):
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))


def _raise_loopback() -> None:
    """`ip link set lo up`, in two ioctls (netdevice(7))."""
    with_flags = struct.Struct("16sh14x")
    interface = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    try:
        _, flags = with_flags.unpack(fcntl.ioctl(interface.fileno(), 0x8913, with_flags.pack(b"lo", 0)))
        fcntl.ioctl(interface.fileno(), 0x8914, with_flags.pack(b"lo", flags | 1))
    except OSError as error:
        raise StepError("loopback", error.errno or 0) from error
    finally:
        interface.close()


def _hand_listeners_up(plan: "Plan") -> None:
    """Listen where the names lead to, and give the sockets to the runner: a socket stays in the namespace
    that it was made in, so that nothing else runs within."""
    with step("listen"):
        listeners = []
        for address in plan["listen"]:
            listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
            listener.bind(address)
            listener.listen(128)
            listeners.append(listener)
        given = struct.pack(f"{len(listeners)}i", *(listener.fileno() for listener in listeners))
        runner = _socket.socket(fileno=plan["listeners_to"])
        runner.sendmsg([b"l"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, given)])
        for each in (runner, *listeners):
            each.close()


def drop_bounding_set(kernel: Kernel) -> None:
    """An exec can give no capability; needs CAP_SETPCAP."""
    for capability in range(64):
        try:
            kernel.prctl("bounding-set", PR_CAPBSET_DROP, capability)
        except StepError:
            return  # one more than the kernel knows


def drop_capabilities(kernel: Kernel) -> None:
    """No capability is left, and none can be had by an exec."""
    with suppress(StepError):  # before Linux 4.3 there are no ambient capabilities
        kernel.prctl("ambient", PR_CAP_AMBIENT, 4)
    header = struct.pack("Ii", 0x20080522, 0)
    kernel.syscall("capset", kernel.number("capset"), header, bytes(24))


def apply_landlock(kernel: Kernel, plan: "Plan") -> int:
    """Files: read and execute below `readable`, everything below `writable`, nothing elsewhere."""
    try:
        version = kernel.syscall("landlock", LANDLOCK_CREATE, None, 0, 1)
    except StepError:
        return 0
    handled = 0x1FFF | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    # Connecting and binding: all refused where there is no network namespace, whose loopback is private.
    network = 3 if plan["level"] != "namespace" else 0
    # Abstract unix sockets and signals to processes outside.
    attributes = struct.pack("QQQ", handled, network, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = kernel.syscall("landlock", LANDLOCK_CREATE, attributes, len(attributes), 0)
    for paths, rights in (
        (plan["readable"], EXECUTE | READ_FILE | READ_DIR),
        (plan["writable"], handled),
    ):
        for path in paths:
            try:
                opened = os.open(path, os.O_PATH | os.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore]
            except OSError:
                continue  # not on this machine
            granted = rights if os.path.isdir(path) else rights & handled & FILE_RIGHTS
            rule = struct.pack("=Qi", granted, opened)
            kernel.syscall(f"landlock:{path}", LANDLOCK_ADD, rules, 1, rule, 0)
            os.close(opened)
    kernel.syscall("landlock", LANDLOCK_RESTRICT, rules, 0)
    os.close(rules)
    return version
