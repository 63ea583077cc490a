"""A fresh venv that holds exactly the locked wheels, and goes when it is no longer needed.

Rules:
1. uv installs from the store's hash-checked files, by copying, with its own cache and no index.
2. Every installed file is compared with the RECORD of its wheel, read from the wheel itself: uv does
   not hash its unpacked cache again.
3. Nothing else stays: what the installer adds (RECORD with its own lines, INSTALLER, direct_url.json,
   commands in `bin`) is taken away, so that site-packages holds what the wheels hold, on every machine.
4. The directory is new, belongs to the caller, may be traversed by others (the script may run as
   another user), and is removed at the end; what a killed process left is removed by the next one.
"""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from . import _bytecode, _cache, _index, _installed, _scratch
from ._lock import Lock
from ._remove import remove_tree
from ._wheelfile import WheelFile, read_wheel
from ._wheels import OWN_CACHES, WheelStore
from .errors import CannotDoError

_SECONDS: Final = 600
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - mkdtemp makes a directory of our own in it
_PLENTY: Final = 2 * 2**30


@dataclass(frozen=True)
class PreparedEnvironment:
    """A venv that was verified just now."""

    python: Path
    prefix: Path
    site_packages: Path
    pycache_prefix: Path
    installed_files: int
    """Files that were compared with the RECORD of their wheels."""
    seconds: float
    """What it took to build and verify."""


@contextmanager
def prepare(
    lock: Lock, store: WheelStore, *, progress: Callable[[str], None] = lambda _: None
) -> Iterator[PreparedEnvironment]:
    """Build the venv of a lock; it lasts as long as the block.

    Raises:
        CannotDoError: a wheel is missing, uv refuses, or an installed file is not its wheel's.
    """
    started = time.monotonic()
    sweep(store)
    with _scratch.directory("environment", parent=_places()[0], mode=0o755) as base:
        wheels = _wheels(lock, store)
        venv = base / "venv"
        # A cache of our own: what other tools unpacked is none of our business.
        files = _build(lock, wheels, venv, cache=store.cache / "uv", progress=progress)
        site_packages = _site_packages(lock, venv)
        pycache = base / "pycache"
        pycache.mkdir()
        python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        compiled = _bytecode.provide(
            prefix=pycache,
            site_packages=site_packages,
            interpreter=lock.python,
            packages=lock.packages,
            cache=store.cache / "bytecode",
            progress=progress,
        )
        if compiled:  # a new lock is what makes the caches grow
            _cache.prune(store)
        yield PreparedEnvironment(
            python=python,
            prefix=venv,
            site_packages=site_packages,
            pycache_prefix=pycache,
            installed_files=files,
            seconds=time.monotonic() - started,
        )


def sweep(store: WheelStore) -> int:
    """Remove what killed processes left in the places of environments and in the caches; how many things."""
    return _scratch.sweep((*_places(), *(store.cache / name for name in OWN_CACHES)))


@dataclass(frozen=True)
class _Ready:
    """A wheel of the lock, as the store has it."""

    path: Path
    file: WheelFile


def _wheels(lock: Lock, store: WheelStore) -> tuple[_Ready, ...]:
    ready, missing = [], []
    for package in lock.packages:
        path = store.get(package.sha256)
        if path is None:
            missing.append(package.wheel)
        else:
            ready.append(_Ready(path=path, file=read_wheel(store.read(package.sha256), package.wheel)))
    if missing:
        raise CannotDoError(
            f"{len(missing)} of {len(lock.packages)} wheels are not in the store: {', '.join(missing)}",
            hint="run again with the index in reach",
        )
    return tuple(ready)


def _site_packages(lock: Lock, venv: Path) -> Path:
    if os.name == "nt":
        return venv / "Lib" / "site-packages"
    return venv / "lib" / f"python{lock.python.minor}" / "site-packages"


def _build(
    lock: Lock, wheels: tuple[_Ready, ...], venv: Path, *, cache: Path, progress: Callable[[str], None]
) -> int:
    """Create and fill the venv; a poisoned cache of uv's is thrown away, once."""
    _install(lock, wheels, venv, ["--cache-dir", str(cache)])
    try:
        return _installed.settle(venv, _site_packages(lock, venv), [ready.file for ready in wheels])
    except _installed.DiffersError as difference:
        progress(f"{difference.what}: building again without uv's cache")
    # uv waits there for its other processes, which a plain removal would not.
    _index.run_uv(["cache", "clean", "--cache-dir", str(cache)], seconds=_SECONDS)
    remove_tree(str(venv))
    _install(lock, wheels, venv, ["--no-cache"])
    try:
        return _installed.settle(venv, _site_packages(lock, venv), [ready.file for ready in wheels])
    except _installed.DiffersError as difference:
        raise CannotDoError(
            difference.what, hint="the wheel contradicts its own RECORD; it cannot be recorded"
        ) from difference


def _install(lock: Lock, wheels: tuple[_Ready, ...], venv: Path, cache: list[str]) -> None:
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    environment = {"UV_NO_CONFIG": "1", "UV_OFFLINE": "1", "UV_NO_INDEX": "1"}
    for what, arguments in (
        ("create", ["venv", "--quiet", *cache, "--python", str(lock.python.path), str(venv)]),
        (
            "fill",
            [
                *("pip", "install", "--quiet", *cache, "--python", str(python), "--no-index", "--no-deps"),
                *("--offline", "--link-mode", "copy", "--no-compile-bytecode", "--no-verify-hashes"),
                *(str(ready.path) for ready in wheels),
            ],
        ),
    ):
        done = _index.run_uv(arguments, environment=environment, seconds=_SECONDS)
        if done.returncode != 0:
            raise CannotDoError(
                f"uv cannot {what} the environment: {' '.join(done.stderr.split())[:1000]}",
                hint="is the disk full, or the interpreter damaged?",
            )


def _places() -> list[Path]:
    """Where environments may be built, the preferred place first.

    In memory when there is plenty: an environment is some 6,000 small files that live for seconds, and
    making them costs 0.15 s there and 0.5 to 2.5 s on the disks tried.
    """
    places = [Path(tempfile.gettempdir())]
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            room = os.statvfs(_MEMORY)
            if room.f_bavail * room.f_frsize >= _PLENTY and not room.f_flag & (os.ST_NOEXEC | os.ST_RDONLY):
                places.insert(0, _MEMORY)
    return places
