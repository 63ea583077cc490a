"""Make small wheels in memory, sound ones and ones with a single fault."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping


def make_wheel(
    name: str = "demo",
    version: str = "1.0",
    *,
    files: Mapping[str, bytes] | None = None,
    metadata: str = "",
    tag: str = "py3-none-any",
    record: Mapping[str, str] | None = None,
    without: tuple[str, ...] = (),
    unlisted: Mapping[str, bytes] | None = None,
    stamp: tuple[int, int, int, int, int, int] = (2020, 1, 1, 0, 0, 0),
) -> tuple[str, bytes]:
    """A wheel's (file name, bytes).

    `files` are its contents (default: a package of one module); `metadata` more lines of METADATA;
    `record` replaces digests in RECORD; `without` leaves members out of the archive; `unlisted` are
    members that RECORD does not name; `stamp` is the time of all members.
    """
    dist = f"{name.replace('-', '_')}-{version}"
    info = f"{dist}.dist-info"
    members = dict(files if files is not None else {f"{name.replace('-', '_')}/__init__.py": b"VALUE = 1\n"})
    members[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}".encode()
    )
    members[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    )
    lines = [
        f"{path},{(record or {}).get(path, _digest(data))},{len(data)}" for path, data in members.items()
    ]
    members[f"{info}/RECORD"] = ("\n".join([*lines, f"{info}/RECORD,,"]) + "\n").encode()
    members |= unlisted or {}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in members.items():
            if path not in without:
                archive.writestr(zipfile.ZipInfo(path, stamp), data)
    return f"{dist}-{tag}.whl", buffer.getvalue()


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
