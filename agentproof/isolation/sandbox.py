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
_LAUNCHER = (
    *("system.remove", "isolation.syscalls", "isolation.confine", "isolation.filter"),
    *("isolation.referee", "isolation.launcher"),
)
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
_PROBE_SECONDS = 60
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


_SCRATCH = ("/tmp", "/dev/shm")  # noqa: S108  (private where they are given)


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


# Runs under the environment's Python: standard library only, Python 3.10 and newer.
_PROBE = """
import sys
try:
    with open("/proc/self/maps") as maps:
        mapped = {line.split(None, 5)[5].rstrip("\\n") for line in maps if "/" in line}
except OSError:
    mapped = set()
minor = "%d.%d" % sys.version_info[:2]
for each in (minor, sys.base_prefix, sys.base_exec_prefix, len(sys.path), *sys.path, *sorted(mapped)):
    print(each)
"""
_BESIDE_LIBRARY = (
    *("lib/engines-3", "lib/ossl-modules", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf"),
    *("lib/terminfo", "share/terminfo", "share/zoneinfo"),
)
"""What Python's own libraries read below the prefix that they were built for."""


def interpreter(venv: Path) -> Interpreter:
    """Ask the Python of a virtual environment where its files are; nothing above them is its own.

    Its prefix may be a home, or a folder that others use too (`~/.local`), so of a prefix only the
    standard library, the shared libraries and the executable are taken, wherever links lead.

    Raises:
        CannotDoError: the environment is damaged.
    """
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    try:
        done = subprocess.run(
            [str(python), "-I", "-S", "-B", "-c", _PROBE],
            capture_output=True,
            check=True,
            timeout=_PROBE_SECONDS,
            stdin=subprocess.DEVNULL,
            # As within: a Python that needs more is not started there either.
            env={"SYSTEMROOT": os.environ.get("SYSTEMROOT", "")} if os.name == "nt" else {},
        )
        lines = os.fsdecode(done.stdout).splitlines()
        minor, prefix, exec_prefix, count, *rest = lines
        major_number, minor_number = map(int, minor.split("."))
        library, mapped = rest[: int(count)], rest[int(count) :]
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        said = os.fsdecode(getattr(error, "stderr", None) or b"").strip()
        raise CannotDoError(
            f"{venv}/pyvenv.cfg names no Python that starts: {said[-500:] or error}",
            hint="choose another with --python",
        ) from error
    prefixes = {Path(os.path.realpath(each)) for each in (prefix, exec_prefix)}
    trees = [Path(each) for each in library if os.path.isabs(each)]
    trees += _executables(python, minor)
    for each in sorted(prefixes):
        trees += [each / below for below in (*_BESIDE_LIBRARY, f"include/python{minor}")]
        trees += [path for folder in ("lib", "lib64") for path in sorted(each.glob(f"{folder}/lib*.so*"))]
    trees += [Path(each) for each in mapped if Path(each).name.partition(".so")[1]]
    return Interpreter(
        prefix=Path(os.path.realpath(prefix)),
        minor=(major_number, minor_number),
        trees=tuple(dict.fromkeys(each for each in trees if each.exists() and not _is_system(each))),
    )


def _executables(python: Path, minor: str) -> Iterator[Path]:
    """The executable, by each name that Python looks for in the `home` of `pyvenv.cfg` (getpath.py)."""
    yield python
    with contextlib.suppress(OSError, ValueError):
        for line in (python.parents[1] / "pyvenv.cfg").read_text("utf-8").splitlines():
            key, _, home = line.partition("=")
            if key.strip() != "home":
                continue
            for name in ("python", "python3", f"python{minor}"):
                place = Path(home.strip(), name)
                if place.exists() and place.samefile(python):
                    yield place


def _is_system(path: Path) -> bool:
    """Whether everything that is run has it already, with every link on the way there."""
    links, real = follow(path)
    steps = [str(path), *links, real]
    return all(any(Path(step).is_relative_to(system) for system in _SYSTEM) for step in steps)


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


_FIRST_ADDRESS = (127, 77, 0, 0)


@dataclass(frozen=True)
class Provided:
    """Names of hosts that lead, within, to sockets of the runner's."""

    places: Sequence[tuple[str, int]]
    """Host names and ports."""
    authority: Path
    """The certificates that are believed within instead of the machine's, as PEM."""
    handed_to: int
    """The descriptor of a unix socket that gets the listening sockets, in the order of `places`."""
    replaced: Sequence[Path] = ()
    """Files of certificates in the environment itself that `authority` is put over."""

    @property
    def names(self) -> dict[str, str]:
        """The loopback address of each name."""
        hosts = dict.fromkeys(host for host, _ in self.places)
        return {host: _address(number) for number, host in enumerate(hosts, start=1)}

    @property
    def listening(self) -> list[tuple[str, int]]:
        """Where to listen."""
        return [(self.names[host], port) for host, port in self.places]

    def mounts(self) -> dict[str, tuple[str, bytes | str]]:
        """What is put over files of the machine and of the environment."""
        files = [*map(Path, CERTIFICATES), *self.replaced]
        covered = sorted({follow(each)[1] for each in files if each.is_file()})
        return dict.fromkeys((AUTHORITY, *covered), ("over", str(self.authority)))


AUTHORITY = "/etc/ssl/agentproof.pem"
"""Where a sandbox has the certificates that are believed, whatever else the machine has."""
CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
)
"""Where distributions keep the certificates that are believed (as crypto/x509 of Go lists them)."""


def _address(number: int) -> str:
    first, second, third, _ = _FIRST_ADDRESS
    return f"{first}.{second}.{third}.{number}"


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
    provided: Provided | None = None,
) -> dict[str, Any]:  # Any: what `marshal` carries
    """What the launcher is to do. An empty command ends after the self-test.

    `base` is the run's directory, which the launcher removes if this process dies. `user` is the uid
    and gid to become as root; None keeps the caller's. Without `user_namespace` root makes the other
    namespaces itself and leaves root afterwards. `provided` needs level `namespace`.
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
        "listen": provided.listening if provided is not None else [],
        "listeners_to": provided.handed_to if provided is not None else -1,
        # Nothing that two runs share may be locked; below `base` there is the copy of the script's files.
        "lockable": [*map(str, writable), *(_SCRATCH if level == "namespace" else ())],
        "shared": [str(base), *map(str, readable)],
    }
    if level == "namespace":
        texts, over = _texts(*inner), provided.mounts() if provided is not None else None
        for name, address in provided.names.items() if provided is not None else ():
            texts["/etc/hosts"] += f"{address}\t{name}\n".encode("ascii")
        plan["mounts"] = _mounts((*system, *etc, *readable), writable, devices, texts, over)
        plan["readable"] = ["/"]
        plan["writable"] = [*_SCRATCH, *devices, *map(str, writable)]
    else:
        plan["readable"] = [*map(str, (*system, *etc, *readable)), "/proc"]
        plan["writable"] = [*devices, *map(str, writable)]
    return plan


def _mounts(
    readable: Sequence[Path],
    writable: Sequence[Path],
    devices: Sequence[str],
    texts: Mapping[str, bytes],
    over: Mapping[str, tuple[str, bytes | str]] | None = None,
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
    found |= over or {}
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
    handed_to = (plan["listeners_to"],) if plan["listen"] else ()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _BOOTSTRAP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # The host's Python may need it to find its own library; the script never sees it.
        env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
        start_new_session=True,
        bufsize=0,
        pass_fds=handed_to,
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
