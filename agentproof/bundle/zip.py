"""The two zip readers: one for bundles, which accepts one byte form only, and one for wheels.

A bundle's zip is written as follows, and nothing else is accepted:
1. Members sorted by name, stored; no directories, comments, extra fields or data descriptors.
2. Version 1.0 needed and 2.0 on Unix made it; flags 0; 1980-01-01 00:00; mode 0644, regular file.
3. Local records back to back from byte 0, then the central directory, then its end; no other byte.

`read_stored` compares every header with the one it would write, so it needs no second parser's
opinion about a name or a length. `WheelFile` reads what build tools write: deflated members, extra
fields; each header is held to its central one and every size is capped before it is inflated. Installers
read a wheel by its central directory or, as it streams in, by its records: both must find the same, so
that the records lie one behind the other, and a name is read in one way only.
"""

import io
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from ..errors import BundleError
from ..limits import MAX_BUNDLE_BYTES, MAX_FILES, MAX_WHEEL_FILES, MAX_WHEEL_UNPACKED
from .digests import crc32

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_LOCAL_SIGN, _CENTRAL_SIGN, _END_SIGN = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_VERSION_NEEDED, _VERSION_MADE_BY = 10, (3 << 8) | 20
_DATE = (0 << 9) | (1 << 5) | 1
_ATTRIBUTES = 0o100644 << 16
_MAX_NAME = 240

_ENCRYPTED, _DESCRIPTOR, _UTF8 = 0x1, 0x8, 0x800
_DESCRIPTOR_SIZES = (12, 16)
"""Without its optional signature, and with it."""
_OTHER_NAME = 0x7075
"""Info-ZIP's extra field of another name, which some readers follow."""
_STORED, _DEFLATED = 0, 8
_CHUNK = 2**20

_AGAIN = "take the file as agentproof wrote it, or unpack it and check the directory"


def _local(name: bytes, data: bytes, crc: int) -> bytes:
    return _LOCAL.pack(
        _LOCAL_SIGN, _VERSION_NEEDED, 0, _STORED, 0, _DATE, crc, len(data), len(data), len(name), 0
    )


def _central(entries: list[tuple[bytes, int, int, int]]) -> bytes:
    """The central directory and its end for `(name, crc, size, offset)` entries."""
    out = bytearray()
    for name, crc, size, offset in entries:
        out += _CENTRAL.pack(
            _CENTRAL_SIGN,
            _VERSION_MADE_BY,
            _VERSION_NEEDED,
            0,
            _STORED,
            0,
            _DATE,
            crc,
            size,
            size,
            len(name),
            0,
            0,
            0,
            0,
            _ATTRIBUTES,
            offset,
        )
        out += name
    start = entries[-1][3] + _LOCAL.size + len(entries[-1][0]) + entries[-1][2] if entries else 0
    count = len(entries)
    return bytes(out) + _END.pack(_END_SIGN, 0, 0, count, count, len(out), start, 0)


def stored_zip(files: Iterable[tuple[str, bytes]]) -> bytes:
    """The one zip of these files; names are ASCII and have been checked."""
    out = io.BytesIO()
    entries = []
    for path, data in sorted(files):
        name, crc = path.encode("ascii"), crc32(data)
        entries.append((name, crc, len(data), out.tell()))
        out.write(_local(name, data, crc) + name)
        out.write(data)
    out.write(_central(entries))
    return out.getvalue()


