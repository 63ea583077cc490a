"""Read a wheel, in one way for whoever asks: `record`, `check`, and what builds an environment.

`read_wheel` is for a target. It holds the wheel to itself:
1. The zip has one meaning. Installers read it by its central directory or, as it streams in, by its
   records: both find the same files under the same names, the records lie one behind the other, and
   every size is capped before anything is inflated. No comment, encryption or zip64; stored or deflated.
2. Its file name, its one .dist-info directory and its METADATA name one project and version.
3. RECORD names every file exactly once and no other; each but RECORD itself (and its signatures) has a
   SHA-256 or better and a size that are true. No path leaves the wheel.

`read_dependency` is for a wheel that is only installed, whose files are compared with RECORD afterwards:
it takes what an installer takes. A comment, another compression, and a RECORD without sizes or a row of
its own pass; no file but METADATA, WHEEL and RECORD is inflated.

Pure: no file is opened, nothing is unpacked to disk.
"""

import base64
import binascii
import csv
import functools
import hashlib
import io
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from ..errors import BundleError
from ..limits import (
    MAX_DEPENDENCY_FILES,
    MAX_DEPENDENCY_TEXT,
    MAX_DEPENDENCY_UNPACKED,
    MAX_WHEEL_FILES,
    MAX_WHEEL_NAME,
    MAX_WHEEL_TEXT,
    MAX_WHEEL_UNPACKED,
)
from .digests import sha256

BUILD_AGAIN: Final = "a wheel is not edited by hand: build it again (`uv build --wheel`)"

# What `models.manifest.WheelName` and PEP 427 both allow.
_PART = "[A-Za-z0-9_.+!]+"
_NAME = re.compile(
    rf"(?P<name>{_PART})-(?P<version>{_PART})(?:-\d[A-Za-z0-9_.]*)?-{_PART}-{_PART}-{_PART}\.whl"
)
_HASHES: Mapping[str, Callable[[], "hashlib._Hash"]] = {
    "sha256": hashlib.sha256,
    "sha384": hashlib.sha384,
    "sha512": hashlib.sha512,
}
"""What RECORD may use (binary distribution format: SHA-256 or better)."""
_UNHASHED = ("RECORD", "RECORD.jws", "RECORD.p7s")
_SCHEMES = ("purelib", "platlib")


@functools.lru_cache(maxsize=1024)
def normalise(name: str) -> str:
    """A project's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


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


def split_name(file_name: str) -> tuple[str, str]:
    """The project and the version that a wheel's file name states, as spelled there.

    Raises:
        BundleError: it is no wheel's file name (PEP 427), or one that no manifest can hold.
    """
    match = _NAME.fullmatch(file_name)
    if match is None:
        raise BundleError("bad_wheel", "not a wheel's file name (PEP 427)", path=file_name)
    if len(file_name) > MAX_WHEEL_NAME:
        raise BundleError(
            "bad_wheel", f"{len(file_name)} letters are over the limit of {MAX_WHEEL_NAME}", path=file_name
        )
    return match["name"], match["version"]


@dataclass(frozen=True)
class Recorded:
    """What RECORD says of a file."""

    algorithm: str
    digest: bytes


@dataclass(frozen=True)
class Distribution:
    """What a wheel says about itself."""

    filename: str
    name: str
    """Normalised."""
    version: str
    """As METADATA has it."""
    requires_python: str | None
    wheel_version: str | None
    """Of WHEEL; None without one."""
    dist_info: str
    """The directory, such as `openai_agents-0.20.0.dist-info`."""
    newest: date
    """The day of the newest time stamp in the archive: of the commit, when a checkout's wheel was built."""
    project_urls: tuple[str, ...]
    """As METADATA has them: `Label, URL`."""
    record: Mapping[str, Recorded]
    """Every file that RECORD lists but itself, by its path in the wheel.

    Where it gives no digest, as it need not for its own signatures, that of the file in the wheel stands.
    """
    record_bytes: bytes


@dataclass(frozen=True)
class Wheel(Distribution):
    """A wheel that agrees with its own RECORD."""

    sha256: str
    installed: Mapping[str, str]
    """The SHA-256 of each file that is installed below site-packages, by its path there."""
    modules: Mapping[str, tuple[str, str]]
    """For each Python source its path: what an import of it is called, and its SHA-256."""


