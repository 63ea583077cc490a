"""Pure comparisons with what the reader holds: a wheel against itself, and against the reader's sources.

`read_wheel` holds a wheel to its own RECORD:
1. Its file name, its one .dist-info directory and its METADATA name one project and version.
2. RECORD names every file exactly once and no other; each but RECORD itself (and its signatures) has
   a SHA-256 or better and a size that are true.
3. No path leaves the wheel.

`compare_loaded` holds modules to a wheel: each is a file of it with this digest, at the place where
an import of that name finds it.

`Sources.compare` says whether the reader's own wheels, locks and wheel store name the same wheel. A
wheel that comes with a bundle proves only that the bundle agrees with itself.
"""

import base64
import binascii
import csv
import functools
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..bundle.digests import sha256
from ..bundle.zip import WheelFile
from ..errors import BundleError, UsageError
from ..limits import MAX_WHEEL_BYTES, MAX_WHEEL_TEXT
from ..models.manifest import LoadedModule, Target
from ..models.report import Difference
from ..system.files import read_bounded, shown

_WHEEL_NAME = re.compile(r"(?P<name>[^-/]+)-(?P<version>[^-/]+)(?:-\d[^-/]*)?-[^-/]+-[^-/]+-[^-/]+\.whl")
_HASHES: Mapping[str, Callable[[], "hashlib._Hash"]] = {
    "sha256": hashlib.sha256,
    "sha384": hashlib.sha384,
    "sha512": hashlib.sha512,
}
_UNHASHED = ("RECORD", "RECORD.jws", "RECORD.p7s")
_SCHEMES = ("purelib", "platlib")


