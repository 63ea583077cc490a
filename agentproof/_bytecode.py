"""Bytecode of an environment's verified sources: compiled once per lock, hash-checked on each use.

A forged `.pyc` runs while every source is clean, so none is ever taken from where it lies. The
interpreter compiles the verified sources itself, running nothing of them; the result is kept as one
archive per lock, and each use unpacks it, after its SHA-256 was checked, below a fresh pycache prefix.
The files are PEP 552 unchecked-hash ones: valid whatever the time stamps of the new copies, and not
judged again by Python, since they were by us.

    <cache>/bytecode/<key>.zip   stored, not compressed: paths relative to site-packages
    <cache>/bytecode/<key>.json  its SHA-256
"""

import hashlib
import io
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ._files import write_atomic
from ._pythons import Interpreter
from .errors import CannotDoError, FormatError
from .models._wire import Count, Sha256, Wire
from .models.manifest import Package

_SECONDS: Final = 600


class _Index(Wire):
    """What an archive must be."""

    key: Sha256
    sha256: Sha256
    files: Count


def provide(
    *,
    prefix: Path,
    site_packages: Path,
    python: Path,
    interpreter: Interpreter,
    packages: tuple[Package, ...],
    cache: Path,
    progress: Callable[[str], None],
) -> int:
    """Fill the fresh directory `prefix` with the bytecode of `site_packages`; the number of files.

    The caller has verified `site_packages` just now.
    """
    key = _key(interpreter, packages)
    # What `importlib.util.cache_from_source` makes of a source's path below a pycache prefix.
    target = prefix / site_packages.relative_to(site_packages.anchor)
    kept = _kept(cache, key)
    if kept is None:
        progress("compiling bytecode (once for this lock)")
        _compile(python, prefix=prefix, site_packages=site_packages)
        kept = _packed(target)
        try:
            _keep(cache, key, kept)
        except CannotDoError:  # a read-only cache costs time, not the recording
            progress("the bytecode cannot be kept: the cache is not writable")
        return sum(1 for _ in target.rglob("*.pyc"))
    return _unpack(kept, target)


def _key(interpreter: Interpreter, packages: tuple[Package, ...]) -> str:
    """Everything that the compiled files depend on."""
    facts = [str(interpreter.path), interpreter.version, interpreter.tags[0]]
    return hashlib.sha256("\n".join([*facts, *(package.sha256 for package in packages)]).encode()).hexdigest()


def _compile(python: Path, *, prefix: Path, site_packages: Path) -> None:
    command = [
        *(str(python), "-I", "-S", "-X", f"pycache_prefix={prefix}", "-m", "compileall", "-qq"),
        *("-j", str(os.cpu_count() or 1), "--invalidation-mode", "unchecked-hash"),
        # The import system puts the real path in when it loads the file; here none of this machine's is kept.
        *("-s", str(site_packages), "-p", "site-packages", str(site_packages)),
    ]
    try:
        # Exit status 1 means that some file is no Python of this version, which is its own affair.
        subprocess.run(
            command, capture_output=True, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL, env={}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotDoError(f"{python} cannot compile the environment: {error}") from error


def _packed(directory: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(directory.rglob("*.pyc")):
            archive.writestr(zipfile.ZipInfo(path.relative_to(directory).as_posix()), path.read_bytes())
    return buffer.getvalue()


def _keep(cache: Path, key: str, archive: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        files = len(opened.namelist())
    write_atomic(cache / f"{key}.zip", archive)
    index = _Index(key=key, sha256=hashlib.sha256(archive).hexdigest(), files=files)
    write_atomic(cache / f"{key}.json", index.to_bytes())


def _kept(cache: Path, key: str) -> bytes | None:
    try:
        index = _Index.from_bytes((cache / f"{key}.json").read_bytes())
        archive = (cache / f"{key}.zip").read_bytes()
    except (OSError, FormatError):
        return None
    return archive if index.key == key and hashlib.sha256(archive).hexdigest() == index.sha256 else None


def _unpack(archive: bytes, target: Path) -> int:
    made: set[str] = set()
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        infos = opened.infolist()
        for info in infos:
            directory, _, name = info.filename.rpartition("/")
            path = os.path.join(target, directory)
            if directory not in made:
                os.makedirs(path, exist_ok=True)
                made.add(directory)
            with open(os.path.join(path, name), "xb", buffering=0) as stream:
                stream.write(opened.read(info))
    return len(infos)
