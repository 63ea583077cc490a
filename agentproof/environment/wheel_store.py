"""The wheel store: wheels by SHA-256 below the user's cache directory.

Rules:
1. A wheel is hashed when it goes in and each time it comes out; one that differs is taken for absent.
2. An entry appears whole, by one rename; processes may fill the store side by side.
3. Provenance is what this machine saw: `index` (served by the user's package index under the name of
   that project) or `file`. Nothing that comes in a bundle ever gives provenance. No URL is kept. It is
   sealed; in a store that was copied from elsewhere the wheels are good and their origin is unknown.

    <root>/wheels/<sha256>/<file name>.whl
    <root>/wheels/<sha256>/provenance
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal

from ..errors import CannotDoError, FormatError
from ..models.wire import Text, Wire
from ..system import temporary
from ..trust import seal as _seal

try:
    import fcntl
except ImportError:  # Windows: what was used in the last hour is spared
    fcntl = None  # type: ignore[assignment]

OWN_CACHES: Final = ("wheels", "locks", "bytecode", "built", "recordings", "refused", "neighbours")
"""Directories below the cache's root that agentproof itself writes to; `uv` beside them is uv's."""

IN_USE: Final = "in-use"
"""A file in the cache's root that every run holds a shared lock of."""
_PROVENANCE: Final = "provenance"
_CHUNK: Final = 2**20
_ATTEMPTS: Final = 20


