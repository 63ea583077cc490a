"""Read what somebody else has locked or installed: lock files, requirement files, interpreters.

A *lock* (`--lock`) is the whole environment, each package with its digests: PEP 751's `pylock.toml`, or
requirements with `--hash`. A *listing* (`--like`) only says which version of a package is in use:
`uv.lock`, any requirements or lock file, or what is installed beside an interpreter.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.markers import InvalidMarker, Marker
from packaging.pylock import (
    PackageWheel,
    Pylock,
    PylockSelectError,
    PylockUnsupportedVersionError,
    PylockValidationError,
)
from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag
from packaging.utils import canonicalize_name

from ..check.lock_files import logical_lines
from ..errors import CannotDoError, UsageError
from ..system.files import read_bounded
from .interpreters import Interpreter

_MAX_BYTES: Final = 32 * 2**20
_MAX_DEPTH: Final = 8
_SECONDS: Final = 60

LOCK_WHAT: Final = (
    "give a pylock.toml (`uv export --format pylock.toml`, `pip lock`), or requirements with hashes "
    "(`uv pip compile --generate-hashes`)"
)
_LIKE_WHAT: Final = "give an environment or its python, a uv.lock, a pylock.toml or a requirements file"


@dataclass(frozen=True)
class Pin:
    """One package of a lock."""

    name: str
    """Normalised."""
    version: str
    sha256: frozenset[str]
    """Digests of the files that may be used."""
    filename: str | None = None
    """The wheel, when the lock names it; then `sha256` has one digest."""
    path: Path | None = None
    """Where the lock says that the wheel lies on this machine."""


def read_lock(path: Path, interpreter: Interpreter) -> tuple[Pin, ...]:
    """Read a `pylock.toml`, or requirements with hashes, for one interpreter.

    Raises:
        UsageError: the file is no such lock, or does not cover this interpreter.
    """
    raw = read_bounded(path, limit=_MAX_BYTES, what="--lock")
    if path.suffix == ".toml":
        return tuple(_pylock_pins(path, raw, interpreter))
    if path.name == "uv.lock":
        raise UsageError(
            f"--lock {path}: a uv.lock holds more than one environment",
            hint=f"give --like {path}, or export one: `uv export --format pylock.toml -o pylock.toml`",
        )
    pins = []
    for requirement, digests in _requirement_lines(path, "--lock", depth=0):
        if requirement.marker is not None and not _applies(requirement.marker, interpreter):
            continue
        versions = [item.version for item in requirement.specifier if item.operator == "=="]
        if len(versions) != 1 or not digests:
            raise UsageError(
                f"--lock {path}: {requirement.name} is not pinned by version and --hash=sha256:…",
                hint="`uv pip compile --generate-hashes` writes such a file; or give it as --like",
            )
        pins.append(Pin(canonicalize_name(requirement.name), versions[0], frozenset(digests)))
    if not pins:
        raise UsageError(f"--lock {path}: it pins nothing", hint=LOCK_WHAT)
    return tuple(pins)


def _pylock_pins(path: Path, raw: bytes, interpreter: Interpreter) -> Iterator[Pin]:
    tags = [Tag(*text.split("-")) for text in interpreter.tags]
    try:
        lock = Pylock.from_dict(tomllib.loads(raw.decode("utf-8")))
        # Any Environment: the marker variables as that interpreter gave them.
        chosen = list(lock.select(environment=dict(interpreter.markers), tags=tags))  # type: ignore[arg-type]
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"--lock {path}: not TOML ({error})", hint=LOCK_WHAT) from error
    except (PylockValidationError, PylockUnsupportedVersionError) as error:
        raise UsageError(f"--lock {path}: not a pylock.toml of PEP 751 ({error})", hint=LOCK_WHAT) from error
    except PylockSelectError as error:
        raise UsageError(
            f"--lock {path} does not cover Python {interpreter.version} on this machine: {error}",
            hint="choose another with --python",
        ) from error
    for package, artifact in chosen:
        if not isinstance(artifact, PackageWheel) or package.version is None:
            raise CannotDoError(
                f"--lock {path}: {package.name} has no wheel in it, and nothing is built from source",
                hint="lock again with wheels only",
            )
        if "sha256" not in artifact.hashes:
            raise UsageError(f"--lock {path}: the wheel of {package.name} has no SHA-256", hint=LOCK_WHAT)
        yield Pin(
            name=canonicalize_name(package.name),
            version=str(package.version),
            sha256=frozenset((artifact.hashes["sha256"].lower(),)),
            filename=artifact.filename,
            path=path.parent / artifact.path if artifact.path else None,
        )


def _applies(marker: Marker, interpreter: Interpreter) -> bool:
    return marker.evaluate(dict(interpreter.markers))


def read_listing(like: str) -> tuple[str, ...]:
    """Which versions are in use, as constraints for a resolver: `name==version`, with markers.

    `like` is a file (`uv.lock`, `pylock.toml`, requirements) or the interpreter of an environment.

    Raises:
        UsageError: it is neither.
        CannotDoError: the interpreter cannot be asked.
    """
    found = tuple(sorted(set(_listing(Path(like)))))
    if not found:
        raise UsageError(f"--like {like}: it lists no release of anything", hint="give another environment")
    return found


def _listing(path: Path) -> Iterator[str]:
    if path.name == "uv.lock":
        return _uv_lock(path)
    if path.suffix == ".toml":
        return _pylock_listing(path)
    if path.suffix in (".txt", ".in", ".lock") and path.exists():
        lines = _requirement_lines(path, "--like", depth=0)
        return (str(line) for line, _ in lines if line.specifier)
    if path.is_dir():
        for inner in (path / "bin" / "python", path / "Scripts" / "python.exe"):
            if inner.is_file():
                return _installed(inner)
        inside = [name for name in ("uv.lock", "pylock.toml", "requirements.txt") if (path / name).is_file()]
        raise UsageError(
            f"--like {path}: a directory that is no environment",
            hint=f"give {path / inside[0]}" if inside else _LIKE_WHAT,
        )
    found = path if path.is_file() else Path(shutil.which(path) or path)
    if not found.is_file():
        raise UsageError(f"--like {path}: no such file", hint=_LIKE_WHAT)
    if not os.access(found, os.X_OK):
        raise UsageError(f"--like {path}: neither a list of versions nor an interpreter", hint=_LIKE_WHAT)
    return _installed(found.absolute())


def _uv_lock(path: Path) -> Iterator[str]:
    document = _toml(path)
    for package in document.get("package", []):
        source = package.get("source", {})
        if "registry" not in source or "version" not in package:
            continue  # the project itself, a directory, a repository
        markers = package.get("resolution-markers", [])
        text = f"{package['name']}=={package['version']}"
        yield f"{text} ; {' or '.join(f'({marker})' for marker in markers)}" if markers else text


def _pylock_listing(path: Path) -> Iterator[str]:
    for package in _toml(path).get("packages", []):
        if "version" in package:
            marker = package.get("marker")
            yield f"{package['name']}=={package['version']}" + (f" ; {marker}" if marker else "")


def _toml(path: Path) -> dict[str, Any]:  # Any: another tool's document
    raw = read_bounded(path, limit=_MAX_BYTES, what="--like")
    try:
        document = tomllib.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"--like {path}: not TOML ({error})") from error
    if not isinstance(document.get("package", []), list) or not isinstance(
        document.get("packages", []), list
    ):
        raise UsageError(f"--like {path}: no lock file")
    return document


_LISTER: Final = """
import importlib.metadata, json, sys
found = {}
for one in importlib.metadata.distributions():
    if one.name not in found:
        direct = json.loads(one.read_text("direct_url.json") or "{}")
        found[one.name] = [one.version, "dir_info" in direct or "vcs_info" in direct]
