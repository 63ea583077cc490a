"""Compare an installed environment with its wheels, and take away what the wheels do not hold."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..bundle.wheel import Distribution, Recorded
from ..system.remove import remove_tree

_INSTALLERS_OWN: Final = ("INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json")
"""What an installer may write beside METADATA (PEP 376, PEP 610, uv)."""
_INTERPRETER: Final = re.compile(r"pythonw?[0-9.]*(?:\.exe)?")
CONFIGURATION: Final = "pyvenv.cfg"
"""What makes a directory a venv, and says where its interpreter lives."""


class DiffersError(Exception):
    """The environment is not what its wheels say."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@dataclass(frozen=True)
class _Expected:
    wheel: str
    recorded: Recorded


def settle(venv: Path, site_packages: Path, wheels: Sequence[Distribution], *, configuration: bytes) -> int:
    """Reduce a fresh venv to its wheels' files and verify each; the number of files compared.

    `configuration` is the `pyvenv.cfg` that the venv was created with: what a script can read is
    decided by it, so no wheel may bring another.

    Raises:
        DiffersError: a file is missing, differs from its RECORD, or belongs to no wheel.
    """
    expected: dict[str, _Expected] = {}
    records: set[str] = set()
    site = site_packages.relative_to(venv).as_posix()
    for wheel in wheels:
        for path, recorded in wheel.record.items():
            place = _place(path, site, wheel)
            if place is None:
                continue
            if place.lower() == CONFIGURATION:
                raise DiffersError(f"{wheel.filename} brings a {CONFIGURATION} of its own")
            if (known := expected.get(place)) is not None and known.recorded != recorded:
                raise DiffersError(
                    f"{path} is in {known.wheel} and in {wheel.filename}, with different contents"
                )
            expected[place] = _Expected(wheel=wheel.filename, recorded=recorded)
        records.add(f"{site}/{wheel.dist_info}/RECORD")
        dist_info = site_packages / wheel.dist_info
        for name in _INSTALLERS_OWN:
            if f"{wheel.dist_info}/{name}" not in wheel.record:
                dist_info.joinpath(name).unlink(missing_ok=True)
        # The installer's own lines (scripts, INSTALLER) go with the files that they name.
        dist_info.joinpath("RECORD").write_bytes(wheel.record_bytes)
    _tidy(venv)
    if (venv / CONFIGURATION).read_bytes() != configuration:
        raise DiffersError(f"{CONFIGURATION} changed while the wheels were installed")
    return _compare(venv, expected, records)


def _place(path: str, site: str, wheel: Distribution) -> str | None:
    """Where a wheel's file is installed, relative to the venv; None for a command, which is taken away."""
    head, _, rest = path.partition("/")
    if not head.endswith(".data") or "/" not in rest:
        return f"{site}/{path}"
    scheme, _, inner = rest.partition("/")
    match scheme:
        case "purelib" | "platlib":
            return f"{site}/{inner}"
        case "data" if inner.partition("/")[0].lower() not in ("bin", "scripts"):
            return inner
        case "headers":
            minor = site.split("/")[1]  # `python3.12` of lib/python3.12/site-packages
            return f"include/site/{minor}/{wheel.dist_info.split('-')[0]}/{inner}"
        case _:
            return None


def _tidy(venv: Path) -> None:
    """Take away uv's markers and every command but the interpreter's own names."""
    for name in (".gitignore", ".lock", "CACHEDIR.TAG"):
        venv.joinpath(name).unlink(missing_ok=True)
    for entry in os.scandir(venv / ("Scripts" if os.name == "nt" else "bin")):
        if entry.is_dir(follow_symlinks=False):
            remove_tree(entry.path)
        elif not _INTERPRETER.fullmatch(entry.name):
            os.unlink(entry.path)


def _compare(venv: Path, expected: dict[str, _Expected], records: set[str]) -> int:
    remaining = dict(expected)
    for place, path in _files(str(venv)):
        wanted = remaining.pop(place, None)
        if wanted is not None:
            with open(path, "rb", buffering=0) as stream:
                digest = hashlib.new(wanted.recorded.algorithm, stream.read())
            if digest.digest() != wanted.recorded.digest:
                raise DiffersError(f"{place} is not what the RECORD of {wanted.wheel} says")
        elif place not in records and place != CONFIGURATION:
            raise DiffersError(f"{place} belongs to none of the locked wheels")
    for place, wanted in remaining.items():
        raise DiffersError(f"{place} of {wanted.wheel} is missing")
    return len(expected)


def _files(top: str) -> Iterator[tuple[str, str]]:
    """(path relative to the venv, path) of all that is there but directories and the interpreter's links."""
    pending = [(top, "")]
    while pending:
        directory, relative = pending.pop()
        with os.scandir(directory) as entries:
            for entry in entries:
                place = f"{relative}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, f"{place}/"))
                elif entry.is_file(follow_symlinks=False):
                    yield place, entry.path
                elif not _interpreters(place, entry):
                    kind = stat.filemode(entry.stat(follow_symlinks=False).st_mode)
                    raise DiffersError(f"{place} is no regular file ({kind})")


def _interpreters(place: str, entry: os.DirEntry[str]) -> bool:
    """A venv's links: `bin/python*` to the base interpreter, `lib64` to `lib`."""
    if not entry.is_symlink():
        return False
    directory, _, name = place.rpartition("/")
    return (directory == "bin" and _INTERPRETER.fullmatch(name) is not None) or (
        place == "lib64" and os.readlink(entry.path) == "lib"
    )