def read_wheel(data: bytes, file_name: str) -> Wheel:
    """The target wheel in `data`; see the module for what it is held to.

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
    archive = Archive(data, path=file_name)
    info = _dist_info({name.partition("/")[0] for name in archive.names}, file_name)
    own = _described(archive, info, file_name, limit=MAX_WHEEL_TEXT)
    _check_names(own, {"file name": split_name(file_name), ".dist-info directory": _split_info(info)})
    record, digests = _check_to_record(archive, own)
    data_directory = f"{info.removesuffix('.dist-info')}.data/"
    installed: dict[str, str] = {}
    for path, digest in digests.items():
        place = _place(path, data_directory)
        if place is not None and installed.setdefault(place, digest) != digest:
            raise BundleError("bad_wheel", f"two files for {place}", path=file_name)
    described = {**vars(own), "record": record}
    return Wheel(**described, sha256=identity, installed=installed, modules=dict(_modules(installed)))


def read_dependency(data: bytes, file_name: str) -> Distribution:
    """The wheel in `data`, which is only installed; see the module for what passes.

    Raises:
        BundleError: an installer could not use it, or RECORD is not what installed files can be held to.
    """
    archive = Archive(data, path=file_name, lenient=True)
    suffix = "/METADATA"
    heads = {name.removesuffix(suffix) for name in archive.names if name.endswith(f".dist-info{suffix}")}
    info = _dist_info({head for head in heads if "/" not in head}, file_name)
    own = _described(archive, info, file_name, limit=MAX_DEPENDENCY_TEXT)
    check_installable(own)
    named = {"file name": split_name(file_name), ".dist-info directory": (_split_info(info)[0], own.version)}
    _check_names(own, named)
    record: dict[str, Recorded] = {}
    for path, *stated in _rows(own):
        if path in record:
            raise BundleError("bad_record", f"its RECORD lists {path} twice", path=file_name)
        if stated and stated[0]:
            record[path] = _stated(path, stated[0], file_name)
        elif path != f"{info}/RECORD" and path in archive:
            record[path] = Recorded("sha256", _digest(archive, path, "sha256")[1])
    return replace(own, record=record)


def check_installable(wheel: Distribution) -> None:
    """Refuse a wheel of a format that installers do not know.

    Raises:
        BundleError: it is not of version 1, or its own version is none of PEP 440.
    """
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 (20 ms, which a check need not spend)

    try:
        Version(wheel.version)
    except InvalidVersion as error:
        raise BundleError(
            "bad_wheel", f"its version {wheel.version!r} is none of PEP 440", path=wheel.filename
        ) from error
    if wheel.wheel_version is None or wheel.wheel_version.split(".")[0] != "1":
        text = f"a wheel of version {wheel.wheel_version or '(none)'}; known is 1.0"
        raise BundleError("bad_wheel", text, path=wheel.filename)


def _dist_info(heads: Iterable[str], file_name: str) -> str:
    found = [head for head in heads if head.endswith(".dist-info")]
    if len(found) != 1:
        text = f"{len(found)} .dist-info directories with METADATA; a wheel has one"
        raise BundleError("bad_wheel", text, path=file_name)
    return found[0]


def _split_info(info: str) -> tuple[str, str]:
    name, _, version = info.removesuffix(".dist-info").rpartition("-")
    return name, version


def _described(archive: "Archive", info: str, file_name: str, *, limit: int) -> Distribution:
    """All but what RECORD says."""
    for needed in ("METADATA", "RECORD"):
        if f"{info}/{needed}" not in archive:
            raise BundleError("bad_wheel", f"no {info}/{needed}", path=file_name)
    metadata = _headers(archive.read(f"{info}/METADATA", limit=limit))
    names, versions = metadata.get("name", []), metadata.get("version", [])
    if len(names) != 1 or len(versions) != 1 or not (names[0] + versions[0]).isascii():
        text = "its METADATA does not have one Name and one Version"
        raise BundleError("bad_wheel", text, path=file_name)
    known = archive.read(f"{info}/WHEEL", limit=limit) if f"{info}/WHEEL" in archive else b""
    return Distribution(
        filename=file_name,
        name=normalise(names[0]),
        version=versions[0],
        requires_python=next(filter(None, metadata.get("requires-python", ())), None),
        wheel_version=next(iter(_headers(known).get("wheel-version", ())), None),
        dist_info=info,
        newest=archive.newest,
        project_urls=tuple(metadata.get("project-url", ())),
        record={},
        record_bytes=archive.read(f"{info}/RECORD", limit=limit),
    )


def _headers(raw: bytes) -> dict[str, list[str]]:
    """The first line of each header, by its name in lower case."""
    found: dict[str, list[str]] = {}
    for line in raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0].split(b"\n"):
        key, colon, value = line.decode("utf-8", "replace").partition(":")
        # What begins with white space goes on from the line before.
        if colon and not key[:1].isspace():
            found.setdefault(key.strip().lower(), []).append(value.strip())
    return found


def _check_names(wheel: Distribution, stated: Mapping[str, tuple[str, str]]) -> None:
    for what, (name, version) in stated.items():
        if normalise(name) != wheel.name or not same_version(version, wheel.version):
            text = f"its {what} says {name} {version}, its METADATA {wheel.name} {wheel.version}"
            raise BundleError("bad_wheel", text, path=wheel.filename)


def _rows(wheel: Distribution) -> list[list[str]]:
    try:
        text = io.StringIO(wheel.record_bytes.decode("utf-8"), newline="")
        return [row for row in csv.reader(text, strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise BundleError("bad_record", f"its RECORD cannot be read: {error}", path=wheel.filename) from error


def _stated(path: str, value: str, file_name: str) -> Recorded:
    algorithm, _, encoded = value.partition("=")
    if algorithm not in _HASHES:
        raise BundleError("bad_record", f"its RECORD gives {path} no SHA-256 or better", path=file_name)
    try:
        # URL-safe base64 without padding.
        digest = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        digest = b""
    if len(digest) != _HASHES[algorithm]().digest_size:
        raise BundleError("bad_record", f"its RECORD gives {path} no digest of {algorithm}", path=file_name)
    return Recorded(algorithm, digest)


def _check_to_record(archive: "Archive", wheel: Distribution) -> tuple[dict[str, Recorded], dict[str, str]]:
    """What RECORD says of every file but itself, and their SHA-256, after comparing them with it."""
    names, file_name = set(archive.names), wheel.filename
    record: dict[str, Recorded] = {}
    digests: dict[str, str] = {}
    listed: set[str] = set()
    for row in _rows(wheel):
        if len(row) != 3 or row[0] in listed or row[0] not in names:
            text = f"its RECORD lists {row[0]!r} twice, malformed, or without a file"
            raise BundleError("bad_record", text, path=file_name)
        path, stated, size = row
        listed.add(path)
        if path.startswith("/") or "\\" in path or ".." in path.split("/"):
            raise BundleError("bad_record", f"its RECORD has the path {path!r}", path=file_name)
        if path in (f"{wheel.dist_info}/{name}" for name in _UNHASHED) and not stated:
            if path != f"{wheel.dist_info}/RECORD":
                record[path] = Recorded("sha256", _digest(archive, path, "sha256")[1])
            continue
        record[path] = _stated(path, stated, file_name)
        length, digest, identity = _digest(archive, path, record[path].algorithm)
        if size != str(length) or digest != record[path].digest:
            raise BundleError("bad_record", f"{path} is not as its RECORD says", path=file_name)
        digests[path] = identity
    if listed != names:
        raise BundleError("bad_record", f"its RECORD does not list {min(names - listed)}", path=file_name)
    return record, digests


def _digest(archive: "Archive", path: str, algorithm: str) -> tuple[int, bytes, str]:
    """The length of a file, its digest, and its SHA-256 in hexadecimal."""
    identity, length = hashlib.sha256(), 0
    other = identity if algorithm == "sha256" else _HASHES[algorithm]()
    for chunk in archive.chunks(path):
        length += len(chunk)
        identity.update(chunk)
        if other is not identity:
            other.update(chunk)
    return length, other.digest(), identity.hexdigest()


def _place(path: str, data_directory: str) -> str | None:
    """Where an installer puts this file below site-packages; None for what goes elsewhere."""
    if not path.startswith(data_directory):
        return path
    scheme, _, rest = path.removeprefix(data_directory).partition("/")
    return rest if scheme in _SCHEMES else None


def _modules(installed: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, str]]]:
    for path, digest in installed.items():
        stem = path.removesuffix(".py").removesuffix("/__init__")
        if path.endswith(".py") and "." not in stem:
            yield path, (stem.replace("/", "."), digest)


# The archive

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_LOCAL_SIGN, _CENTRAL_SIGN, _END_SIGN = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_LONGEST_COMMENT = 2**16 - 1
_ENCRYPTED, _DESCRIPTOR, _UTF8 = 0x1, 0x8, 0x800
_DESCRIPTOR_SIZES = (12, 16)
"""Without its optional signature, and with it."""
_OTHER_NAME = 0x7075
"""Info-ZIP's extra field of another name, which some readers follow."""
_STORED, _DEFLATED = 0, 8
_CHUNK = 2**20


