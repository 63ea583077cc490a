"""What a sandbox is built from: the plan for the launcher, and the launcher's start.

A plan lists what the script's process can read and write, at the paths that the host uses, so that
paths are the same at every level. Everything else is out of reach: by a root of its own, by Landlock,
or not at all where the machine has neither.
"""

import contextlib
import marshal
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, Literal

from ..errors import CannotDoError

Level = Literal["namespace", "seccomp", "audit-hook"]

_PACKAGE = Path(__file__).parents[1]
_LAUNCHER = ("system.remove", "isolation.syscalls", "isolation.confine", "isolation.launcher")
"""The modules that run in the launcher, the last one as its main program."""
_BOOTSTRAP = """\
import marshal, os, sys
def read(size):
    data = b""
    while len(data) < size:
        data += os.read(0, size - len(data)) or os._exit(0)
    return data
modules, plan = marshal.loads(read(int.from_bytes(read(8), "little")))
new = type(sys)
for name in ("agentproof", "agentproof.system", "agentproof.isolation"):
    sys.modules[name] = new(name)
for name, code in modules:
    module = sys.modules[name] = new(name)
    module.__package__ = name.rpartition(".")[0]
    exec(code, module.__dict__)
module.main(plan)
"""
"""Standard input must not be buffered: what follows on it is for the supervisor."""
_INNER_ID = 65534
"""`nobody`: the user that the script is, whoever records."""
_HIGH_ID = 1879048192
"""Systemd keeps 1879048192 to 2147483647 free of users (systemd.io/UIDS-GIDS)."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_ETC = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "gai.conf", "host.conf"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld-musl-x86_64.path", "localtime", "mime.types"),
    *("os-release", "pki/ca-trust", "pki/tls/certs", "protocols", "rpc", "services", "ssl/cert.pem"),
    *("ssl/certs", "ssl/openssl.cnf", "timezone"),
)
"""What libraries read from /etc. Not: passwd, hosts, resolv.conf, machine-id, which name the machine."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def _texts(uid: int, gid: int) -> dict[str, bytes]:
    """Files that name the machine, its users and its neighbours, by others that do not."""
    return {
        "/etc/passwd": f"nobody:x:{uid}:{gid}:nobody:/nonexistent:/usr/sbin/nologin\n".encode("ascii"),
        "/etc/group": f"nogroup:x:{gid}:\n".encode("ascii"),
        "/etc/hosts": b"127.0.0.1\tlocalhost\n::1\tlocalhost\n",
        "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
    }


@dataclass(frozen=True)
class Interpreter:
    """The Python that a virtual environment is made from."""

    prefix: Path
    minor: tuple[int, int]
    trees: tuple[Path, ...]
    """What must be readable for it to start: no more than its own files."""


def interpreter(venv: Path) -> Interpreter:
    """Read where the Python of a virtual environment lives from its `pyvenv.cfg`.

    Raises:
        CannotDoError: the environment is damaged.
    """
    try:
        lines = (venv / "pyvenv.cfg").read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise CannotDoError(f"{venv} is no virtual environment: {error}") from error
    values = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    version = (values.get("version_info") or values.get("version") or "").split(".")
    if "home" not in values or len(version) < 2 or not all(part.isdigit() for part in version[:2]):
        raise CannotDoError(f"{venv}/pyvenv.cfg names no Python")
    home = Path(values["home"])
    prefix = Path(os.path.realpath(home.parent))
    own = Path(os.path.realpath(os.path.expanduser("~")))
    if own.is_relative_to(prefix):
        # Python was installed straight into a home (or `/`): only its own folders, not the home.
        trees = tuple(prefix / each for each in ("bin", "lib", "lib64") if (prefix / each).is_dir())
    else:
        trees = (prefix,)
    return Interpreter(prefix, (int(version[0]), int(version[1])), (home, *trees))


