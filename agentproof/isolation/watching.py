"""Which files of the reproduction were opened, by whatever program (inotify(7)).

The recorder sees what Python opens. A child of another kind (`cat`, `xxd`) reads unseen; the host sees that
the file was opened, since the copies are its own.
"""

import contextlib
import ctypes
import os
import struct
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

_ACCESS, _OPEN, _OVERFLOW, _IS_DIRECTORY = 0x1, 0x20, 0x4000, 0x40000000
_EVENT: Final = struct.Struct("iIII")


class FileWatch:
    """Watches copies of the same files; leaving the block ends it."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._folders: dict[int, str] = {}
        self._is_watched = False
        self._descriptor = -1

    def __enter__(self) -> "FileWatch":
        if sys.platform == "linux":
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._is_watched = self._descriptor >= 0
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def add(self, place: Path, *, writable: bool) -> None:
        """Watch the copies below `place`; where the script can write, what it only writes does not count."""
        folders = {str(PurePosixPath(name).parent) for name in self._names}
        for folder in sorted(folders) if self._descriptor >= 0 else ():
            path = place / folder
            if path.is_dir():
                mask = _ACCESS if writable else _OPEN
                watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(path), mask)
                self._folders[watch] = folder
                self._is_watched &= watch >= 0

    def opened(self) -> frozenset[str] | None:
        """The names of those that were opened; all if it were too many to tell, None without inotify."""
        found: set[str] = set()
        if not self._is_watched:
            return None  # not Linux, or the user's watches are used up
        with contextlib.suppress(BlockingIOError):
            while True:
                data = os.read(self._descriptor, 2**16)
                while data:
                    watch, mask, _, length = _EVENT.unpack_from(data)
                    name = os.fsdecode(data[_EVENT.size : _EVENT.size + length].rstrip(b"\0"))
                    data = data[_EVENT.size + length :]
                    if mask & _OVERFLOW:
                        return self._names
                    if watch in self._folders and not mask & _IS_DIRECTORY:
                        found.add((PurePosixPath(self._folders[watch]) / name).as_posix())
        return frozenset(found & self._names)


def ran_unobserved(events: Iterable[Mapping[str, object]]) -> bool:
    """Whether a program was started that the recorder does not see into."""
    return any(event.get("kind") == "process.started" and event.get("observed") is False for event in events)
