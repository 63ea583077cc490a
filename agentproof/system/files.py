"""Atomic writes and bounded reads: the only two ways that agentproof touches single files."""

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Final, TextIO

from ..errors import CannotDoError, UsageError
from . import temporary


def shown(path: Path | str) -> str:
    """A path as a text: a byte that belongs to no letter is written as an escape, and it has an end."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")[:4000]


def read_bounded(path: Path, *, limit: int, what: str) -> bytes:
    """Read a regular file of at most `limit` bytes.

    Raises:
        UsageError: there is no such file, it is no regular file, or it is over the limit.
        CannotDoError: the operating system refuses to read it.
    """
    try:
        # O_NONBLOCK: opening a FIFO must not hang; the type is judged on the open descriptor.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError as error:
        raise UsageError(f"{what} {path}: no such file") from error
    except OSError as error:
        raise CannotDoError(f"{what} {path}: {error.strerror}") from error
    try:
        # Before a stream is made of it, which refuses a directory by an error of its own.
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "no regular file"
            raise UsageError(f"{what} {path}: {kind}")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise CannotDoError(f"{what} {path}: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise UsageError(f"{what} {path}: more than {limit} bytes")
    return data


def read_stdin(limit: int) -> bytes:
    """All of the standard input, at most `limit` bytes; read once, however often it is asked for.

    Raises:
        UsageError: it is over the limit, or a terminal.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "`-` is the standard input, which is a terminal here", hint="… | agentproof COMMAND -"
        )
    data = _read_once(sys.stdin, limit + 1)
    if len(data) > limit:
        raise UsageError(f"the standard input: more than {limit} bytes")
    return data


@lru_cache(maxsize=1)
def _read_once(stream: TextIO, size: int) -> bytes:
    return stream.buffer.read(size)


STDOUT: Final = Path("-")


def is_stream(path: Path) -> bool:
    """Whether what is written there goes through, and no file stays: stdout, a device, a pipe.

    Raises:
        CannotDoError: the operating system refuses to say.
    """
    if path == STDOUT:
        return True
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except OSError as error:  # a loop of links, a name that is too long
        raise CannotDoError(
            f"{shown(path)}: {error.strerror}", hint="choose another path, as with --output"
        ) from error
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or _is_descriptor(path)


def _is_descriptor(path: Path) -> bool:
    """Whether it names a file that some process has open, such as /dev/stdout behind `>>`."""
    name = os.readlink(path) if path.is_symlink() else ""
    return name.startswith("/proc/") or os.path.realpath(path.parent).startswith("/proc/")


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write `data` so that a reader sees the old file or the whole new one; what a killed write left goes.

    A symbolic link stays, and the file that it names is written. Into a stream (see `is_stream`; `-` is
    stdout) the bytes go as they come.

    Raises:
        CannotDoError: the place cannot be written, or has no room; of a file nothing is left behind.
    """
    try:
        if is_stream(path):
            _write_through(path, data)
            return
        place = Path(os.path.realpath(path)) if path.is_symlink() else path
        temporary.sweep([place.parent])
        temporary.write(place, data, mode=mode, durable=True)
    except BrokenPipeError:
        raise  # the command's end, in its own way
    except OSError as error:
        raise CannotDoError(
            f"cannot write {shown(path)}: {error.strerror}",
            hint="it takes a place that you may write to, with room",
        ) from error


_stdout: ContextVar[TextIO | None] = ContextVar("stdout", default=None)


@contextmanager
def data_on_stdout() -> Iterator[None]:
    """Keep stdout for what is written to it as a file; whatever else is printed goes to stderr."""
    token = _stdout.set(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _stdout.reset(token)


def _write_through(path: Path, data: bytes) -> None:
    if path == STDOUT or _is_stdout(path):
        stdout = _stdout.get() or sys.stdout
        stdout.flush()
        stdout.buffer.write(data)
        stdout.buffer.flush()
        return
    # O_APPEND: behind a descriptor there may be a file that others write to.
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(descriptor, "wb", buffering=0) as stream:
        left = memoryview(data)
        while left:
            left = left[stream.write(left) or 0 :]


def _is_stdout(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat((_stdout.get() or sys.stdout).fileno()))
    except (OSError, ValueError):  # a stdout that is no file
        return False