def closed_to_others(paths: Sequence[Path], *, ancestors: bool) -> Path | None:
    """The first of `paths` (with `ancestors`: or above them) that another user cannot read."""
    for path in paths:
        real = Path(os.path.realpath(path))
        for each in (real, *(real.parents if ancestors else ())):
            try:
                mode = os.stat(each).st_mode
            except OSError:
                return each
            needed = 0o005 if each == real and each.is_dir() else 0o001 if each.is_dir() else 0o004
            if mode & needed != needed:
                return each
    return None


@dataclass(frozen=True)
class ProbeTargets:
    """What the self-test tries to reach: a listener on loopback and a file, both the runner's own."""

    port: int
    file: Path


@contextmanager
def outside(directory: Path) -> Iterator[ProbeTargets]:
    """Things outside the sandbox that can be reached from here, as this function checks first.

    Raises:
        CannotDoError: loopback does not work here, so a refusal from within would mean nothing.
    """
    canary = directory / "outside"
    canary.write_bytes(b"unreachable from within\n")
    canary.chmod(0o644)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        try:
            listener.bind(("127.0.0.1", 0))
            listener.listen(8)
            port: int = listener.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                listener.accept()[0].close()
        except OSError as error:
            raise CannotDoError(
                f"the self-test of the isolation needs loopback, which does not work here: {error}",
                hint="`ip link set lo up`",
            ) from error
        yield ProbeTargets(port=port, file=canary)


def is_root() -> bool:
    """True for uid 0."""
    return os.name == "posix" and os.geteuid() == 0


def free_id(offset: int = 0) -> int | None:
    """As root: a uid that nobody has, for a script that must not be root; None for anybody else."""
    if not is_root():
        return None
    high = _HIGH_ID + (os.getpid() * 16 + offset) % 2**26
    low = 61000 + (os.getpid() * 16 + offset) % 4000
    try:
        maps = Path("/proc/self/uid_map").read_text("ascii").split()
    except OSError:
        return low
    ranges = [(int(maps[i]), int(maps[i + 2])) for i in range(0, len(maps), 3)]
    for candidate in (high, low):
        if any(first <= candidate < first + count for first, count in ranges):
            return candidate
    return None


def launch_plan(
    level: Level,
    *,
    base: Path,
    command: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    streams: tuple[Path, Path],
    readable: Sequence[Path],
    writable: Sequence[Path],
    limits: Mapping[str, int],
    user: int | None,
    beyond: ProbeTargets | None,
    user_namespace: bool = True,
) -> dict[str, Any]:  # Any: what `marshal` carries
    """What the launcher is to do. An empty command ends after the self-test.

    `base` is the run's directory, which the launcher removes if this process dies. `user` is the uid
    and gid to become as root; None keeps the caller's. Without `user_namespace` root makes the other
    namespaces itself and leaves root afterwards.
    """
    root = is_root()
    system = tuple(Path(each) for each in _SYSTEM if os.path.isdir(each))
    etc = tuple(Path("/etc", each) for each in _ETC if os.path.lexists(f"/etc/{each}"))
    devices = [each for each in _DEVICES if os.path.exists(each)]
    outer = (0, 0)
    if os.name == "posix":
        outer = (user, user) if user is not None else (os.geteuid(), os.getegid())
    inner = (_INNER_ID, _INNER_ID) if user_namespace else outer
    plan: dict[str, Any] = {
        "level": level,
        "root": root,
        "user_namespace": user_namespace,
        "inner": inner,
        "outer": outer,
        "base": str(base),
        "command": list(command),
        "environment": dict(environment),
        "directory": str(directory),
        "stdout": str(streams[0]),
        "stderr": str(streams[1]),
        "limits": dict(limits),
        "port": beyond.port if beyond else 0,
        "canary": str(beyond.file) if beyond else "",
        "strict": bool(command),
        "mounts": [],
    }
    if level == "namespace":
        plan["mounts"] = _mounts((*system, *etc, *readable), writable, devices, _texts(*inner))
        plan["readable"] = ["/"]
        plan["writable"] = ["/tmp", "/dev/shm", *devices, *map(str, writable)]  # noqa: S108  (private)
    else:
        plan["readable"] = [*map(str, (*system, *etc, *readable)), "/proc"]
        plan["writable"] = [*devices, *map(str, writable)]
    return plan


