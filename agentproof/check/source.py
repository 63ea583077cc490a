"""Pure comparisons of a target wheel with what was loaded of it, and with the reader's sources.

`compare_loaded` holds modules to a wheel: each is a file of it with this digest, at the place where
an import of that name finds it.

`Sources.compare` says whether the reader's own wheels, locks and wheel store name the same wheel. A
wheel that comes with a bundle proves only that the bundle agrees with itself.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..bundle.wheel import Wheel, normalise, read_wheel
from ..errors import BundleError, UsageError
from ..limits import MAX_WHEEL_BYTES
from ..models.manifest import LoadedModule, Target
from ..models.report import Difference
from ..system.files import read_bounded, shown


def compare_loaded(loaded: Iterable[LoadedModule], wheel: Wheel) -> None:
    """Hold the modules that a recording had loaded to the files of `wheel`.

    Raises:
        BundleError: a module is no file of it, is another file, or stands where no import finds it.
    """
    for module in loaded:
        if wheel.modules.get(module.path) == (module.module, module.sha256):
            continue
        digest = wheel.installed.get(module.path)
        if digest is None:
            raise BundleError("not_in_wheel", f"module {module.module}: the wheel has no {module.path}")
        if digest != module.sha256:
            raise BundleError(
                "other_module", f"module {module.module}: {module.path} differs from the wheel's"
            )
        stem = module.module.replace(".", "/")
        rest = module.path.removeprefix(stem)
        if rest == module.path or not _MODULE_FILE.fullmatch(rest):
            raise BundleError("other_module", f"module {module.module} is not imported from {module.path}")


_MODULE_FILE = re.compile(r"(?:/__init__)?(?:\.py|(?:\.[A-Za-z0-9_-]+)?\.(?:so|pyd))")
"""What stands behind a module's path: a source file or an extension module, of a package or not."""


class Provenance(Protocol):
    """Where this machine got a wheel from."""

    @property
    def origin(self) -> str:
        """`index`, or `file`."""

    @property
    def project(self) -> str | None:
        """For `index`: the project under whose name it was served."""


@dataclass(frozen=True)
class HeldWheel:
    """A wheel that the reader gives."""

    label: str
    """The file, for people."""
    data: bytes
    wheel: Wheel


@dataclass(frozen=True)
class Pin:
    """One distribution that a lock of the reader's pins."""

    name: str
    version: str | None
    sha256: frozenset[str]


@dataclass(frozen=True)
class KnownLock:
    """A lock file of the reader's."""

    label: str
    pins: tuple[Pin, ...]


@dataclass(frozen=True)
class SourceComparison:
    """What the reader's sources say about a target wheel."""

    held: tuple[str, ...] = ()
    """The sources that name this very wheel, for people."""
    differences: tuple[Difference, ...] = ()
    """Sources about the same project that name another wheel."""
    silent: tuple[str, ...] = ()
    """Why the other sources say nothing."""


def read_held_wheel(path: Path) -> HeldWheel:
    """A wheel file of the reader's.

    Raises:
        UsageError: there is no such file, or it is no wheel.
    """
    data = read_bounded(path, limit=MAX_WHEEL_BYTES, what="wheel")
    try:
        return HeldWheel(shown(path), data, read_wheel(data, path.name))
    except BundleError as error:
        raise UsageError(f"{path} is no wheel that agrees with itself: {error}") from error


@dataclass(frozen=True)
class Sources:
    """The reader's own sources."""

    wheels: tuple[HeldWheel, ...] = ()
    locks: tuple[KnownLock, ...] = ()
    provenance: Callable[[str], Provenance | None] | None = None
    """The wheel store: what this machine knows of the wheel with that SHA-256."""
    stored: Callable[[str], bytes | None] | None = None
    """The wheel store: the bytes of the wheel with that SHA-256, hashed as they are read."""

    def wheel_bytes(self, sha256: str) -> bytes | None:
        """The bytes of the target wheel, where the reader gave that very wheel or keeps it."""
        given = next((held.data for held in self.wheels if held.wheel.sha256 == sha256), None)
        return self.stored(sha256) if given is None and self.stored is not None else given

    def compare(self, target: Target) -> SourceComparison:
        """Whether the reader holds the wheel that `target` names."""
        held: list[str] = []
        differences: list[Difference] = []
        silent: list[str] = []
        for mine in self.wheels:
            if mine.wheel.sha256 == target.sha256:
                held.append(mine.label)
            elif mine.wheel.name == target.name:
                yours = f"{mine.wheel.name} {mine.wheel.version}, {mine.wheel.sha256}"
                differences.append(_difference(mine.label, target, yours))
            else:
                silent.append(f"{mine.label} is {mine.wheel.name}")
        for lock in self.locks:
            named = [pin for pin in lock.pins if pin.name == target.name]
            pins = [pin for pin in named if pin.sha256]
            if any(target.sha256 in pin.sha256 for pin in pins):
                held.append(lock.label)
            elif named and not pins:
                silent.append(f"{lock.label} names {target.name} without a digest")
            elif pins:
                yours = "; ".join(
                    f"{pin.name} {pin.version or ''} by {len(pin.sha256)} digests" for pin in pins
                )
                differences.append(_difference(lock.label, target, yours))
            else:
                silent.append(f"{lock.label} does not pin {target.name}")
        self._ask_store(target, held, silent)
        return SourceComparison(tuple(held), tuple(differences), tuple(silent))

    def _ask_store(self, target: Target, held: list[str], silent: list[str]) -> None:
        if self.provenance is None:
            return
        known = self.provenance(target.sha256)
        if known is None:
            silent.append("your wheel store does not have it")
        elif known.origin != "index":
            silent.append("your wheel store has it as a file, not from an index")
        elif known.project is None or normalise(known.project) != target.name:
            silent.append(f"your wheel store has it from the index as {known.project}, another project")
        else:
            held.append("your wheel store (from the index)")


def _difference(label: str, target: Target, yours: str) -> Difference:
    return Difference(
        what=f"target wheel against {label}"[:4096],
        bundle=f"{target.name} {target.version}, {target.sha256}",
        yours=yours[:4096],
    )
