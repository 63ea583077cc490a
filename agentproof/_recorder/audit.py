"""The audit hook: what the script opens, starts, and tries to reach (standard library only).

The network is refused here first, so that the script sees the same error whatever the machine can
isolate: `ENETUNREACH` for an address, "temporary failure in name resolution" for a name. Loopback
is left alone where it is the recording's own (a network namespace).
"""

import errno
import functools
import ipaddress
import os
import socket
import sys
import threading
import urllib.parse
import weakref
from types import FrameType
from typing import Any, Callable, Dict, List, NoReturn, Optional, Set, Tuple

from . import events, snapshots
from .events import journal
from .interrupts import Held
from .plan import Plan
from .values import text

_CONNECTING = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind"}
_NAMING = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
_CHANGING = {
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "shutil.move",
    "shutil.rmtree",
}
_TOUCHING = {
    *("os.chmod", "os.chown", "os.chflags", "os.utime", "os.setxattr", "os.removexattr"),
    *("os.kill", "os.killpg", "signal.pthread_kill"),
}
"""What a child that only answers may not do either."""
_STARTING = {"os.posix_spawn", "os.exec", "os.system", "os.fork", "os.forkpty", "subprocess.Popen"}
_FIRST_CHOSEN = 32768
"""Linux chooses ports from here on, unless it is told otherwise."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


_MOST_MISSED = 256
_LISTING = {__name__.partition(".")[0], "glob", "ntpath", "os", "pathlib", "posixpath", "shutil"}
"""Modules that list a folder for whoever calls them."""


class Seen:
    """What this process did so far, as far as others ask for it."""

    def __init__(self) -> None:
        self.opened: Set[str] = set()
        """Paths below the reproduction's root."""
        self.missed: Set[str] = set()
        """What was opened or started below the root or the working directory and is not there: relative."""
        self.written: Optional[str] = None
        """The first file that was written, outside of the bytecode cache."""
        self.started: Optional[str] = None
        """The first process that was started."""
        self.databases: Set[str] = set()
        """SQLite files that were opened, removed or put in place by the script itself."""
        self.driven: Dict[str, int] = {}
        """By SQLite file: how often a driver opened it in a thread of its own, for whom is not known."""
        self.ports: Set[int] = set()
        """Loopback ports that the system chose for sockets of the script's."""
        self.has_bound = False
        """Whether some socket's port is not known yet."""
        self._bound: List["weakref.ref[Any]"] = []
        self._gone = 0
        """Sockets that were closed before anybody could ask: what they had may be used again."""

    def note_bound(self, bound: Any) -> None:
        """A socket is about to be bound to a port that the system chooses."""
        self._bound.append(weakref.ref(bound))
        self.has_bound = True

    def note_chosen(self, port: int) -> None:
        """The script binds a port by its number: one that the system has just told it, it may be."""
        if self._gone and port >= _FIRST_CHOSEN:
            self.ports.add(port)

    def resolve_ports(self) -> None:
        """Ask the sockets that were bound which port they got."""
        waiting, self._bound = self._bound, []
        self.has_bound = False
        for ref in waiting:
            bound = ref()
            try:
                address = bound.getsockname() if bound is not None else None
            except OSError:
                address = bound = None  # closed again
            if bound is None:
                self._gone += 1
            elif not isinstance(address, tuple) or not address[1]:
                self._bound.append(ref)
                self.has_bound = True
            elif _is_near(address[0]):
                self.ports.add(address[1])


seen = Seen()
_inside = threading.local()
listeners: Dict[str, Callable[[Tuple[Any, ...]], None]] = {}
"""Who else is told of an event with these arguments, by its name; to be set before `install`."""
process_watcher: Optional[Callable[[str, Tuple[Any, ...]], None]] = None


def install(plan: Plan) -> None:
    """Begin to watch; an audit hook cannot be taken away again."""
    global _package
    _package = plan.package
    places = _Places(plan)
    ignored = tuple(
        os.path.join(path, "") for path in (plan.control, sys.pycache_prefix or plan.control, "/dev", "/proc")
    )
    handlers: Dict[str, Callable[[str, Tuple[Any, ...]], None]] = {}
    for name in _CONNECTING:
        handlers[name] = lambda event, arguments: _connect(event, arguments, plan)
    for name in _NAMING:
        handlers[name] = lambda event, arguments: _resolve(event, arguments, plan)
    for name in _CHANGING:
        handlers[name] = lambda event, arguments: _change(event, arguments, ignored)
    for name in _TOUCHING:
        handlers[name] = _touch
    for name in _STARTING:
        handlers[name] = lambda event, arguments: _start(event, arguments, places)
    handlers["open"] = lambda event, arguments: _open(arguments, places, ignored)
    handlers["sqlite3.connect"] = lambda event, arguments: _database(arguments, places)
    handlers["os.listdir"] = handlers["os.scandir"] = lambda event, arguments: _list(arguments, places)
    for name, listener in listeners.items():
        handlers[name] = functools.partial(_tell, listener)
    if plan.network == "seccomp":
        handlers["socket.__new__"] = _make_socket
    known = handlers.get

    def hook(event: str, arguments: Tuple[Any, ...]) -> None:
        handler = known(event)
        if handler is None or getattr(_inside, "busy", False):
            return
        _handle(handler, event, arguments)

    sys.addaudithook(hook)
    events.before_emitting = _resolve_in_time


