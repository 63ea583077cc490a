"""A fresh venv that holds exactly the locked wheels, and goes when it is no longer needed.

Rules:
1. uv installs from the store's hash-checked files, by copying, with a cache that no other tool uses and
   no index.
2. Every installed file is compared with the RECORD of its wheel, read from the wheel itself: uv does
   not hash its unpacked cache again.
3. Nothing else stays: what the installer adds (RECORD with its own lines, INSTALLER, direct_url.json,
   commands in `bin`) is taken away, so that site-packages holds what the wheels hold, on every machine.
4. The directory is new, belongs to the caller, may be traversed by others (the script may run as
   another user), and is removed at the end; what a killed process left is removed by the next one.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from .. import _scratch
from .._remove import remove_tree
from ..errors import CannotDoError
from . import _bytecode, _cache, _installed, _uv
from ._lock import Lock
from ._wheelfile import WheelFile, read_wheel
from ._wheels import OWN_CACHES, WheelStore

_SECONDS: Final = 600
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
        try:
            prepared = _prepared(lock, store, base, progress)
        except OSError as error:
            raise CannotDoError(
                f"the environment cannot be built in {base.parent}: {error.strerror}", hint="make room there"
            ) from error
        yield replace(prepared, seconds=time.monotonic() - started)


def _prepared(
    lock: Lock, store: WheelStore, base: Path, progress: Callable[[str], None]
) -> PreparedEnvironment:
    venv = base / "venv"
    files = _build(lock, _wheels(lock, store), venv, cache=store.cache, progress=progress)
    site_packages = _site_packages(lock, venv)
    pycache = base / "pycache"
    pycache.mkdir()
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
    return PreparedEnvironment(
        python=_python(venv),
        prefix=venv,
        site_packages=site_packages,
        pycache_prefix=pycache,
        installed_files=files,
        seconds=0,
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


class _UvRefusesError(CannotDoError):
    """uv could not create or fill the venv."""


def _build(
    lock: Lock, wheels: tuple[_Ready, ...], venv: Path, *, cache: Path, progress: Callable[[str], None]
) -> int:
    """Create and fill the venv; a damaged or poisoned cache of uv's is thrown away, once."""
    kept = _uv.cache_directory(cache)
    try:
        return _installed_files(lock, wheels, venv, cache if kept is not None else None)
    except (_installed.DiffersError, _UvRefusesError) as error:
        progress(f"{error}: building again without uv's cache")
    if kept is not None:
        # uv waits there for its other processes, which a plain removal would not.
        _uv.run_uv(["cache", "clean"], cache=cache, seconds=_SECONDS)
    remove_tree(str(venv))
    try:
        return _installed_files(lock, wheels, venv, None)
    except _installed.DiffersError as difference:
        raise CannotDoError(
            difference.what, hint="a wheel that is not what its RECORD says cannot be recorded"
        ) from difference


def _installed_files(lock: Lock, wheels: tuple[_Ready, ...], venv: Path, cache: Path | None) -> int:
    """Create and fill the venv, verify it, and count what was compared."""
    configuration = b""
    for what, arguments in (
        ("create", ["venv", "--quiet", "--python", str(lock.python.path), str(venv)]),
        (
            "fill",
            [
                *("pip", "install", "--quiet", "--python", str(_python(venv)), "--no-index", "--no-deps"),
                *("--offline", "--link-mode", "copy", "--no-compile-bytecode", "--no-verify-hashes"),
                *(str(ready.path) for ready in wheels),
            ],
        ),
    ):
        done = _uv.run_uv(arguments, cache=cache, seconds=_SECONDS)
        if done.returncode != 0:
            full = _uv.NOT_WRITABLE.search(done.stderr) is not None
            raise _UvRefusesError(
                f"uv cannot {what} the environment: {' '.join(done.stderr.split())[:1000]}",
                hint=f"make room there, or set TMPDIR (now: {venv.parent.parent})"
                if full
                else "is the interpreter damaged?",
            )
        if what == "create":
            # Up to 0.9 uv puts a `_virtualenv.pth` into each new venv.
            for entry in os.scandir(_site_packages(lock, venv)):
                os.unlink(entry.path)
            configuration = (venv / _installed.CONFIGURATION).read_bytes()
    if os.name == "posix" and not _python(venv).samefile(lock.python.path):
        raise _UvRefusesError(
            f"uv made the environment for {_python(venv).resolve()}, not {lock.python.path}"
        )
    return _installed.settle(
        venv,
        _site_packages(lock, venv),
        [ready.file for ready in wheels],
        configuration=configuration,
    )


def _python(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _places() -> tuple[Path, ...]:
    """Where environments may be built, the preferred place first.

    An environment is some 6,000 small files: 0.15 s in memory, and 0.5 to 2.5 s on the disks tried.
    """
    return _scratch.places(room=_PLENTY)
