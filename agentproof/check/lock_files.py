"""Read which wheels a lock file of the reader's pins: `uv.lock`, `pylock.toml`, `requirements.txt`.

Only digests count: a lock that pins a version without hashes says nothing about bytes.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..bundle.wheel import normalise
from ..errors import UsageError
from ..limits import MAX_LOCK_BYTES
from ..system.files import read_bounded, shown
from .source import KnownLock, Pin

_HASH = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?:===?\s*(?P<version>[^\s;,\\#]+))?"
)
_REQUIREMENT_HASH = re.compile(r"--hash[=\s]+sha256:([0-9a-f]{64})")


def read_known(path: Path) -> KnownLock:
    """The pins of the lock file at `path`.

    Raises:
        UsageError: there is no such file, it is no lock of these three forms, or it holds no SHA-256.
    """
    data = read_bounded(path, limit=MAX_LOCK_BYTES, what="lock")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 (byte {error.start})") from error
    is_toml = path.suffix in (".toml", ".lock")
    pins = tuple(_of_toml(text, path) if is_toml else _of_requirements(text))
    if not any(pin.sha256 for pin in pins):
        raise UsageError(
            f"{path} pins no wheel by SHA-256",
            hint="give uv.lock, pylock.toml, or requirements.txt with hashes "
            "(`uv export`, `pip-compile --generate-hashes`)",
        )
    return KnownLock(shown(path), pins)


def _of_toml(text: str, path: Path) -> Iterator[Pin]:
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from error
    # uv.lock says `package`, pylock.toml (PEP 751) `packages`.
    for package in _tables(document.get("packages", document.get("package"))):
        name, version = package.get("name"), package.get("version")
        if isinstance(name, str):
            # pylock.toml gives a wheel from a direct URL as `archive`.
            wheels = [*_tables(package.get("wheels")), *_tables([package.get("archive")])]
            digests = frozenset(digest for wheel in wheels for digest in _digests(wheel))
            yield Pin(normalise(name), version if isinstance(version, str) else None, digests)


def _tables(value: object) -> list[Mapping[str, Any]]:  # Any: TOML
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _digests(wheel: Mapping[str, Any]) -> Iterator[str]:  # Any: TOML
    hashes = wheel.get("hashes")
    for value in (wheel.get("hash"), hashes.get("sha256") if isinstance(hashes, dict) else None):
        if isinstance(value, str) and (match := _HASH.fullmatch(value)):
            yield match[1]


def _of_requirements(text: str) -> Iterator[Pin]:
    for line in logical_lines(text):
        if line.startswith("-"):
            continue
        match = _REQUIREMENT.match(line)
        if match is not None:
            yield Pin(normalise(match["name"]), match["version"], frozenset(_REQUIREMENT_HASH.findall(line)))


def logical_lines(text: str) -> Iterator[str]:
    """The lines of a requirements file, joined where they end in a backslash, without comments."""
    whole = ""
    for line in text.splitlines():
        whole += re.sub(r"(?:^|\s)#.*", "", line)
        if whole.endswith("\\"):
            whole = whole[:-1] + " "
            continue
        if whole.strip():
            yield whole.strip()
        whole = ""