def _mounts(
    readable: Sequence[Path], writable: Sequence[Path], devices: Sequence[str], texts: Mapping[str, bytes]
) -> list[tuple[str, str, bytes | str]]:
    """The new root, top down: `(path, kind, value)`. Links stay links, so that every path leads on."""
    scratch = "mode=1777,size=256m,nr_inodes=16k"
    found: dict[str, tuple[str, bytes | str]] = {
        "/proc": ("proc", ""),
        "/tmp": ("tmpfs", scratch),  # noqa: S108  (private)
        "/dev/shm": ("tmpfs", scratch),  # noqa: S108  (private)
        "/dev/fd": ("link", "/proc/self/fd"),
        "/dev/stdin": ("link", "/proc/self/fd/0"),
        "/dev/stdout": ("link", "/proc/self/fd/1"),
        "/dev/stderr": ("link", "/proc/self/fd/2"),
    }
    found |= {path: ("text", text) for path, text in texts.items()}
    found |= dict.fromkeys(devices, ("device", "file"))
    for kind, paths in (("read", readable), ("write", writable)):
        for wanted in paths:
            links, real = follow(wanted)
            found |= {link: ("link", target) for link, target in links.items()}
            if os.path.exists(real):
                found[real] = (kind, "directory" if os.path.isdir(real) else "file")
    mounts: list[tuple[str, str, bytes | str]] = []
    for path in sorted(found, key=lambda each: (each.count("/"), each)):
        kind, value = found[path]
        above = [each for each in mounts if path.startswith(each[0] + "/") and each[1] in {"read", "write"}]
        # What lies below a read-only tree is there already; so is a link.
        if above and (kind in {"link", "text"} or kind == above[-1][1]):
            continue
        mounts.append((path, kind, value))
    return mounts


def follow(path: Path) -> tuple[dict[str, str], str]:
    """The symbolic links on the way to `path`, by their own path, and where it really is."""
    links: dict[str, str] = {}
    pending = list(reversed(Path(os.path.abspath(path)).parts[1:]))
    at = "/"
    left = 40  # the kernel gives up there too (path_resolution(7))
    while pending and left:
        step = os.path.normpath(os.path.join(at, pending.pop()))
        if not os.path.islink(step):
            at = step
            continue
        left -= 1
        target = os.readlink(step)
        links[step] = target
        pending += reversed([part for part in target.split("/") if part not in {"", "."}])
        if target.startswith("/"):
            at = "/"
    return links, at


def start(plan: Mapping[str, Any]) -> "subprocess.Popen[bytes]":  # Any: what `marshal` carries
    """Start the launcher. Closing its standard input ends the run and removes the run's directory."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _BOOTSTRAP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # The host's Python may need it to find its own library; the script never sees it.
        env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
        start_new_session=True,
        bufsize=0,
    )
    if process.stdin is None:
        raise RuntimeError("the launcher was started without pipes")
    data = marshal.dumps((_launcher_code(), dict(plan)))
    with contextlib.suppress(BrokenPipeError):  # it died at once; its end is noticed where it is awaited
        _write_all(process.stdin.fileno(), len(data).to_bytes(8, "little") + data)
    return process


@cache
def _launcher_code() -> tuple[tuple[str, CodeType], ...]:
    """The launcher's code, from its bytecode cache where there is one."""
    modules = []
    for name in _LAUNCHER:
        path = _PACKAGE.joinpath(*name.split(".")).with_suffix(".py")
        whole = f"agentproof.{name}"
        code = SourceFileLoader(whole, str(path)).get_code(whole)
        if code is None:
            raise RuntimeError(f"{path} has no code")
        modules.append((whole, code))
    return tuple(modules)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
