"""A bundle's zip, which is canonical.

It is written as follows, and nothing else is accepted:
1. Members sorted by name, stored; no directories, comments, extra fields or data descriptors.
2. Version 1.0 needed and 2.0 on Unix made it; flags 0; 1980-01-01 00:00; mode 0644, regular file.
3. Local records back to back from byte 0, then the central directory, then its end; no other byte.

`read_stored` compares every header with the one it would write, so it needs no second parser's
opinion about a name or a length. A wheel's zip is read by `_wheel`.
"""

import io
import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from ..errors import BundleError
from ..limits import MAX_BUNDLE_BYTES, MAX_FILES
from .digests import crc32

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_LOCAL_SIGN, _CENTRAL_SIGN, _END_SIGN = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_VERSION_NEEDED, _VERSION_MADE_BY = 10, (3 << 8) | 20
_DATE = (0 << 9) | (1 << 5) | 1
_ATTRIBUTES = 0o100644 << 16
_MAX_NAME = 240

_ENCRYPTED = 0x1
_STORED = 0

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


ZIP_END = _END.size
"""Bytes behind the directory."""


def zip_overhead(path: str) -> int:
    """What a file takes in the zip beside its bytes."""
    return _LOCAL.size + _CENTRAL.size + 2 * len(path)


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
    return BundleError("not_canonical", f"the zip differs from the canonical form at {what}", hint=_AGAIN)