json.dump(found, sys.stdout)
"""
"""Runs under the environment's own interpreter: standard library only."""


def _installed(python: Path) -> Iterator[str]:
    try:
        done = subprocess.run(
            # -I: nothing of the working directory or PYTHONPATH counts as installed.
            [str(python), "-I", "-B", "-c", _LISTER],
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotDoError(f"--like {python}: cannot be run: {error}", hint=_LIKE_WHAT) from error
    except json.JSONDecodeError as error:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        if said and said[0].startswith("pyenv:"):
            raise CannotDoError(
                f"--like {python} is a shim of pyenv for a version that is not selected",
                hint="set PYENV_VERSION=<version>, or give the environment's own python",
            ) from error
        raise CannotDoError(
            f"--like {python}: it does not list what is installed{f': {said[-1][:200]}' if said else ''}",
            hint=_LIKE_WHAT,
        ) from error
    for name, (version, unreleased) in found.items():
        if not unreleased:  # PEP 610: from a directory or repository, so no index has that version
            yield f"{canonicalize_name(name)}=={version}"


def _requirement_lines(path: Path, option: str, *, depth: int) -> Iterator[tuple[Requirement, list[str]]]:
    """(requirement, SHA-256s) of a requirements file that `option` names, and of those that it includes."""
    hint = LOCK_WHAT if option == "--lock" else _LIKE_WHAT
    if depth > _MAX_DEPTH:
        raise UsageError(f"{option} {path}: included too deeply")
    try:
        text = read_bounded(path, limit=_MAX_BYTES, what=option).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{option} {path}: not UTF-8", hint=hint) from error
    for content in logical_lines(text):
        if included := re.fullmatch(r"(?:-r|--requirement|-c|--constraint)[=\s]+(.+)", content):
            yield from _requirement_lines(path.parent / included[1].strip(), option, depth=depth + 1)
            continue
        if content.startswith("-"):
            continue  # options: index settings are the user's own, editables are no releases
        digests = re.findall(r"--hash[=\s]sha256:([0-9a-fA-F]{64})", content)
        bare = re.sub(r"\s--\S.*$", "", content)
        try:
            requirement = Requirement(bare)
        except (InvalidRequirement, InvalidMarker) as error:
            raise UsageError(f"{option} {path}: {bare!r} is no requirement", hint=hint) from error
        if requirement.url is None:
            yield requirement, [digest.lower() for digest in digests]