def _resolve_in_time() -> None:
    """Before anything is told, and so before the script has done much with a port."""
    if seen.has_bound:
        seen.resolve_ports()


def _tell(listener: Callable[[Tuple[Any, ...]], None], event: str, arguments: Tuple[Any, ...]) -> None:
    listener(arguments)


def _handle(handler: Callable[[str, Tuple[Any, ...]], None], event: str, arguments: Tuple[Any, ...]) -> None:
    with Held():
        _inside.busy = True
        try:
            handler(event, arguments)
        except Exception as error:
            if error is not getattr(_inside, "refusal", None):
                journal().failed("audit", error)
                return
            del _inside.refusal
            raise
        finally:
            _inside.busy = False


def _raise(refusal: OSError) -> NoReturn:
    """Raise what the script is to see; whatever else is raised here is a fault of the recorder's."""
    _inside.refusal = refusal
    raise refusal


class Unwatched:
    """The recorder's own doings are no deeds of the script's."""

    def __enter__(self) -> None:
        self._before = getattr(_inside, "busy", False)
        _inside.busy = True

    def __exit__(self, *_: object) -> None:
        _inside.busy = self._before


class _Places:
    """Where the reproduction's files are: below its root, and copied into the working directories."""

    def __init__(self, plan: Plan) -> None:
        self.root = os.path.join(plan.root, "")
        self._work = [os.path.join(path, "") for path in plan.work.values()]

    def relative(self, path: str) -> Optional[str]:
        """The path below the root, of a file there or of its place in a working directory."""
        if path.startswith("/") and not path.startswith((self.root, *self._work)):
            return None
        full = os.path.abspath(path)
        for place in (self.root, *self._work):
            if full.startswith(place):
                return full[len(place) :]
        return None

    def is_top(self, path: str) -> bool:
        """Whether this is the root itself, or a working directory."""
        return os.path.join(os.path.abspath(path), "") in (self.root, *self._work)

    def note_read(self, path: str, *, made: bool = False) -> None:
        """A file is about to be read; `made`: it comes to be where it is not there."""
        relative = self.relative(path)
        if relative is None:
            return
        if os.path.isfile(self.root + relative):
            seen.opened.add(self.root + relative)
        elif not made and not os.path.lexists(path):
            self.note_missed(relative)

    def note_missed(self, relative: str) -> None:
        """Something is not there; the host knows whether it lies beside the script."""
        if len(seen.missed) < _MOST_MISSED and len(relative) < 1024 and relative.isprintable():
            seen.missed.add(relative)


def _open(arguments: Tuple[Any, ...], places: _Places, ignored: Tuple[str, ...]) -> None:
    path, _, flags = arguments
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not isinstance(path, str):
        return
    if isinstance(flags, int) and flags & _WRITING:
        _note_write(path, ignored)
        if flags & os.O_TRUNC:
            return
    places.note_read(path, made=isinstance(flags, int) and bool(flags & os.O_CREAT))


def _database(arguments: Tuple[Any, ...], places: _Places) -> None:
    path = arguments[0]
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if isinstance(path, str) and path not in (":memory:", ""):
        _note_database(path, places.root)
    if isinstance(path, str) and path not in (":memory:", ""):
        places.note_read(path)
        full = os.path.abspath(path)
        if not full.startswith(places.root) and seen.written is None:
            seen.written = full


def _note_database(path: str, root: str) -> None:
    """Who opens a database: the SDK for a session, the script for itself, or a thread for either."""
    if path.startswith("file:"):
        path = urllib.parse.unquote(path[5:].partition("?")[0])
    path = os.path.realpath(path)
    frame: Any = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == _package:
            return
        if frame.f_code.co_filename.startswith(root):
            seen.databases.add(path)
            return
        frame = frame.f_back
    seen.driven[path] = seen.driven.get(path, 0) + 1


_package = ""