def read_stored(stream: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a bundle's zip; nothing is proved before the iterator is exhausted.

    Raises:
        BundleError: any byte differs from what `stored_zip` would write for these files.
    """
    entries: list[tuple[bytes, int, int, int]] = []
    offset, previous = 0, b""
    while (header := stream.read(_LOCAL.size))[:4] == _LOCAL_SIGN:
        if len(header) < _LOCAL.size:
            raise BundleError("truncated", f"the zip ends inside the record at byte {offset}")
        fields = _LOCAL.unpack(header)
        size, length = fields[7], fields[9]
        _explain_record(fields, offset)
        if length > _MAX_NAME or len(entries) >= MAX_FILES or offset + size > MAX_BUNDLE_BYTES:
            raise BundleError("too_large", f"the record at byte {offset} is over a limit of the format")
        name, data = stream.read(length), stream.read(size)
        if len(name) < length or len(data) < size:
            raise BundleError("truncated", f"the zip ends inside the record at byte {offset}")
        if not name.isascii():
            raise BundleError("unsafe_path", f"the name at byte {offset} is not ASCII")
        crc = crc32(data)
        if header != _local(name, data, crc):
            raise _not_ours(f"the record of {name.decode('ascii')!r} at byte {offset}")
        if name <= previous:
            raise _not_ours(f"{name.decode('ascii')!r} does not sort after the record before it")
        entries.append((name, crc, size, offset))
        offset += _LOCAL.size + length + size
        previous = name
        yield name.decode("ascii"), data
    expected = _central(entries)
    rest = header + stream.read(len(expected) + 1)
    if not entries:
        raise BundleError("not_a_zip", "this is no zip of a bundle", hint=_AGAIN)
    if rest != expected:
        what = "bytes after the last record" if rest.startswith(expected) else "the central directory"
        raise _not_ours(what if len(rest) >= len(expected) else "the end of the zip (truncated?)")


def _explain_record(fields: tuple[int, ...], offset: int) -> None:
    _, _, flags, method, *_, packed, size, _, extra = fields
    if flags & _ENCRYPTED:
        raise BundleError("encrypted", f"the record at byte {offset} is encrypted", hint=_AGAIN)
    if method != _STORED or flags or extra or packed != size:
        raise BundleError(
            "zipped_again",
            f"the record at byte {offset} was not written by agentproof (method {method}, flags {flags:#x})",
            hint=_AGAIN,
        )


def _not_ours(what: str) -> BundleError:
    return BundleError("not_canonical", f"the zip differs from the one form at {what}", hint=_AGAIN)


@dataclass(frozen=True)
class _Entry:
    method: int
    crc: int
    packed: int
    size: int
    offset: int


class WheelFile:
    """The files of a wheel, read strictly and within bounds.

    Raises:
        BundleError: not a zip, or one that two readers could understand differently.
    """

    def __init__(self, data: bytes, *, path: str) -> None:
        self._data = data
        self._path = path
        self._entries = self._read_directory()

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

    def _read_directory(self) -> dict[str, _Entry]:
        data = self._data
        at = len(data) - _END.size
        if at < 0 or data[at : at + 4] != _END_SIGN:
            raise self._wrong("no end record at the end of the file (a comment, or no zip)")
        _, disk, start_disk, here, count, length, start, comment = _END.unpack_from(data, at)
        if disk or start_disk or here != count or comment or start + length != at:
            raise self._wrong("its end record does not describe the file")
        if count > MAX_WHEEL_FILES:
            raise self._wrong(f"{count} files are over the limit of {MAX_WHEEL_FILES}")
        entries: dict[str, _Entry] = {}
        spans: list[tuple[int, tuple[int, ...]]] = []
        total, where = 0, start
        for _ in range(count):
            if where + _CENTRAL.size > at or data[where : where + 4] != _CENTRAL_SIGN:
                raise self._wrong(f"no central record at byte {where}")
            name, entry, step = self._read_central(where)
            spans.append((entry.offset, self._ends(entry)))
            where += step
            if name.endswith("/") and entry.size == 0:
                continue
            total += entry.size
            if name in entries:
                raise self._wrong(f"{name} is there twice")
            if total > MAX_WHEEL_UNPACKED:
                raise self._wrong(f"more than {MAX_WHEEL_UNPACKED} bytes unpacked")
            entries[name] = entry
        if where != at:
            raise self._wrong("its central directory has another length than stated")
        ends: tuple[int, ...] = (0,)
        for offset, following in [*sorted(spans), (start, ())]:
            if offset not in ends:
                raise self._wrong(f"bytes before byte {offset} that are in no file of its directory")
            ends = following
        return entries

    def _ends(self, entry: _Entry) -> tuple[int, ...]:
        """Where the next record may begin."""
        local = _LOCAL.unpack_from(self._data, entry.offset)
        end = entry.offset + _LOCAL.size + local[9] + local[10] + entry.packed
        return tuple(end + size for size in _DESCRIPTOR_SIZES) if local[2] & _DESCRIPTOR else (end,)

    def _read_central(self, where: int) -> tuple[str, _Entry, int]:
        fields = _CENTRAL.unpack_from(self._data, where)
        flags, method, crc, packed, size = fields[3], fields[4], *fields[7:10]
        name_length, extra, comment, offset = *fields[10:13], fields[16]
        raw = self._data[where + _CENTRAL.size : where + _CENTRAL.size + name_length]
        if flags & _ENCRYPTED or method not in (_STORED, _DEFLATED) or 0xFFFFFFFF in (packed, size, offset):
            raise self._wrong(f"{raw!r} is encrypted, zip64 or packed in another way than deflate")
        if offset + _LOCAL.size > len(self._data):
            raise self._wrong(f"{raw!r} starts outside the archive")
        local = _LOCAL.unpack_from(self._data, offset)
        begin = offset + _LOCAL.size
        if local[0] != _LOCAL_SIGN or self._data[begin : begin + local[9]] != raw or local[3] != method:
            raise self._wrong(f"{raw!r} has another name or method in its own record")
        stated = (0, 0, 0) if local[2] & _DESCRIPTOR else (crc, packed, size)
        if tuple(local[6:9]) not in (stated, (crc, packed, size)):
            raise self._wrong(f"{raw!r} has another size in its own record")
        if min(raw, default=0) < 0x20 or (not raw.isascii() and not flags & local[2] & _UTF8):
            raise self._wrong(f"{raw!r} is no name that every reader reads in one way")
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._wrong(f"{raw!r} is not UTF-8") from error
        if self._has_other_name(where + _CENTRAL.size + name_length, extra):
            raise self._wrong(f"{raw!r} has another name in an extra field")
        step = _CENTRAL.size + name_length + extra + comment
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
