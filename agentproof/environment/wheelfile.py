"""Read what a wheel says about itself, from its bytes: name, version and RECORD.

Pure: no file is opened and nothing is unpacked. The caller has checked the wheel's SHA-256, so what
is read here is what the publisher wrote, whatever that is worth. What contradicts itself is refused here,
by name, before an installer sees it.
"""

import base64
import binascii
import csv
import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from email.parser import BytesParser
from typing import Final

from packaging.metadata import InvalidMetadata, Metadata
from packaging.utils import (
    InvalidWheelFilename,
    canonicalize_name,
    canonicalize_version,
    parse_wheel_filename,
)

from ..errors import UsageError

MAX_WHEEL_BYTES: Final = 2**30
_MAX_METADATA_BYTES: Final = 16 * 2**20
_MAX_UNPACKED_BYTES: Final = 4 * 2**30
_MAX_MEMBERS: Final = 100_000
_ENCRYPTED: Final = 1
"""The bit of a zip member's flags (APPNOTE 4.4.4)."""
_CHUNK: Final = 2**20
_HASHES: Final = {"sha256": 32, "sha384": 48, "sha512": 64}
"""What RECORD may use (binary distribution format: sha256 or better)."""


@dataclass(frozen=True)
class Recorded:
    """One line of RECORD: the digest of a file."""

    algorithm: str
    digest: bytes


@dataclass(frozen=True)
class WheelFile:
    """A wheel as its own metadata describes it."""

    filename: str
    name: str
    """Normalised (PEP 503)."""
    version: str
    """As in METADATA."""
    requires_python: str | None
    dist_info: str
    """The directory, such as `openai_agents-0.20.0.dist-info`."""
    record: Mapping[str, Recorded]
    """Every file that RECORD lists but itself, by its path in the wheel.

    Where it gives no digest, as it need not for its own signatures, that of the file in the wheel stands.
    """
    record_bytes: bytes
    newest: date
    """The day of the newest time stamp in the archive: of the commit, when a checkout's wheel was built."""


def read_wheel(data: bytes, filename: str) -> WheelFile:
    """Read a wheel's METADATA and RECORD.

    Raises:
        UsageError: not a wheel, or one that contradicts its own file name.
    """
    if not filename.endswith(".whl"):
        raise UsageError(
            f"{filename} is not a wheel", hint="give a .whl file; a source archive is built to one first"
        )
    try:
        named, version, _, _ = parse_wheel_filename(filename)
    except InvalidWheelFilename as error:
        raise UsageError(
            f"{filename}: not a wheel's file name (PEP 427)", hint="name it as its builder did"
        ) from error
    with _opened(data, filename) as archive:
        dist_info = _dist_info(archive, filename, canonicalize_name(named))
        raw = _read(archive, f"{dist_info}/METADATA", filename)
        record_bytes = _read(archive, f"{dist_info}/RECORD", filename)
        _check_format(_read(archive, f"{dist_info}/WHEEL", filename), filename)
        newest = max(info.date_time[:3] for info in archive.infolist())
        record, unhashed = _record(record_bytes, filename)
        members = set(archive.namelist())
        for path in unhashed:
            if path != f"{dist_info}/RECORD" and path in members:
                record[path] = Recorded(algorithm="sha256", digest=_digest(archive, path, "sha256"))
    metadata = _metadata(raw, filename)
    if canonicalize_name(metadata.name) != canonicalize_name(named) or canonicalize_version(
        metadata.version
    ) != canonicalize_version(version):
        raise UsageError(
            f"{filename}: its METADATA says {metadata.name} {metadata.version}",
            hint="a wheel's file name must agree with what is inside",
        )
    return WheelFile(
        filename=filename,
        name=canonicalize_name(metadata.name),
        version=str(metadata.version),
        requires_python=str(metadata.requires_python) if metadata.requires_python else None,
        dist_info=dist_info,
        record=record,
        record_bytes=record_bytes,
        newest=_day(newest),
    )


def check_contents(data: bytes, wheel: WheelFile) -> None:
    """Compare every file in a wheel with its RECORD.

    Raises:
        UsageError: they contradict each other; the file is named.
    """
    own = f"{wheel.dist_info}/RECORD"
    with _opened(data, wheel.filename) as archive:
        members = {name for name in archive.namelist() if not name.endswith("/")}
        for path in sorted(members - wheel.record.keys() - {own}):
            raise UsageError(f"{wheel.filename}: {path} is not in its RECORD", hint=_BUILD_AGAIN)
        for path, recorded in sorted(wheel.record.items()):
            if path not in members:
                raise UsageError(f"{wheel.filename}: {path} of its RECORD is missing", hint=_BUILD_AGAIN)
            if _digest(archive, path, recorded.algorithm) != recorded.digest:
                raise UsageError(f"{wheel.filename}: {path} is not what its RECORD says", hint=_BUILD_AGAIN)