@functools.lru_cache(maxsize=1024)
def normalise(name: str) -> str:
    """A project's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True)
class Wheel:
    """A wheel that agrees with its own RECORD."""

    sha256: str
    name: str
    """Normalised."""
    version: str
    """As METADATA has it."""
    installed: Mapping[str, str]
    """The SHA-256 of each file that is installed below site-packages, by its path there."""
    modules: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """For each Python source its path: what an import of it is called, and its SHA-256."""


def read_wheel(data: bytes, file_name: str) -> Wheel:
    """The wheel in `data`; see the module for what it is held to.

    Raises:
        BundleError: it does not agree with itself.
    """
    key = (sha256(data), file_name)
    if key not in _READ:
        if len(_READ) >= _MAX_READ:
            _READ.pop(next(iter(_READ)))
        _READ[key] = _read_wheel(data, file_name, key[0])
    return _READ[key]


_MAX_READ = 16
_READ: dict[tuple[str, str], Wheel] = {}
"""Wheels that agreed with themselves, by the digest of their bytes: many bundles share one."""


def _read_wheel(data: bytes, file_name: str, identity: str) -> Wheel:
    match = _WHEEL_NAME.fullmatch(file_name)
    if match is None:
        raise BundleError("bad_wheel", "not a wheel's file name (PEP 427)", path=file_name)
    archive = WheelFile(data, path=file_name)
    info = _dist_info(archive.names, file_name)
    project, version = _metadata(archive.read(f"{info}/METADATA", limit=MAX_WHEEL_TEXT), file_name)
    for what, name, number in (
        ("file name", match["name"], match["version"]),
        (".dist-info directory", *_split_info(info)),
    ):
        if normalise(name) != normalise(project) or not same_version(number, version):
            raise BundleError(
                "bad_wheel",
                f"its {what} says {name} {number}, its METADATA {project} {version}",
                path=file_name,
            )
    digests = _check_to_record(archive, info, file_name)
    data_directory = f"{info.removesuffix('.dist-info')}.data/"
    installed: dict[str, str] = {}
    for path, digest in digests.items():
        place = _place(path, data_directory)
        if place is not None and installed.setdefault(place, digest) != digest:
            raise BundleError("bad_wheel", f"two files for {place}", path=file_name)
    return Wheel(identity, normalise(project), version, installed, dict(_modules(installed)))


def _modules(installed: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, str]]]:
    for path, digest in installed.items():
        stem = path.removesuffix(".py").removesuffix("/__init__")
        if path.endswith(".py") and "." not in stem:
            yield path, (stem.replace("/", "."), digest)


def same_version(first: str, second: str) -> bool:
    """Whether two spellings are one version (PEP 440)."""
    if first == second:
        return True
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 (20 ms, for odd spellings only)

    # In a wheel's file name `_` stands for `-`, and in older ones for the `+` of a local version.
    for spelling in (first.replace("_", "-"), first.replace("_", "+", 1)):
        try:
            if Version(spelling) == Version(second):
                return True
        except InvalidVersion:
            continue
    return False


def _dist_info(names: Iterable[str], file_name: str) -> str:
    found = {head for head, _, rest in (name.partition("/") for name in names) if head.endswith(".dist-info")}
    if len(found) != 1:
        raise BundleError(
            "bad_wheel", f"{len(found)} .dist-info directories; a wheel has one", path=file_name
        )
    (info,) = found
    for needed in ("METADATA", "RECORD"):
        if f"{info}/{needed}" not in names:
            raise BundleError("bad_wheel", f"no {info}/{needed}", path=file_name)
    return info


def _split_info(info: str) -> tuple[str, str]:
    name, _, version = info.removesuffix(".dist-info").rpartition("-")
    return name, version


def _metadata(raw: bytes, file_name: str) -> tuple[str, str]:
    head = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    fields: dict[bytes, list[bytes]] = {b"name": [], b"version": []}
    for line in head.split(b"\n"):
        key, colon, value = line.partition(b":")
        if colon and key.strip().lower() in fields:
            fields[key.strip().lower()].append(value.strip())
    if any(len(values) != 1 or not values[0].isascii() for values in fields.values()):
        raise BundleError("bad_wheel", "its METADATA does not have one Name and one Version", path=file_name)
    return fields[b"name"][0].decode("ascii"), fields[b"version"][0].decode("ascii")


def _check_to_record(archive: WheelFile, info: str, file_name: str) -> dict[str, str]:
    """The SHA-256 of every file but RECORD, after comparing them with RECORD."""
    try:
        text = archive.read(f"{info}/RECORD", limit=MAX_WHEEL_TEXT).decode("utf-8")
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise BundleError("bad_record", f"its RECORD cannot be read: {error}", path=file_name) from error
    names = set(archive.names)
    digests: dict[str, str] = {}
    listed: set[str] = set()
    for row in rows:
        if len(row) != 3 or row[0] in listed or row[0] not in names:
            raise BundleError(
                "bad_record",
                f"its RECORD lists {row[0]!r} twice, malformed, or without a file",
                path=file_name,
            )
        path, stated, size = row
        listed.add(path)
        if path.startswith("/") or "\\" in path or ".." in path.split("/"):
            raise BundleError("bad_record", f"its RECORD has the path {path!r}", path=file_name)
        if path in (f"{info}/{name}" for name in _UNHASHED) and not stated:
            continue
        sha256_digest = hashlib.sha256()
        algorithm, _, encoded = stated.partition("=")
        if algorithm not in _HASHES:
            raise BundleError("bad_record", f"its RECORD gives {path} no SHA-256 or better", path=file_name)
        other = None if algorithm == "sha256" else _HASHES[algorithm]()
        length = 0
        for chunk in archive.chunks(path):
            length += len(chunk)
            sha256_digest.update(chunk)
            if other is not None:
                other.update(chunk)
        if size != str(length) or _decoded(encoded) != (other or sha256_digest).digest():
            raise BundleError("bad_record", f"{path} is not as its RECORD says", path=file_name)
        digests[path] = sha256_digest.hexdigest()
    if listed != names:
        raise BundleError("bad_record", f"its RECORD does not list {min(names - listed)}", path=file_name)
    return digests


def _decoded(digest: str) -> bytes | None:
    """A digest as RECORD spells it: URL-safe base64 without padding."""
    try:
        return base64.b64decode(digest + "=" * (-len(digest) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None


def _place(path: str, data_directory: str) -> str | None:
    """Where an installer puts this file below site-packages; None for what goes elsewhere."""
    if not path.startswith(data_directory):
        return path
    scheme, _, rest = path.removeprefix(data_directory).partition("/")
    return rest if scheme in _SCHEMES else None


def compare_loaded(loaded: Iterable[LoadedModule], wheel: Wheel) -> None:
    """Hold the modules that a recording had loaded to the files of `wheel`.

    Raises:
        BundleError: a module is no file of it, is another file, or stands where no import finds it.
    """
    for module in loaded:
        if wheel.modules.get(module.path) == (module.module, module.sha256):
            continue
        digest = wheel.installed.get(module.path)
        if digest is None:
            raise BundleError("not_in_wheel", f"module {module.module}: the wheel has no {module.path}")
        if digest != module.sha256:
            raise BundleError(
                "other_module", f"module {module.module}: {module.path} differs from the wheel's"
            )
        stem = module.module.replace(".", "/")
        rest = module.path.removeprefix(stem)
        if rest == module.path or not _MODULE_FILE.fullmatch(rest):
            raise BundleError("other_module", f"module {module.module} is not imported from {module.path}")


_MODULE_FILE = re.compile(r"(?:/__init__)?(?:\.py|(?:\.[A-Za-z0-9_-]+)?\.(?:so|pyd))")
"""What stands behind a module's path: a source file or an extension module, of a package or not."""


