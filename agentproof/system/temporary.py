"""Half-made directories and files: marked while their process lives, removed when it was killed.

A lock (`flock`) on a file inside is held by the process that made them and goes with it, however it
ends. Whoever can take that lock knows that nobody uses them any more. Names begin with `agentproof-tmp-`
(behind a dot where people look) and hold the process id, for the moment before the lock is taken and for
systems without such locks. Nothing in agentproof makes a temporary directory or file in another way.
"""

import contextlib
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ..errors import CannotDoError
from .remove import remove_tree

try:
    import fcntl
except ImportError:  # Windows: the process id alone must do
    fcntl = None  # type: ignore[assignment]

_PREFIX: Final = "agentproof-tmp-"
_HIDDEN_PREFIX: Final = ".agentproof-tmp-"
_ALIVE: Final = "alive"
_ASIDE: Final = "aside"
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  (directories with random names are made in it)
_LOCKED_BY_NOW: Final = 60.0
"""Seconds after which whoever made something has locked it, or was killed before it could."""


def places(*, room: int) -> tuple[Path, ...]:
    """Where directories may be made, the preferred place first; all of them are to be swept.

    Memory comes first where `room` bytes are free in it: what lives for seconds and has thousands of small
    files takes ten times as long on a disk. A container has 64 MiB there by default.
    """
    import tempfile  # noqa: PLC0415 (4 ms, for those who write only)

    disk = Path(tempfile.gettempdir())
    if sys.platform != "linux":
        return (disk,)
    try:
        status, free = os.stat(_MEMORY), os.statvfs(_MEMORY)
    except OSError:
        return (disk,)
    good = (
        free.f_bavail * free.f_frsize >= room
        and not free.f_flag & (os.ST_NOEXEC | os.ST_RDONLY)
        and os.access(_MEMORY, os.W_OK | os.X_OK)
        and status.st_mode & stat.S_IXOTH
    )
    return (_MEMORY, disk) if good else (disk, _MEMORY)


@contextmanager
def directory(
    what: str, *, parent: Path | None = None, mode: int = 0o700, hidden: bool = False
) -> Iterator[Path]:
    """A new directory that is removed at the end of the block, with all that is in it.

    It holds one file, `alive`. `parent` defaults to the system's place for temporary files.

    Raises:
        CannotDoError: it cannot be made.
    """
    import tempfile  # noqa: PLC0415

    place = parent if parent is not None else Path(tempfile.gettempdir())
    prefix = f"{_HIDDEN_PREFIX if hidden else _PREFIX}{what}-{os.getpid()}-"
    try:
        base = Path(tempfile.mkdtemp(prefix=prefix, dir=place)).resolve()
    except OSError as error:
        raise CannotDoError(
            f"no directory can be made in {place}: {error.strerror}", hint="make room there, or set TMPDIR"
        ) from error
    try:
        base.chmod(mode)
        with (base / f".{_ALIVE}").open("wb") as alive:
            if fcntl is not None:
                fcntl.flock(alive, fcntl.LOCK_EX)
            # Under its name it is locked from the beginning.
            os.rename(alive.name, base / _ALIVE)
            yield base
    finally:
        remove_tree(str(base))


@contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """A directory to fill, which stands at `path` once the block ends without an error.

    What was there before goes, but not before the new one stands. A process that is killed in between
    leaves it to the next sweep of the parent directory to put the old one back.

    Raises:
        OSError: it cannot take its place; the old one is back.
    """
    with directory("new", parent=path.parent, hidden=True) as base:
        new, old = base / "new", base / _ASIDE / path.name
        new.mkdir()
        yield new
        try:
            if path.is_dir():
                old.parent.mkdir()
                os.rename(path, old)
            os.rename(new, path)
        except BaseException:
            _put_back(str(base), str(path.parent))
            raise


def write(path: Path, data: bytes, *, mode: int = 0o644, durable: bool = False) -> None:
    """Write a file so that a reader sees the old one or the whole new one.

    What is not `durable` may be torn by a crash of the machine, though not by the end of a process.

    Raises:
        OSError: it cannot be written; nothing is left behind.
    """
    import tempfile  # noqa: PLC0415

    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f"{_HIDDEN_PREFIX}{os.getpid()}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX)
            stream.write(data)
            stream.flush()
            if durable:
                os.fsync(descriptor)
            os.chmod(temporary, mode)
            if os.name != "nt":  # Windows renames no open file
                os.replace(temporary, path)
                return
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def sweep(parents: Iterable[Path]) -> int:
    """Remove what killed processes of this user left in these directories; how many things."""
    count = 0
    for parent in set(parents):
        try:
            entries = list(os.scandir(parent))
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith((_PREFIX, _HIDDEN_PREFIX)):
                with contextlib.suppress(OSError):  # just removed by its own process, or by another sweep
                    count += _abandoned(entry)
    return count


def _abandoned(entry: os.DirEntry[str]) -> bool:
    """Remove an entry whose process is gone; whether it was."""
    status = entry.stat(follow_symlinks=False)
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return False
    young = time.time() - status.st_mtime < _LOCKED_BY_NOW
    if stat.S_ISDIR(status.st_mode):
        if _in_use(entry.name, os.path.join(entry.path, _ALIVE), young=young):
            return False
        _put_back(entry.path, os.path.dirname(entry.path))
        remove_tree(entry.path)
        return True
    # Nothing is written to a file before it is locked.
    if not stat.S_ISREG(status.st_mode) or _in_use(
        entry.name, entry.path if status.st_size else None, young=young
    ):
        return False
    os.unlink(entry.path)
    return True


def _in_use(name: str, lock: str | None, *, young: bool) -> bool:
    """Whether a living process holds the lock, or may be about to make it."""
    if fcntl is None:
        return _runs(name)
    if lock is not None:
        try:
            with open(lock, "rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            pass
        else:
            return False
    # Process ids come again: an old thing is not in use because some other process has that number now.
    return young and _runs(name)


def _put_back(base: str, parent: str) -> None:
    """Put back what `replacement` moved aside, where nothing has taken its place."""
    aside = os.path.join(base, _ASIDE)
    with contextlib.suppress(OSError):
        for name in os.listdir(aside):
            if not os.path.lexists(os.path.join(parent, name)):
                os.rename(os.path.join(aside, name), os.path.join(parent, name))


def _runs(name: str) -> bool:
    """Whether the process that made something of that name runs; true when that cannot be told."""
    digits = name.rpartition("-")[0].rpartition("-")[2]
    if not digits.isdigit() or os.name == "nt":  # there `os.kill` would end the process
        return True
    try:
        os.kill(int(digits), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
