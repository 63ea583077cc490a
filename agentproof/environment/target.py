"""What is to be recorded, as it was asked for: a requirement, or a wheel file."""

import hashlib
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from ..bundle.wheel import BUILD_AGAIN, Wheel, check_installable, read_wheel
from ..errors import BundleError, CannotDoError, UsageError
from ..limits import MAX_WHEEL_BYTES
from ..models.manifest import Origin
from ..system.files import read_bounded
from . import resolver
from .dates import NOW, parse_day
from .interpreters import Interpreter
from .pins import LOCK_WHAT
from .wheel_store import Provenance, WheelStore


@dataclass(frozen=True)
class GivenWheel:
    """A wheel file that is the target; its bytes are in the store."""

    file: Wheel
    sha256: str
    size: int
    stored: Path
    origin: Origin


@dataclass(frozen=True)
class LockRequest:
    """The target and all other requirements."""

    requirement: Requirement
    """The target with every extra that was asked of it."""
    others: tuple[str, ...]
    """Sorted; none is on the target's project."""
    given: GivenWheel | None

    @property
    def name(self) -> str:
        """The target's project, normalised."""
        return canonicalize_name(self.requirement.name)

    @property
    def title(self) -> str:
        """The target, for messages."""
        return f"{self.name} {self.given.file.version}" if self.given else str(self.requirement)

    @property
    def exact(self) -> bool:
        """Whether exactly one version can be meant."""
        items = list(self.requirement.specifier)
        return self.given is not None or (
            len(items) == 1 and items[0].operator == "==" and not items[0].version.endswith(".*")
        )

    def pinned(self, version: str) -> str:
        """The requirement on that very version, with the extras."""
        return f"{self.name}{self.extras}=={version}"

    @property
    def extras(self) -> str:
        """The extras as a requirement writes them."""
        return f"[{','.join(sorted(self.requirement.extras))}]" if self.requirement.extras else ""


def check_options(*, as_of: str | None, lock_file: Path | None, like: str | None) -> None:
    """Refuse what contradicts itself, or is not there, before anything else is looked at.

    Raises:
        UsageError: more than one of them says what to take, or one names nothing.
    """
    options = {"--as-of": as_of, "--lock": lock_file, "--like": like}
    given = [name for name, option in options.items() if option is not None]
    # Now: whatever the other environment does not have, and the target itself if it is to be the newest.
    if len(given) > 1 and (as_of != NOW or lock_file is not None):
        raise UsageError(f"{' and '.join(given)} both say which versions to take", hint="give one of them")
    parse_day(as_of)
    if lock_file is not None and not lock_file.exists():
        raise UsageError(f"--lock {lock_file}: no such file", hint=LOCK_WHAT)


def check_listed(wanted: LockRequest, listed: Container[str], like: str) -> None:
    """Refuse a target without a version that is not in use in the environment `like`.

    Raises:
        UsageError: it is not among `listed`.
    """
    if wanted.name not in listed:
        raise UsageError(
            f"--like {like} does not have {wanted.name}, and nothing else says which release to record",
            hint="give --sdk VERSION, or --sdk latest",
        )


def understand(
    *,
    requirement: str | None,
    wheel: Path | None,
    sha256: str | None,
    extra: Iterable[str],
    origin: Origin | None,
    interpreter: Interpreter,
    store: WheelStore,
) -> LockRequest:
    """Read what was asked for; a given wheel goes into the store.

    Raises:
        UsageError: it contradicts itself, or is no requirement or wheel.
        CannotDoError: the wheel is not the one of `sha256`, or does not fit the interpreter.
    """
    parsed = parse_requirement(requirement) if requirement is not None else None
    if parsed is not None and parsed.marker is not None:
        raise UsageError(
            f"the target {requirement!r} has a marker", hint="leave the part after the semicolon out"
        )
    given = None
    if wheel is not None:
        given = _given(wheel, parsed, store, origin or Origin(kind="file"))
        if sha256 is not None and given.sha256 != sha256:
            raise wrong_digest(given.file.filename, given.sha256, sha256)
        _check_fits(given.file, interpreter)
    if parsed is None:
        if given is None:
            raise UsageError("no target", hint="name one with --sdk NAME==VERSION or --wheel FILE")
        parsed = Requirement(f"{given.file.name}=={given.file.version}")
    extras, others = set(parsed.extras), []
    for text in extra:
        other = parse_requirement(text)
        if canonicalize_name(other.name) == canonicalize_name(parsed.name):
            extras |= other.extras
        else:
            others.append(str(other))
    parsed.extras = extras
    return LockRequest(requirement=parsed, others=tuple(sorted(set(others))), given=given)