class Provenance(Protocol):
    """Where this machine got a wheel from."""

    @property
    def origin(self) -> str:
        """`index`, or `file`."""

    @property
    def project(self) -> str | None:
        """For `index`: the project under whose name it was served."""


@dataclass(frozen=True)
class HeldWheel:
    """A wheel that the reader gives."""

    label: str
    """The file, for people."""
    data: bytes
    wheel: Wheel


@dataclass(frozen=True)
class Pin:
    """One distribution that a lock of the reader's pins."""

    name: str
    version: str | None
    sha256: frozenset[str]


@dataclass(frozen=True)
class KnownLock:
    """A lock file of the reader's."""

    label: str
    pins: tuple[Pin, ...]


@dataclass(frozen=True)
class SourceComparison:
    """What the reader's sources say about a target wheel."""

    held: tuple[str, ...] = ()
    """The sources that name this very wheel, for people."""
    differences: tuple[Difference, ...] = ()
    """Sources about the same project that name another wheel."""
    silent: tuple[str, ...] = ()
    """Why the other sources say nothing."""


def read_held_wheel(path: Path) -> HeldWheel:
    """A wheel file of the reader's.

    Raises:
        UsageError: there is no such file, or it is no wheel.
    """
    data = read_bounded(path, limit=MAX_WHEEL_BYTES, what="wheel")
    try:
        return HeldWheel(shown(path), data, read_wheel(data, path.name))
    except BundleError as error:
        raise UsageError(f"{path} is no wheel that agrees with itself: {error}") from error


@dataclass(frozen=True)
class Sources:
    """The reader's own sources."""

    wheels: tuple[HeldWheel, ...] = ()
    locks: tuple[KnownLock, ...] = ()
    provenance: Callable[[str], Provenance | None] | None = None
    """The wheel store: what this machine knows of the wheel with that SHA-256."""
    stored: Callable[[str], bytes | None] | None = None
    """The wheel store: the bytes of the wheel with that SHA-256, hashed as they are read."""

    def wheel_bytes(self, sha256: str) -> bytes | None:
        """The bytes of the target wheel, where the reader gave that very wheel or keeps it."""
        given = next((held.data for held in self.wheels if held.wheel.sha256 == sha256), None)
        return self.stored(sha256) if given is None and self.stored is not None else given

    def compare(self, target: Target) -> SourceComparison:
        """Whether the reader holds the wheel that `target` names."""
        held: list[str] = []
        differences: list[Difference] = []
        silent: list[str] = []
        for mine in self.wheels:
            if mine.wheel.sha256 == target.sha256:
                held.append(mine.label)
            elif mine.wheel.name == target.name:
                yours = f"{mine.wheel.name} {mine.wheel.version}, {mine.wheel.sha256}"
                differences.append(_difference(mine.label, target, yours))
            else:
                silent.append(f"{mine.label} is {mine.wheel.name}")
        for lock in self.locks:
            named = [pin for pin in lock.pins if pin.name == target.name]
            pins = [pin for pin in named if pin.sha256]
            if any(target.sha256 in pin.sha256 for pin in pins):
                held.append(lock.label)
            elif named and not pins:
                silent.append(f"{lock.label} names {target.name} without a digest")
            elif pins:
                yours = "; ".join(
                    f"{pin.name} {pin.version or ''} by {len(pin.sha256)} digests" for pin in pins
                )
                differences.append(_difference(lock.label, target, yours))
            else:
                silent.append(f"{lock.label} does not pin {target.name}")
        self._ask_store(target, held, silent)
        return SourceComparison(tuple(held), tuple(differences), tuple(silent))

    def _ask_store(self, target: Target, held: list[str], silent: list[str]) -> None:
        if self.provenance is None:
            return
        known = self.provenance(target.sha256)
        if known is None:
            silent.append("your wheel store does not have it")
        elif known.origin != "index":
            silent.append("your wheel store has it as a file, not from an index")
        elif known.project is None or normalise(known.project) != target.name:
            silent.append(f"your wheel store has it from the index as {known.project}, another project")
        else:
            held.append("your wheel store (from the index)")


def _difference(label: str, target: Target, yours: str) -> Difference:
    return Difference(
        what=f"target wheel against {label}"[:4096],
        bundle=f"{target.name} {target.version}, {target.sha256}",
        yours=yours[:4096],
    )
