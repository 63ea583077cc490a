"""What the caches hold, and keeping them within bounds: `agentproof cache list` and `prune`.

Everything here can be made again, so pruning costs time and nothing else. What was used within the last
hour stays: another process may be using it now.
"""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ..system import temporary
from . import lock_cache, uv
from .wheel_store import OWN_CACHES, WheelStore, alone

Kind = Literal["wheel", "lock", "bytecode", "built", "recording", "refused", "neighbours", "uv"]

MAX_BYTES: Final = 4 * 2**30
"""What the caches may hold before a recording prunes them: some hundred environments."""
_GRACE: Final = 3600.0
_KINDS: Final[tuple[tuple[str, Kind], ...]] = (
    ("locks", "lock"),
    ("bytecode", "bytecode"),
    ("built", "built"),
    ("recordings", "recording"),
    ("refused", "refused"),
    ("neighbours", "neighbours"),
)
"""Directories that hold one file an item."""
_UV_SECONDS: Final = 120.0


@dataclass(frozen=True)
class Item:
    """One thing in the cache."""

    kind: Kind
    label: str
    """For people: a wheel's file name, what a lock is of, else a digest; no path of this machine."""
    path: Path
    size: int
    used: float
    """When it was last used (seconds since the epoch)."""
    origin: str | None = None
    """For a wheel: `index` or `file`, as far as this user's agentproof knows."""


@dataclass(frozen=True)
class PruneResult:
    """What pruning removed."""

    items: tuple[Item, ...]
    abandoned: int
    """Leftovers of processes that were killed."""
    left: int
    """The bytes that are still there."""
    spared: int
    """Items that stayed though they are over the bounds: they may be in use."""

    @property
    def size(self) -> int:
        """The bytes that were freed."""
        return sum(item.size for item in self.items)


def list_cache(store: WheelStore) -> tuple[Item, ...]:
    """Everything in the cache, least recently used first; nothing is hashed."""
    return tuple(sorted(_items(store), key=lambda item: (item.used, item.label)))


def prune(
    store: WheelStore,
    *,
    max_bytes: int = MAX_BYTES,
    unused_for: float | None = None,
    now: float | None = None,
) -> PruneResult:
    """Remove leftovers, what was not used for `unused_for` seconds, and then the least recently used
    until the rest fits into `max_bytes`. What was used within the last hour stays while a run goes on."""
    with alone(store.cache) as is_alone:
        return _pruned(store, max_bytes, unused_for, now=now, grace=0 if is_alone else _GRACE)


def _pruned(
    store: WheelStore, max_bytes: int, unused_for: float | None, *, now: float | None, grace: float
) -> PruneResult:
    moment = now if now is not None else time.time()
    abandoned = temporary.sweep(store.cache / name for name in OWN_CACHES) + uv.sweep_cache(store.cache)
    items = list_cache(store)
    total = sum(item.size for item in items)
    removed = []
    spared = 0
    for item in items:
        age = moment - item.used
        too_old = unused_for is not None and age > unused_for
        if not (too_old or total > max_bytes):
            continue
        if grace and age < grace:
            spared += 1
        elif _remove(item, store):
            removed.append(item)
            total -= item.size
    return PruneResult(items=tuple(removed), abandoned=abandoned, left=total, spared=spared)


def _items(store: WheelStore) -> Iterator[Item]:
    for wheel in store.entries():
        known = wheel.provenance
        yield Item(
            "wheel", wheel.path.name, wheel.path, wheel.size, wheel.used, known.origin if known else None
        )
    for name, kind in _KINDS:
        for path, status in _files(store.cache / name):
            label = lock_cache.label(path) if kind == "lock" else path.name
            yield Item(kind, label, path, status.st_size, status.st_mtime)
    unpacked = store.cache / "uv"
    found = [status for _, status in _files(unpacked)]
    if found:
        # One thing: uv keeps its own order inside. Its newest access time says when it was used.
        used = max(max(status.st_mtime, status.st_atime) for status in found)
        yield Item(
            "uv", "uv's cache (unpacked wheels, index pages)", unpacked, sum(s.st_size for s in found), used
        )


def _files(top: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for directory, _, names in os.walk(top):
        for name in names:
            path = Path(directory, name)
            try:
                yield path, path.lstat()
            except FileNotFoundError:  # pruned by another process
                continue


def _remove(item: Item, store: WheelStore) -> bool:
    """Remove an item in one step for everybody else; whether it went."""
    try:
        if item.kind == "uv":
            # uv waits for its other processes there.
            done = uv.run_uv(["cache", "clean"], cache=store.cache, seconds=_UV_SECONDS)
            return done.returncode == 0
        if item.kind == "wheel":
            with temporary.directory("aside", parent=store.root) as aside:
                os.rename(item.path.parent, aside / "old")
                shutil.rmtree(aside / "old")
        else:
            item.path.unlink()
    except FileNotFoundError:  # another process was faster
        return False
    return True