def cache_root() -> Path:
    """Where agentproof keeps what it can make again: `AGENTPROOF_CACHE_DIR`, else the user's cache."""
    chosen = os.environ.get("AGENTPROOF_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute()
    import platformdirs  # noqa: PLC0415 (4 ms that a caller with its own directory need not spend)

    return platformdirs.user_cache_path("agentproof-bundles")


def default_store() -> "WheelStore":
    """The user's wheel store."""
    return WheelStore(cache_root())


_HELD: dict[Path, BinaryIO] = {}


def hold(cache: Path) -> None:
    """Tell `cache prune` of other processes that a run goes on, until this process ends."""
    if fcntl is None or cache in _HELD:
        return
    with contextlib.suppress(OSError):  # a read-only cache is not pruned
        cache.mkdir(parents=True, exist_ok=True)
        _HELD[cache] = (cache / IN_USE).open("ab")
        fcntl.flock(_HELD[cache], fcntl.LOCK_SH)


@contextmanager
def alone(cache: Path) -> Iterator[bool]:
    """Whether no run goes on; one that begins waits for the end of the block."""
    if fcntl is None:
        yield False
        return
    try:
        with (cache / IN_USE).open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
    except OSError:
        yield False


class Provenance(Wire):
    """Where this machine got a wheel from."""

    origin: Literal["index", "file"]
    project: Text | None = None
    """For `index`: the project, normalised, under whose name the index served it."""


@dataclass(frozen=True)
class StoredWheel:
    """An entry of the store, for listing."""

    sha256: str
    path: Path
    size: int
    used: float
    """When it was last asked for (seconds since the epoch)."""
    provenance: Provenance | None


class WheelStore:
    """Wheels by SHA-256; see the module for its rules."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        """The directory that all of agentproof's caches lie in."""
        self.root = cache / "wheels"

    def get(self, sha256: str) -> Path | None:
        """The wheel with that digest, hashed again now; None when it is not here or has changed."""
        path = self._path(sha256)
        if path is None or _digest(path) != sha256:
            return None
        with contextlib.suppress(OSError):  # a read-only store
            os.utime(path.with_name(_PROVENANCE))  # what `prune` goes by
        return path

    def load(self, sha256: str) -> tuple[Path, bytes] | None:
        """Where the wheel with that digest is, and its bytes, hashed now; None as for `get`."""
        path = self._path(sha256)
        if path is None:
            return None
        try:
            data = path.read_bytes()
        except OSError:
            return None
        return (path, data) if hashlib.sha256(data).hexdigest() == sha256 else None

    def bytes_of(self, sha256: str) -> bytes | None:
        """The bytes of the wheel with that digest, hashed now; None as for `get`."""
        found = self.load(sha256)
        return found[1] if found is not None else None

    def read(self, sha256: str) -> bytes:
        """The bytes of the wheel with that digest, hashed now.

        Raises:
            CannotDoError: it is not here, or has changed.
        """
        data = self.bytes_of(sha256)
        if data is None:
            raise CannotDoError(
                f"the wheel store {self.root} holds no wheel of SHA-256 {sha256}",
                hint="run again with the index in reach",
            )
        return data

    def provenance(self, sha256: str) -> Provenance | None:
        """How this machine got that wheel; None when it does not know."""
        data = _seal.kept(self.root / sha256 / _PROVENANCE, what=f"wheel {sha256}", is_use=False)
        try:
            return Provenance.from_bytes(data) if data is not None else None
        except FormatError:  # sealed by another version of this tool
            return None

    def add(self, source: Path | bytes, *, name: str, provenance: Provenance) -> Path:
        """Copy a wheel in under its own digest; a wheel once served by an index stays so.

        Raises:
            CannotDoError: the store cannot be written.
        """
        with self.receive(name=name, provenance=provenance) as incoming:
            if isinstance(source, bytes):
                incoming.path.write_bytes(source)
            else:
                import shutil  # noqa: PLC0415 (2 ms, which a check need not spend)

                shutil.copyfile(source, incoming.path)
        return incoming.stored

    @contextmanager
    def receive(self, *, name: str, provenance: Provenance) -> Iterator["Incoming"]:
        """A place to write a wheel to; it enters the store when the block ends without an error.

        Raises:
            CannotDoError: the store cannot be written.
        """
        if Path(name).name != name or not name.endswith(".whl"):
            raise ValueError(f"not a wheel's file name: {name}")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with temporary.directory("wheel", parent=self.root) as base:
                (base / "entry").mkdir()
                incoming = Incoming(base / "entry" / name)
                yield incoming
                self._enter(incoming, provenance)
        except OSError as error:
            raise CannotDoError(
                f"the wheel store {self.root} cannot be written: {error.strerror}",
                hint="make room (`agentproof cache prune`), or point AGENTPROOF_CACHE_DIR elsewhere",
            ) from error

    def _enter(self, incoming: "Incoming", provenance: Provenance) -> None:
        sha256 = _digest(incoming.path)
        if sha256 is None:
            raise RuntimeError(f"nothing was written to {incoming.path}")
        incoming.path.chmod(0o644)
        incoming.path.with_name(_PROVENANCE).write_bytes(_sealed(provenance, sha256))
        for _ in range(_ATTEMPTS):
            stored = self.get(sha256)
            if stored is not None:
                break
            self._place(incoming.path.parent, self.root / sha256)
        else:
            raise CannotDoError(f"the wheel store {self.root} does not keep {sha256}", hint="run again")
        if provenance.origin == "index" and self.provenance(sha256) != provenance:
            temporary.write(stored.with_name(_PROVENANCE), _sealed(provenance, sha256))
        incoming.sha256, incoming.stored = sha256, stored

    def _place(self, entry: Path, final: Path) -> None:
        """Try to put an entry where nothing good is: nothing, a damaged one, or by now another process's."""
        try:
            os.rename(entry, final)
        except OSError:
            if not final.exists():
                raise
            # A directory cannot be replaced while it has entries, so it is moved aside; next time round
            # the place is empty, or another process has filled it.
            with (
                temporary.directory("aside", parent=self.root) as aside,
                contextlib.suppress(FileNotFoundError),
            ):
                if self.get(final.name) is None:
                    os.rename(final, aside / "old")

    def _path(self, sha256: str) -> Path | None:
        if len(sha256) != 64 or not sha256.isalnum():
            raise ValueError(f"not a SHA-256: {sha256!r}")
        try:
            names = os.listdir(self.root / sha256)
        except OSError:
            return None
        wheels = [name for name in names if name.endswith(".whl")]
        return self.root / sha256 / wheels[0] if len(wheels) == 1 else None

    def entries(self) -> tuple[StoredWheel, ...]:
        """Every entry, least recently used first; nothing is hashed."""
        found = []
        try:
            names = os.listdir(self.root)
        except OSError:
            return ()
        for name in names:
            if len(name) != 64 or not name.isalnum():
                continue
            path = self._path(name)
            if path is None:
                continue
            try:
                facts, used = path.stat(), path.with_name(_PROVENANCE).stat()
            except OSError:
                continue
            found.append(
                StoredWheel(
                    sha256=name,
                    path=path,
                    size=facts.st_size,
                    used=used.st_mtime,
                    provenance=self.provenance(name),
                )
            )
        return tuple(sorted(found, key=lambda wheel: (wheel.used, wheel.sha256)))


class Incoming:
    """A wheel on its way into the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """Where to write it."""
        self.sha256 = ""
        """Set when it is in."""
        self.stored = path
        """Where it is once it is in."""


def _sealed(provenance: Provenance, sha256: str) -> bytes:
    return _seal.seal(provenance.to_bytes(), what=f"wheel {sha256}") or b""


def _digest(path: Path) -> str | None:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError:  # not there, or not readable: either way it has to be fetched
        return None
    return digest.hexdigest()
