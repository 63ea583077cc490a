"""Half-made directories and files: marked while their process lives, removed when it was killed.

A lock (`flock`) on a file inside is held by the process that made them and goes with it, however it
ends. Whoever can take that lock knows that nobody uses them any more. Names begin with `agentproof-` and
hold the process id, for the moment before the lock is taken and for systems without such locks.
"""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ._remove import remove_tree
from .errors import CannotDoError

try:
    import fcntl
except ImportError:  # Windows: the process id alone must do
    fcntl = None  # type: ignore[assignment]

_PREFIX: Final = "agentproof-tmp-"
_FILE_PREFIX: Final = ".agentproof-tmp-"
_ALIVE: Final = "alive"


@contextmanager
def directory(what: str, *, parent: Path | None = None, mode: int = 0o700) -> Iterator[Path]:
    """A new directory that is removed at the end of the block, with all that is in it.

    It holds one file, `alive`. `parent` defaults to the system's place for temporary files.

    Raises:
        CannotDoError: it cannot be made.
    """
    place = parent if parent is not None else Path(tempfile.gettempdir())
    try:
        base = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{what}-{os.getpid()}-", dir=place)).resolve()
    except OSError as error:
        raise CannotDoError(
            f"no directory can be made in {place}: {error.strerror}", hint="make room there, or set TMPDIR"
        ) from error
    try:
        base.chmod(mode)
        with (base / _ALIVE).open("wb") as alive:
            if fcntl is not None:
                fcntl.flock(alive, fcntl.LOCK_EX)
            yield base
    finally:
        remove_tree(str(base))


def write(path: Path, data: bytes) -> None:
    """Write a file of a cache, so that a reader sees it whole or not at all.

    Not made durable: what is kept here is sealed, so what a crash of the machine tears is made again.

    Raises:
        OSError: it cannot be written; nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f"{_FILE_PREFIX}{os.getpid()}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX)
            stream.write(data)
            stream.flush()
            os.chmod(temporary, 0o644)
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
            if entry.name.startswith((_PREFIX, _FILE_PREFIX)):
                with contextlib.suppress(OSError):  # just removed by its own process, or by another sweep
                    count += _abandoned(entry)
    return count


def _abandoned(entry: os.DirEntry[str]) -> bool:
    """Remove an entry whose process is gone; whether it was."""
    status = entry.stat(follow_symlinks=False)
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return False
    if stat.S_ISDIR(status.st_mode):
        marked = os.path.join(entry.path, _ALIVE)
        if _held(marked) if os.path.exists(marked) else _runs(entry.name):
            return False
        remove_tree(entry.path)
        return True
    if not stat.S_ISREG(status.st_mode) or _runs(entry.name) or _held(entry.path):
        return False
    os.unlink(entry.path)
    return True


def _held(path: str) -> bool:
    """Whether a living process holds the lock."""
    if fcntl is None:
        return _runs(os.path.basename(os.path.dirname(path)))
    with open(path, "rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


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
