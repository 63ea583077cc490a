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

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..bundle.wheel import Distribution, read_dependency
from ..errors import BundleError, CannotDoError
from ..system import temporary
from ..system.remove import remove_tree
from . import bytecode as _bytecode
from . import cache as _cache
from . import installed, uv
from .locking import Lock
from .wheel_store import OWN_CACHES, WheelStore

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
    discard: Callable[[], None]
    """Begin to remove it, beside what the caller goes on with; nobody may use it any more."""


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
    with temporary.directory("environment", parent=_places()[0], mode=0o755) as base:
        try:
            prepared = _prepared(lock, store, base, progress)
        except OSError as error:
            raise CannotDoError(
                f"the environment cannot be built in {base.parent}: {error.strerror}", hint="make room there"
            ) from error
        with _removal(prepared.prefix, prepared.pycache_prefix) as discard:
            yield replace(prepared, seconds=time.monotonic() - started, discard=discard)


@contextmanager
def _removal(*directories: Path) -> Iterator[Callable[[], None]]:
    """A way to have directories removed by a process of its own; the end of the block waits for it."""
    running: list[subprocess.Popen[bytes]] = []

    def begin() -> None:
        with contextlib.suppress(OSError):  # no such program: then the end of the block does it
            running.append(
                subprocess.Popen(
                    ["rm", "-rf", "--", *map(str, directories)],  # noqa: S607  (any that is found will do)
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )

    try:
        yield begin
    finally:
        for each in running:
            each.wait()


def _prepared(
    lock: Lock, store: WheelStore, base: Path, progress: Callable[[str], None]
) -> PreparedEnvironment:
    loaded = _loaded(lock, store)
    venv, pycache = base / "venv", base / "pycache"
    pycache.mkdir()
    bytecode = _bytecode.Bytecode(
        prefix=pycache,
        site_packages=_site_packages(lock, venv),
        interpreter=lock.python,
        packages=lock.packages,
        cache=store.cache / "bytecode",
    )

    def meanwhile() -> tuple[Distribution, ...]:
        bytecode.unpack()
        return tuple(
            _read(data, package.wheel) for package, (_, data) in zip(lock.packages, loaded, strict=True)
        )

    paths = [path for path, _ in loaded]
    files = _build(lock, paths, venv, cache=store.cache, progress=progress, meanwhile=meanwhile)
    if bytecode.compile(progress=progress):  # a new lock is what makes the caches grow
        _cache.prune(store)
    return PreparedEnvironment(
        python=_python(venv),
        prefix=venv,
        site_packages=_site_packages(lock, venv),
        pycache_prefix=pycache,
        installed_files=files,
        seconds=0,
        discard=lambda: None,
    )


def sweep(store: WheelStore) -> int:
    """Remove what killed processes left in the places of environments and in the caches; how many things."""
    swept = temporary.sweep((*_places(), *(store.cache / name for name in OWN_CACHES)))
    return swept + uv.sweep_cache(store.cache)


def _loaded(lock: Lock, store: WheelStore) -> list[tuple[Path, bytes]]:
    """Every wheel of the lock as the store has it, hashed now."""
    loaded, missing = [], []
    for package in lock.packages:
        found = store.load(package.sha256)
        if found is None:
            missing.append(package.wheel)
        else:
            loaded.append(found)
    if missing:
        raise CannotDoError(
            f"{len(missing)} of {len(lock.packages)} wheels are not in the store: {', '.join(missing)}",
            hint="run again with the index in reach",
        )
    return loaded


def _read(data: bytes, file_name: str) -> Distribution:
    try:
        return read_dependency(data, file_name)
    except BundleError as error:
        raise CannotDoError(
            f"a wheel that cannot be installed: {error.message}",
            hint="choose another version of it (--with NAME==VERSION, --as-of DATE)",
        ) from error


def _site_packages(lock: Lock, venv: Path) -> Path:
    if os.name == "nt":
        return venv / "Lib" / "site-packages"
    return venv / "lib" / f"python{lock.python.minor}" / "site-packages"


class _UvRefusesError(CannotDoError):
    """uv could not create or fill the venv."""


def _build(
    lock: Lock,
    paths: Sequence[Path],
    venv: Path,
    *,
    cache: Path,
    progress: Callable[[str], None],
    meanwhile: Callable[[], tuple[Distribution, ...]],
) -> int:
    """Create, fill and verify the venv; a damaged or poisoned cache of uv's is thrown away, once.

    `meanwhile` gives what the wheels say, while uv is at work in processes of its own.
    """
    kept = uv.cache_directory(cache)
    with ThreadPoolExecutor(max_workers=1) as beside:
        filling = beside.submit(_fill, lock, paths, venv, cache if kept is not None else None)
        wheels = meanwhile()
    try:
        return installed.settle(venv, _site_packages(lock, venv), wheels, configuration=filling.result())
    except (installed.DiffersError, _UvRefusesError) as error:
        progress(f"{error}: building again without uv's cache")
    if kept is not None:
        # uv waits there for its other processes, which a plain removal would not.
        uv.run_uv(["cache", "clean"], cache=cache, seconds=_SECONDS)
    remove_tree(str(venv))
    try:
        configuration = _fill(lock, paths, venv, None)
        return installed.settle(venv, _site_packages(lock, venv), wheels, configuration=configuration)
    except installed.DiffersError as difference:
        raise CannotDoError(
            difference.what, hint="a wheel that is not what its RECORD says cannot be recorded"
        ) from difference


def _fill(lock: Lock, paths: Sequence[Path], venv: Path, cache: Path | None) -> bytes:
    """Create and fill the venv; its configuration as it was before any wheel was in it."""
    _uv_does("create", ["venv", "--quiet", "--python", str(lock.python.path), str(venv)], venv, cache)
    # Up to 0.9 uv puts a `_virtualenv.pth` into each new venv.
    for entry in os.scandir(_site_packages(lock, venv)):
        os.unlink(entry.path)
    configuration = (venv / installed.CONFIGURATION).read_bytes()
    _uv_does(
        "fill",
        [
            *("pip", "install", "--quiet", "--python", str(_python(venv)), "--no-index", "--no-deps"),
            *("--offline", "--link-mode", "copy", "--no-compile-bytecode", "--no-verify-hashes"),
            *map(str, paths),
        ],
        venv,
        cache,
    )
    if os.name == "posix" and not _python(venv).samefile(lock.python.path):
        raise _UvRefusesError(
            f"uv made the environment for {_python(venv).resolve()}, not {lock.python.path}"
        )
    return configuration


def _uv_does(what: str, arguments: Sequence[str], venv: Path, cache: Path | None) -> None:
    done = uv.run_uv(arguments, cache=cache, seconds=_SECONDS)
    if done.returncode != 0:
        full = uv.NOT_WRITABLE.search(done.stderr) is not None
        raise _UvRefusesError(
            f"uv cannot {what} the environment: {' '.join(done.stderr.split())[:1000]}",
            hint=f"make room there, or set TMPDIR (now: {venv.parent.parent})"
            if full
            else "is the interpreter damaged?",
        )


def _python(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _places() -> tuple[Path, ...]:
    """Where environments may be built, the preferred place first.

    An environment is some 6,000 small files: 0.15 s in memory, and 0.5 to 2.5 s on the disks tried.
    """
    return temporary.places(room=_PLENTY)