def parse_requirement(text: str) -> Requirement:
    """A requirement on releases of an index.

    Raises:
        UsageError: it is none, or names a URL.
    """
    try:
        parsed = Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(f"{text!r} is no requirement", hint="write NAME==VERSION") from error
    if parsed.url is not None:
        raise UsageError(
            f"{text!r} names a URL; environments hold wheels of an index only",
            hint="give a release, or the target's wheel with --wheel FILE",
        )
    return parsed


def read_given(data: bytes, file_name: str) -> Wheel:
    """The target wheel that the user gave.

    Raises:
        UsageError: it is not what a check of the bundle would accept, or no installer would.
    """
    try:
        wheel = read_wheel(data, file_name)
        check_installable(wheel)
    except BundleError as error:
        raise UsageError(f"--wheel {error.message}", hint=BUILD_AGAIN) from error
    return wheel


def check_served(data: bytes | None, file_name: str) -> None:
    """Hold the target wheel that an index serves to what a check of the bundle will ask of it.

    Raises:
        CannotDoError: it would not pass.
    """
    if data is None:
        raise CannotDoError(f"{file_name} has just left the wheel store", hint="run again")
    if len(data) > MAX_WHEEL_BYTES:
        raise CannotDoError(
            f"{file_name}: {len(data)} bytes are over the limit of {MAX_WHEEL_BYTES}",
            hint="no bundle of a wheel of that size can be checked: choose another release with --sdk",
        )
    try:
        wheel = read_wheel(data, file_name)
        check_installable(wheel)
    except BundleError as error:
        raise CannotDoError(
            f"this wheel cannot be recorded: {error.message}",
            hint="choose another release with --sdk, or build one and give it with --wheel",
        ) from error


def wrong_digest(filename: str, found: str, expected: str) -> CannotDoError:
    """The error for a target that is not the one that `--sha256` pins."""
    return CannotDoError(
        f"{filename} has SHA-256 {found}, not {expected} as --sha256 says",
        hint="find out which of the two is the one you mean; nothing was recorded",
    )


def _given(path: Path, wanted: Requirement | None, store: WheelStore, origin: Origin) -> GivenWheel:
    if not path.name.endswith(".whl"):
        raise UsageError(
            f"--wheel {path}: not a wheel",
            hint="build one first (`uv build --wheel`), or record a checkout with --source DIR",
        )
    data = read_bounded(path, limit=MAX_WHEEL_BYTES, what="--wheel")
    file = read_given(data, path.name)
    if wanted is not None and canonicalize_name(wanted.name) != file.name:
        raise UsageError(
            f"--wheel {path} is {file.name} {file.version}, not {canonicalize_name(wanted.name)}",
            hint=f"give a wheel of {wanted.name}, or name the other project with --sdk",
        )
    if wanted is not None and not wanted.specifier.contains(file.version, prereleases=True):
        raise UsageError(
            f"--wheel {path} is version {file.version}, not {wanted.specifier}",
            hint="give one of the two only",
        )
    stored = store.add(data, name=path.name, provenance=Provenance(origin="file"))
    return GivenWheel(
        file=file, sha256=hashlib.sha256(data).hexdigest(), size=len(data), stored=stored, origin=origin
    )


def _check_fits(file: Wheel, interpreter: Interpreter) -> None:
    try:
        needs = SpecifierSet(file.requires_python or "")
    except InvalidSpecifier as error:
        raise UsageError(
            f"{file.filename}: its Requires-Python {file.requires_python!r} is no specifier", hint=BUILD_AGAIN
        ) from error
    if not needs.contains(interpreter.version, prereleases=True):
        raise CannotDoError(
            f"{file.name} {file.version} needs Python {file.requires_python}, not {interpreter.version}",
            hint="choose another with --python",
        )
    if resolver.rank(file.filename, interpreter.tags) is None:
        raise CannotDoError(
            f"{file.filename} does not fit Python {interpreter.version} on this machine",
            hint="choose another with --python, or another wheel",
        )