_BUILD_AGAIN: Final = "a wheel is not edited by hand: build it again (`uv build --wheel`)"


@contextmanager
def _opened(data: bytes, filename: str) -> Iterator[zipfile.ZipFile]:
    """The archive, within bounds; whatever zipfile says of a damaged one becomes one error."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if len(infos) > _MAX_MEMBERS or sum(info.file_size for info in infos) > _MAX_UNPACKED_BYTES:
                raise UsageError(
                    f"{filename}: over {_MAX_MEMBERS} files or {_MAX_UNPACKED_BYTES} bytes unpacked"
                )
            if any(info.flag_bits & _ENCRYPTED for info in infos):
                raise UsageError(f"{filename}: it is encrypted")
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{filename}: a damaged wheel ({error})", hint="download it again, or build it again"
        ) from error
    except ValueError as error:  # of zipfile's own arithmetic, where offsets point out of the file
        raise UsageError(
            f"{filename}: a damaged wheel ({error})", hint="download it again, or build it again"
        ) from error


def _digest(archive: zipfile.ZipFile, path: str, algorithm: str) -> bytes:
    digest = hashlib.new(algorithm)
    with archive.open(path) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.digest()


def _check_format(raw: bytes, filename: str) -> None:
    version = BytesParser().parsebytes(raw, headersonly=True)["Wheel-Version"]
    if version is None or version.strip().split(".")[0] != "1":
        raise UsageError(
            f"{filename}: a wheel of version {version or '(none)'}; known is 1.0",
            hint="build it with a backend that writes wheels of version 1",
        )


def _day(stamp: tuple[int, ...]) -> date:
    try:
        return date(*stamp[:3])
    except ValueError:  # an archive may say month 0
        return date(1980, 1, 1)


def _dist_info(archive: zipfile.ZipFile, filename: str, name: str) -> str:
    found = {
        head
        for head, _, rest in (member.partition("/") for member in archive.namelist())
        if head.endswith(".dist-info") and rest == "METADATA"
    }
    if len(found) != 1:
        raise UsageError(
            f"{filename}: a wheel holds one .dist-info directory with METADATA, this {len(found) or 'none'}"
        )
    (only,) = found
    if canonicalize_name(only.removesuffix(".dist-info").rpartition("-")[0]) != name:
        raise UsageError(f"{filename}: holds {only}, which is another project's")
    return only


def _read(archive: zipfile.ZipFile, member: str, filename: str) -> bytes:
    try:
        info = archive.getinfo(member)
    except KeyError as error:
        raise UsageError(f"{filename}: a wheel without {member}", hint=_BUILD_AGAIN) from error
    if info.file_size > _MAX_METADATA_BYTES:
        raise UsageError(f"{filename}: {member} is over {_MAX_METADATA_BYTES} bytes")
    return archive.read(info)


def _metadata(raw: bytes, filename: str) -> Metadata:
    # Only the core fields: old releases have fields that today's validation refuses.
    message = BytesParser().parsebytes(raw, headersonly=True)
    fields = {"metadata_version": "2.1", "name": message["Name"], "version": message["Version"]}
    if message["Requires-Python"]:
        fields["requires_python"] = message["Requires-Python"]
    try:
        return Metadata.from_raw(fields)  # type: ignore[arg-type]  # three strings of RawMetadata
    except ExceptionGroup as error:
        raise UsageError(f"{filename}: its METADATA has no valid name and version") from error
    except InvalidMetadata as error:
        raise UsageError(f"{filename}: its METADATA is not valid ({error})") from error


def _record(raw: bytes, filename: str) -> tuple[dict[str, Recorded], tuple[str, ...]]:
    record: dict[str, Recorded] = {}
    unhashed = []
    try:
        rows = list(csv.reader(io.StringIO(raw.decode("utf-8"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{filename}: its RECORD is not a CSV file ({error})") from error
    for row in rows:
        if not row:
            continue
        path, value = row[0], row[1] if len(row) > 1 else ""
        if path in record:
            raise UsageError(f"{filename}: its RECORD lists {path} twice")
        if not value:
            unhashed.append(path)
            continue
        algorithm, _, encoded = value.partition("=")
        try:
            digest = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        except binascii.Error as error:
            raise UsageError(f"{filename}: its RECORD has no digest for {path}") from error
        if len(digest) != _HASHES.get(algorithm):
            raise UsageError(f"{filename}: its RECORD gives {path} a digest of kind {algorithm or 'none'}")
        record[path] = Recorded(algorithm=algorithm, digest=digest)
    return record, tuple(unhashed)
