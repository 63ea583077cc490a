"""Locks that were made before: as of a past day they never change, so they need no index again."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from ..errors import FormatError
from ..models.manifest import Date, Package, Platform, Target
from ..models.wire import ListOf, Sha256, Text, Wire
from ..trust import seal as _seal


class Key(Wire):
    """All that a lock depends on."""

    requirement: Text
    wheel: Sha256 | None = None
    """For a target that is a file."""
    extra: ListOf[Text]
    pins: Sha256 | None = None
    """Of the lock or listing that was given."""
    as_of: Date | None = None
    """Absent: the target's own day."""
    python: Text
    platform: Platform
    tags: Sha256
    places: Sha256
    """Of the user's index settings, without credentials."""


class Record(Wire):
    """A lock as it is kept."""

    key: Key
    target: Target
    packages: ListOf[Package]
    as_of: Date | None = None


def digest(parts: Iterable[str]) -> str:
    """The SHA-256 of some texts, in order."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def load(cache: Path, key: Key) -> Record | None:
    """The lock that was kept for that key, if it is as it was written."""
    record = _record(_path(cache, key))
    return record if record is not None and record.key == key else None


def label(path: Path) -> str:
    """What a kept lock is of, for people."""
    record = _record(path, is_use=False)
    if record is None:
        return path.name
    day = f", as of {record.as_of}" if record.as_of else ""
    return f"{record.target.name} {record.target.version} on CPython {record.key.python}{day}"


def labels(cache: Path) -> list[str]:
    """What the kept locks are of, the newest first."""
    try:
        found = sorted(cache.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return []
    return list(dict.fromkeys(label(path) for path in found if not path.name.startswith(".")))


def keep(cache: Path, record: Record) -> bool:
    """Keep a lock; whether that was possible."""
    return _seal.keep(_path(cache, record.key), record.to_bytes(), what="lock")


def _record(path: Path, *, is_use: bool = True) -> Record | None:
    data = _seal.kept(path, what="lock", is_use=is_use)
    try:
        return Record.from_bytes(data) if data is not None else None
    except FormatError:  # sealed by another version of this tool
        return None


def _path(cache: Path, key: Key) -> Path:
    return cache / hashlib.sha256(key.to_bytes()).hexdigest()
