"""Read what a wheel says about itself, from its bytes: name, version and RECORD.

Pure: no file is opened and nothing is unpacked. The caller has checked the wheel's SHA-256, so what
is read here is what the publisher wrote, whatever that is worth.
"""

import base64
import binascii
import csv
import io
import zipfile
import zlib
from collections.abc import Mapping
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
    """Every file that RECORD gives a digest for, by its path in the wheel."""
    unhashed: tuple[str, ...]
    """Paths that RECORD lists without a digest: itself and its signatures."""
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
        raise UsageError(f"{filename}: not a wheel's file name (PEP 427)") from error
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            dist_info = _dist_info(archive, filename, canonicalize_name(named))
            raw = _read(archive, f"{dist_info}/METADATA", filename)
            record_bytes = _read(archive, f"{dist_info}/RECORD", filename)
            newest = max(info.date_time[:3] for info in archive.infolist())
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise UsageError(f"{filename}: a damaged wheel ({error})") from error
    metadata = _metadata(raw, filename)
    if canonicalize_name(metadata.name) != canonicalize_name(named) or canonicalize_version(
        metadata.version
    ) != canonicalize_version(version):
        raise UsageError(
            f"{filename}: its METADATA says {metadata.name} {metadata.version}",
            hint="a wheel's file name must agree with what is inside",
        )
    record, unhashed = _record(record_bytes, filename)
    return WheelFile(
        filename=filename,
        name=canonicalize_name(metadata.name),
        version=str(metadata.version),
        requires_python=str(metadata.requires_python) if metadata.requires_python else None,
        dist_info=dist_info,
        record=record,
        unhashed=unhashed,
        record_bytes=record_bytes,
        newest=_day(newest),
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
            f"{filename}: a wheel holds one .dist-info directory with METADATA, this {len(found)}"
        )
    (only,) = found
    if canonicalize_name(only.removesuffix(".dist-info").rpartition("-")[0]) != name:
        raise UsageError(f"{filename}: holds {only}, which is another project's")
    return only


def _read(archive: zipfile.ZipFile, member: str, filename: str) -> bytes:
    try:
        info = archive.getinfo(member)
    except KeyError as error:
        raise UsageError(f"{filename}: a wheel without {member}") from error
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