@dataclass(frozen=True)
class _Entry:
    method: int
    crc: int
    packed: int
    size: int
    offset: int


_NO_DAY: Final = date(1980, 1, 1)


def _day(stamp: int) -> date:
    try:
        return date(1980 + (stamp >> 9), stamp >> 5 & 15, stamp & 31)
    except ValueError:  # an archive may say month 0
        return _NO_DAY


class Archive:
    """The files of a wheel, within bounds.

    `lenient`: as its directory has them, with a comment behind it, whatever else the file holds.

    Raises:
        BundleError: not a zip, or one that two readers could understand differently.
    """

    def __init__(self, data: bytes, *, path: str, lenient: bool = False) -> None:
        self._data = data
        self._path = path
        self._lenient = lenient
        self.newest = _NO_DAY
        """The day of the newest time stamp."""
        self._entries = self._read_directory()

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    @property
    def names(self) -> tuple[str, ...]:
        """Every file, in the order of the central directory; directories are left out."""
        return tuple(self._entries)

    def read(self, name: str, *, limit: int = MAX_WHEEL_UNPACKED) -> bytes:
        """The bytes of one file of at most `limit` bytes."""
        if self._entries[name].size > limit:
            raise self._wrong(f"{name} is over the limit of {limit} bytes")
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of one file, a bounded part at a time."""
        entry = self._entries[name]
        fields = _LOCAL.unpack_from(self._data, entry.offset)
        start = entry.offset + _LOCAL.size + fields[9] + fields[10]
        packed = self._data[start : start + entry.packed]
        if entry.method not in (_STORED, _DEFLATED):
            raise self._wrong(f"{name} is packed in another way than deflate")
        if len(packed) != entry.packed:
            raise self._wrong(f"{name} ends outside the archive")
        size = 0
        for chunk in (packed,) if entry.method == _STORED else self._inflated(packed, name):
            size += len(chunk)
            if size > entry.size:
                break
            yield chunk
        if size != entry.size:
            raise self._wrong(f"{name} does not have the stated size")

    def _inflated(self, packed: bytes, name: str) -> Iterator[bytes]:
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        while not inflate.eof:
            try:
                chunk = inflate.decompress(packed, _CHUNK)
            except zlib.error as error:
                raise self._wrong(f"{name} does not inflate: {error}") from error
            packed = inflate.unconsumed_tail
            if not chunk and not inflate.eof:
                raise self._wrong(f"{name} does not inflate to its end")
            yield chunk
        if inflate.unused_data:
            raise self._wrong(f"{name} has bytes after its end")

    def _end(self) -> tuple[int, int, int]:
        """The number of files, and where the directory begins and ends."""
        data = self._data
        at = len(data) - _END.size
        if self._lenient:
            at = data.rfind(_END_SIGN, max(0, at - _LONGEST_COMMENT))
        if at < 0 or data[at : at + 4] != _END_SIGN or at + _END.size > len(data):
            raise self._wrong("no whole zip: it is cut short, has a comment, or is another kind of file")
        _, disk, start_disk, here, count, length, start, comment = _END.unpack_from(data, at)
        if disk or start_disk or here != count or at + _END.size + comment != len(data):
            raise self._wrong("its end record does not describe the file")
        if start + length != at:
            raise self._wrong("its end record does not describe its directory")
        return count, start, at

    def _read_directory(self) -> dict[str, _Entry]:
        data = self._data
        count, start, at = self._end()
        most, unpacked = MAX_WHEEL_FILES, MAX_WHEEL_UNPACKED
        if self._lenient:
            most, unpacked = MAX_DEPENDENCY_FILES, MAX_DEPENDENCY_UNPACKED
        if count > most:
            raise self._wrong(f"{count} files are over the limit of {most}")
        entries: dict[str, _Entry] = {}
        spans: list[tuple[int, tuple[int, ...]]] = []
        total, where = 0, start
        for _ in range(count):
            if where + _CENTRAL.size > at or data[where : where + 4] != _CENTRAL_SIGN:
                raise self._wrong(f"no central record at byte {where}")
            name, entry, step = self._read_central(where, at)
            spans.append((entry.offset, self._ends(entry)))
            where += step
            if name.endswith("/") and entry.size == 0:
                continue
            total += entry.size
            if name in entries:
                raise self._wrong(f"{name} is there twice")
            if total > unpacked:
                raise self._wrong(f"{total} bytes unpacked are over the limit of {unpacked}")
            entries[name] = entry
        if where != at:
            raise self._wrong("its central directory has another length than stated")
        ends: tuple[int, ...] = (0,)
        for offset, following in [*sorted(spans), (start, ())]:
            if offset not in ends and not self._lenient:
                raise self._wrong(f"bytes before byte {offset} that are in no file of its directory")
            ends = following
        return entries

    def _ends(self, entry: _Entry) -> tuple[int, ...]:
        """Where the next record may begin."""
        local = _LOCAL.unpack_from(self._data, entry.offset)
        end = entry.offset + _LOCAL.size + local[9] + local[10] + entry.packed
        return tuple(end + size for size in _DESCRIPTOR_SIZES) if local[2] & _DESCRIPTOR else (end,)

    def _read_central(self, where: int, limit: int) -> tuple[str, _Entry, int]:
        fields = _CENTRAL.unpack_from(self._data, where)
        flags, method, crc, packed, size = fields[3], fields[4], *fields[7:10]
        self.newest = max(self.newest, _day(fields[6]))
        name_length, extra, comment, offset = *fields[10:13], fields[16]
        step = _CENTRAL.size + name_length + extra + comment
        if where + step > limit:
            raise self._wrong(f"the central record at byte {where} is longer than its directory")
        raw = self._data[where + _CENTRAL.size : where + _CENTRAL.size + name_length]
        if flags & _ENCRYPTED or 0xFFFFFFFF in (packed, size, offset):
            raise self._wrong(f"{raw!r} is encrypted, or zip64")
        if method not in (_STORED, _DEFLATED) and not self._lenient:
            raise self._wrong(f"{raw!r} is packed in another way than deflate (method {method})")
        if offset + _LOCAL.size > len(self._data):
            raise self._wrong(f"{raw!r} starts outside the archive")
        local = _LOCAL.unpack_from(self._data, offset)
        begin = offset + _LOCAL.size
        if local[0] != _LOCAL_SIGN or self._data[begin : begin + local[9]] != raw or local[3] != method:
            raise self._wrong(f"{raw!r} has another name or method in its own record")
        stated = (0, 0, 0) if local[2] & _DESCRIPTOR else (crc, packed, size)
        if tuple(local[6:9]) not in (stated, (crc, packed, size)) and not self._lenient:
            raise self._wrong(f"{raw!r} has another size in its own record")
        if min(raw, default=0) < 0x20 or (not raw.isascii() and not flags & local[2] & _UTF8):
            raise self._wrong(f"{raw!r} is no name that every reader reads in one way")
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._wrong(f"{raw!r} is not UTF-8") from error
        if self._has_other_name(where + _CENTRAL.size + name_length, extra):
            raise self._wrong(f"{raw!r} has another name in an extra field")
        return name, _Entry(method, crc, packed, size, offset), step

    def _has_other_name(self, at: int, length: int) -> bool:
        end = at + length
        while at + 4 <= end:
            kind, size = struct.unpack_from("<HH", self._data, at)
            if kind == _OTHER_NAME:
                return True
            at += 4 + size
        return False

    def _wrong(self, what: str) -> BundleError:
        return BundleError("bad_wheel", what, path=self._path)
