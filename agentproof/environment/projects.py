"""The reporter's own projects: a wheel, or a directory that is built into one, by `--with`.

Rules:
1. `--with DIR`, `--with FILE.whl` and `--with "name @ file:…"` name what lies on this machine; nothing of
   that name is asked of an index, here or in a replay.
2. A directory is built by its own build backend, by uv in isolation, from a copy that is thrown away, with
   one SOURCE_DATE_EPOCH for all, so that one content gives one wheel where the backend allows.
3. The wheel's bytes go along with the reproduction from here on: what was built is what is installed, kept in
   the bundle and installed again.
"""

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ..bundle import digests
from ..bundle.wheel import BUILD_AGAIN, check_installable, read_wheel
from ..errors import BundleError, UsageError
from ..limits import MAX_WHEEL_BYTES
from ..models.manifest import LOCAL, Package
from ..system import temporary
from ..system.files import read_bounded
from .checkout import build_wheel
from .interpreters import Interpreter

_EPOCH: Final = 315532800
"""1980-01-01, the first day that a zip can name."""
_NOT_COPIED: Final = (
    ".*",
    "__pycache__",
    "node_modules",
    "venv",
    "env",
    "build",
    "dist",
    "*.egg-info",
    "*.agentproof.zip",
)
_MARKS: Final = ("pyproject.toml", "setup.py", "setup.cfg")


@dataclass(frozen=True)
class OwnWheel:
    """A wheel of the reporter's own."""

    name: str
    """Normalised (PEP 503)."""
    version: str
    filename: str
    data: bytes

    @property
    def sha256(self) -> str:
        """Its digest."""
        return digests.sha256(self.data)

    def package(self) -> Package:
        """It as a manifest has it."""
        return Package(
            name=self.name,
            version=self.version,
            wheel=self.filename,
            sha256=self.sha256,
            size=len(self.data),
            origin=LOCAL,
        )


def place_of(text: str) -> Path | None:
    """The directory or wheel that a `--with` names; None: it is a requirement on an index.

    Raises:
        UsageError: it names what is not there, another kind of URL, or extras.
    """
    url = text if re.match(r"[A-Za-z][\w+.-]*://", text) else text.partition("@")[2]
    if "/" in url or re.match(r"\s*[A-Za-z]+:", url):
        parts = urlsplit(url.strip())
        if parts.scheme != "file":
            raise UsageError(
                f"--with {text}: a {parts.scheme or 'relative'} URL; only file: is taken",
                hint="clone or download it, then --with DIR or --with FILE.whl",
            )
        place = Path(url2pathname(parts.path))
        _check_there(place, text)
        return place
    is_path = text in (".", "..") or re.match(r"(\.{0,2}|~|[A-Za-z]:)?[/\\]", text) is not None
    if not is_path and not text.endswith(".whl") and not Path(text, "pyproject.toml").is_file():
        return None
    if "[" in text and not Path(text).exists():
        raise UsageError(
            f"--with {text}: extras of a directory are not taken",
            hint=f"--with {text.partition('[')[0]}, and a --with for what the extra brings",
        )
    place = Path(text).expanduser()
    _check_there(place, text)
    return place


def _check_there(place: Path, text: str) -> None:
    if place.is_file() and place.suffix == ".whl":
        return
    if not place.is_dir():
        raise UsageError(
            f"--with {text}: no wheel and no directory is there",
            hint="give a project's directory, a wheel, or a requirement as 'name==1.0'",
        )
    if not any((place / mark).is_file() for mark in _MARKS):
        raise UsageError(
            f"--with {text}: no project, since it has no pyproject.toml",
            hint="modules beside the script go along by themselves; --root DIR takes more",
        )


def own_wheels(
    texts: Sequence[str],
    *,
    interpreter: Callable[[], Interpreter],
    cache: Path,
    offline: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[tuple[str, ...], tuple[OwnWheel, ...]]:
    """Divide what `--with` names into requirements on an index and wheels of one's own, which are built.

    Raises:
        UsageError: one is not there, is no project, or names another project than it says.
        CannotDoError: a project cannot be built.
    """
    requirements: list[str] = []
    wheels: dict[str, OwnWheel] = {}
    for text in texts:
        place = place_of(text)
        if place is None:
            requirements.append(text)
            continue
        if place.is_dir():
            wheel = _built(place.resolve(), interpreter(), cache, offline=offline, progress=progress)
        else:
            wheel = read_own(read_bounded(place, limit=MAX_WHEEL_BYTES, what="--with"), place.name)
        _check_named(text, wheel)
        if wheels.setdefault(wheel.name, wheel) != wheel:
            raise UsageError(f"--with {text}: {wheel.name} is given twice", hint="give one of them")
    return tuple(requirements), tuple(wheels[name] for name in sorted(wheels))


def read_own(data: bytes, filename: str) -> OwnWheel:
    """The wheel in `data`.

    Raises:
        UsageError: it is none that an installer takes.
    """
    try:
        wheel = read_wheel(data, filename)
        check_installable(wheel)
    except BundleError as error:
        raise UsageError(f"--with {error.message}", hint=BUILD_AGAIN) from error
    return OwnWheel(name=wheel.name, version=wheel.version, filename=filename, data=data)


def _check_named(text: str, wheel: OwnWheel) -> None:
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return
    if wanted.url is not None and canonicalize_name(wanted.name) != wheel.name:
        raise UsageError(f"--with {text}: there is {wheel.name} {wheel.version}, not {wanted.name}")
    if wanted.extras:
        raise UsageError(
            f"--with {text}: extras of a file are not taken", hint="give a --with for what the extra brings"
        )


def _built(
    place: Path,
    interpreter: Interpreter,
    cache: Path,
    *,
    offline: bool,
    progress: Callable[[str], None],
) -> OwnWheel:
    progress(f"building {place.name}")
    with temporary.directory("project") as base:
        source = base / place.name
        shutil.copytree(place, source, ignore=shutil.ignore_patterns(*_NOT_COPIED), symlinks=True)
        wheel = build_wheel(
            source,
            base / "wheel",
            what=str(place),
            epoch=_EPOCH,
            interpreter=interpreter,
            cache=cache,
            offline=offline,
        )
        return read_own(wheel.read_bytes(), wheel.name)


__all__ = ["OwnWheel", "own_wheels", "place_of", "read_own"]