def _list(arguments: Tuple[Any, ...], places: _Places) -> None:
    """A folder is looked into, by the script and not by an import."""
    path = arguments[0] if arguments else None
    path = "." if path is None else path
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if isinstance(path, str) and places.is_top(path):
        frame: Optional[FrameType] = sys._getframe()
        while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _LISTING:
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename.startswith(places.root):
            places.note_missed(".")


def _change(event: str, arguments: Tuple[Any, ...], ignored: Tuple[str, ...]) -> None:
    path = arguments[0] if arguments else None
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if isinstance(path, str):
        _note_write(path, ignored)
        if len(seen.databases) < _MOST_DATABASES:
            target = arguments[1] if event in ("os.rename", "shutil.move") and len(arguments) > 1 else path
            seen.databases.update(os.path.realpath(each) for each in (path, target) if isinstance(each, str))


_MOST_DATABASES = 10_000


def _touch(event: str, arguments: Tuple[Any, ...]) -> None:
    if snapshots.in_child:
        told = "a child that only answers a question does no {}".format(event)
        _raise(PermissionError(errno.EPERM, told))


def _note_write(path: str, ignored: Tuple[str, ...]) -> None:
    full = os.path.abspath(path)
    if (full + os.sep).startswith(ignored):
        return
    if snapshots.in_child:
        told = "a child that only answers a question changes no file"
        _raise(PermissionError(errno.EPERM, told, path))
    if seen.written is None:
        seen.written = full


def _start(event: str, arguments: Tuple[Any, ...], places: _Places) -> None:
    if snapshots.in_child:
        _raise(PermissionError(errno.EPERM, "a child that only answers a question starts no process"))
    program = arguments[0] if arguments else None
    if isinstance(program, bytes):
        program = os.fsdecode(program)
    if seen.started is None:
        seen.started = program if isinstance(program, str) else event
    for word in _words(arguments):
        relative = places.relative(word)
        if relative and not os.path.lexists(word):
            places.note_missed(relative)
    if process_watcher is not None:
        process_watcher(event, arguments)


def _words(arguments: Tuple[Any, ...]) -> List[str]:
    """What a command names, as far as it can be a file."""
    found: List[str] = []
    for argument in arguments[:2]:
        for part in argument if isinstance(argument, (list, tuple)) else (argument,):
            word = os.fsdecode(part) if isinstance(part, (str, bytes, os.PathLike)) else ""
            if len(word) < 4096:
                # A line for a shell, or code: of the words in it those that look like a path.
                whole = not any(letter.isspace() for letter in word)
                found += [word] if whole else [each for each in word.split() if "." in each or "/" in each]
    return [word for word in found[:_MOST_MISSED] if word and not word.startswith("-")]


def _make_socket(event: str, arguments: Tuple[Any, ...]) -> None:
    family = arguments[1] if len(arguments) > 1 else None
    if family in (socket.AF_INET, socket.AF_INET6):
        _refuse(event, None, loopback=False)
        _raise(OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH)))


def _connect(event: str, arguments: Tuple[Any, ...], plan: Plan) -> None:
    connection, address = arguments[0], arguments[1] if len(arguments) > 1 else None
    if getattr(connection, "family", None) not in (socket.AF_INET, socket.AF_INET6):
        return
    if not isinstance(address, tuple) or not address:
        return
    loopback = _is_loopback(address[0])
    if (loopback or event == "socket.bind") and plan.loopback:
        if event == "socket.bind" and _is_near(address[0]) and len(address) > 1 and address[1] == 0:
            seen.note_bound(connection)
        else:
            seen.resolve_ports()
            if event == "socket.bind" and len(address) > 1 and isinstance(address[1], int):
                seen.note_chosen(address[1])
        return
    target = "{}:{}".format(address[0], address[1] if len(address) > 1 else "")
    # To listen, on whatever address, reaches nobody: it is what a network namespace would have allowed.
    _refuse(event, target, loopback=loopback or event == "socket.bind")
    _raise(OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH)))


def _resolve(event: str, arguments: Tuple[Any, ...], plan: Plan) -> None:
    host = arguments[0] if arguments else None
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host is None or host == "" or _is_loopback(host) or _is_address(host) or host in plan.names:
        return
    _refuse(event, host, loopback=False)
    _raise(socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"))


def _is_address(host: object) -> bool:
    try:
        ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return False
    return True


def _is_loopback(host: object) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _is_near(host: object) -> bool:
    """True for loopback, and for all addresses at once."""
    return host in ("", "0.0.0.0", "::") or _is_loopback(host)  # noqa: S104  (what the script binds)


def _refuse(event: str, target: Optional[str], *, loopback: bool) -> None:
    fields = {"operation": event, "target": None if target is None else text(target), "loopback": loopback}
    journal().emit("network.refused", fields)
