"""A bundle's directory, read as it stands: regular files below it, within bounds, and nothing outside.

1. Names are held to the format before anything is opened; no symbolic link is followed, no device or
   pipe is opened.
2. Where the system has a way to it, each directory is held open while it is read and each file is
   opened in it, so that nobody can put another directory in its place in between.
3. A file may have other names elsewhere (`cp -l`, deduplicating stores and backups make such): what
   counts is its bytes, which are read once and never written.
"""

import errno
import functools
import itertools
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import BundleError, CannotDoError
from ..limits import MAX_BUNDLE_BYTES, MAX_FILES, MAX_MEMBER_BYTES, MAX_PATH_DEPTH
from ..models.wire import MEMBER_PATH

_PATH = re.compile(MEMBER_PATH)
_MAX_PATH = 240
# A segment that ends in a dot; that Windows has as a device, with any suffix; or as a short name of another
# file, such as `MANIFE~1.JSO`.
_UNSAFE = re.compile(
    r"\.(?:/|\Z)|(?:\A|/)(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:[./]|\Z)"
    r"|(?:\A|/)[^/.]{1,6}~[0-9]{1,6}(?:\.[^/.]{0,3})?(?:/|\Z)",
    re.IGNORECASE,
)
_MAY_BE_EMPTY = "attestations/"

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# Opening must not wait for a pipe's other end either.
_FILE = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_IS_HELD = os.open in os.supports_dir_fd and os.scandir in os.supports_fd


@functools.lru_cache(maxsize=4096)  # many bundles have the same names
def is_safe_path(path: str) -> bool:
    """Whether `path` names a member on every system, and nothing outside the bundle."""
    return (
        len(path) <= _MAX_PATH
        and _PATH.fullmatch(path) is not None
        and path.count("/") < MAX_PATH_DEPTH
        and _UNSAFE.search(path) is None
    )


def read_folder(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of every file below `root`.

    Raises:
        BundleError: a name, a kind of file or a size that no bundle has.
        CannotDoError: the operating system refuses to read it.
    """
    folder = _Folder(root)
    with folder.opened(str(root), None, "", _DIRECTORY) as top:
        yield from folder.files(top, str(root), "", MAX_PATH_DEPTH)


def read_beside(root: Path, path: str) -> bytes | str | None:
    """One file below `root`, by a path that `is_safe_path`; None where there is none.

    Within the bounds of a member, and without following a link: of anything else it says what it is.

    Raises:
        CannotDoError: the operating system refuses to read it.
    """
    held: list[int] = []
    try:
        *parents, name = path.split("/")
        if not _IS_HELD:
            parents, name = [], str(root / path)
        for part in (str(root), *parents) if _IS_HELD else ():
            flags = _DIRECTORY | (_NO_LINK if held else 0)
            held.append(os.open(part, flags, dir_fd=held[-1] if held else None))
        held.append(os.open(name, _FILE, dir_fd=held[-1] if held else None))
        about = os.fstat(held[-1])
        if not stat.S_ISREG(about.st_mode):
            return "no regular file"
        if about.st_size > MAX_MEMBER_BYTES:
            return f"{about.st_size} bytes"
        data = _read(held[-1], about.st_size)
        return data if len(data) <= MAX_MEMBER_BYTES else f"more than {MAX_MEMBER_BYTES} bytes"
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
            return "a symbolic link, or no regular file"
        raise CannotDoError(f"{root / path}: {error.strerror}") from error
    finally:
        for descriptor in held:
            os.close(descriptor)


def _too_many() -> BundleError:
    return BundleError("too_many", f"more than {MAX_FILES} files in a directory")


def _read(descriptor: int, size: int) -> bytes:
    """A file that had this size, and one byte more of what is still growing."""
    data = os.read(descriptor, size + 1)
    while len(data) <= size and (more := os.read(descriptor, size + 1 - len(data))):
        data += more
    return data


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._left = MAX_BUNDLE_BYTES
        self._count = 0

    def files(self, held: int | None, place: str, prefix: str, depth: int) -> Iterator[tuple[str, bytes]]:
        """The files below a directory, which is held open or, where that cannot be, at `place`."""
        with self._refusals(prefix), os.scandir(place if held is None else held) as found:
            entries = sorted(itertools.islice(found, MAX_FILES + 1), key=lambda entry: entry.name)
        if len(entries) > MAX_FILES:
            raise _too_many()
        for entry in entries:
            relative = prefix + entry.name
            name = entry.name if held is not None else os.path.join(place, entry.name)
            if not is_safe_path(relative):
                raise BundleError("unsafe_path", f"{relative!r} is no path of a bundle", hint="delete it")
            if entry.is_symlink():
                raise BundleError("link", "a symbolic link", path=relative, hint="put the file itself there")
            if entry.is_dir(follow_symlinks=False):
                if not depth:
                    raise BundleError("too_deep", f"more than {MAX_PATH_DEPTH} directories", path=relative)
                with self.opened(name, held, relative, _DIRECTORY | _NO_LINK) as below:
                    yield from self.files(below, name, f"{relative}/", depth - 1)
            elif entry.is_file(follow_symlinks=False):
                yield relative, self._read(name, held, relative)
            else:
                # Judged before opening: to open a device may already do something.
                raise BundleError("not_a_file", "not a regular file", path=relative)
        if prefix and prefix != _MAY_BE_EMPTY and not entries:
            raise BundleError("empty_directory", "an empty directory", path=prefix, hint="delete it")

    @contextmanager
    def opened(self, name: str, held: int | None, relative: str, flags: int) -> Iterator[int | None]:
        """A directory, held open; None where the system has no way to read what is in an open one."""
        if not _IS_HELD:
            yield None
            return
        with self._refusals(relative):
            descriptor = os.open(name, flags, dir_fd=held)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _read(self, name: str, held: int | None, relative: str) -> bytes:
        self._count += 1
        if self._count > MAX_FILES:
            raise _too_many()
        limit = min(self._left, MAX_MEMBER_BYTES)
        try:
            descriptor = os.open(name, _FILE, dir_fd=held)
            try:
                about = os.fstat(descriptor)
                if not stat.S_ISREG(about.st_mode):
                    raise BundleError("not_a_file", "not a regular file", path=relative)
                data = b"" if about.st_size > limit else _read(descriptor, about.st_size)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._refused(relative, error) from error
        if about.st_size > limit or len(data) > limit:
            raise BundleError("too_large", f"over the limit of {limit} bytes", path=relative)
        self._left -= len(data)
        return data

    @contextmanager
    def _refusals(self, relative: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._refused(relative, error) from error

    def _refused(self, relative: str, error: OSError) -> CannotDoError:
        return CannotDoError(f"{self._root / relative}: {error.strerror}")
