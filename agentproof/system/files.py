"""Atomic writes and bounded reads: the only two ways that agentproof touches single files."""

import os
import stat
from pathlib import Path

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


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write `data` so that a reader sees the old file or the whole new one; what a killed write left goes.

    Raises:
        CannotDoError: the directory cannot be written, or the disk is full; nothing is left behind.
    """
    temporary.sweep([path.parent])
    try:
        temporary.write(path, data, mode=mode, durable=True)
    except OSError as error:
        raise CannotDoError(
            f"cannot write {path}: {error.strerror}",
            hint="it takes a directory that you may write to, with room",
        ) from error
