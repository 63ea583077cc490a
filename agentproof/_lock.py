"""Resolve a target and what it depends on to exactly one wheel per package, by SHA-256.

Rules:
1. uv resolves, from the user's own index, wheels only, for one interpreter on this machine.
2. "As of a day" considers what was uploaded on or before that day (UTC). The default day is the one
   after the target's own upload: today's dependencies break old releases.
3. A lock as of a past day never changes, so it is kept in the cache under all that it depends on, and
   used again without the index. It holds digests, no URL.
4. Every wheel is in the store, hash-checked, before a lock is returned.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from . import _download, _index, _resolve, _seal
from ._files import read_bounded, write_atomic
from ._pythons import Interpreter
from ._resolve import Pinned
from ._wheelfile import MAX_WHEEL_BYTES, WheelFile, read_wheel
from ._wheels import Provenance, WheelStore
from .errors import CannotDoError, UsageError
from .models._wire import Sha256, Text, Wire
from .models.manifest import Date, Environment, Origin, Package, Platform, Python, Target

NOW: Final = "now"
"""As an `as_of`: today, and no look at upload times."""


@dataclass(frozen=True)
class Lock:
    """One wheel per package, for one interpreter."""

    python: Interpreter
    packages: tuple[Package, ...]
    """Sorted by name; the target is among them."""
    target: Target
    as_of: str | None
    """The day (UTC) after whose end nothing was considered; None for a lock that was given."""

    def environment(self, *, installed_files: int) -> Environment:
        """The manifest's description of an environment that was built from this lock."""
        return Environment(
            python=Python(implementation="cpython", version=self.python.version),
            platform=self.python.platform,
            as_of=self.as_of,
            packages=self.packages,
            installed_files=installed_files,
        )


class _Key(Wire):
    """All that a cached lock depends on."""

    requirement: Text
    wheel: Sha256 | None = None
    extra: tuple[Text, ...]
    as_of: Date | None = None
    """Absent: the target's own day."""
    python: Text
    platform: Platform
    tags: Sha256
    places: Sha256


class _Record(Wire):
    """A lock as it is kept."""

    key: _Key
    target: Target
    packages: tuple[Package, ...]
    as_of: Date


def lock(
    *,
    requirement: str | None = None,
    wheel: Path | None = None,
    sha256: str | None = None,
    extra: Sequence[str] = (),
    interpreter: Interpreter,
    as_of: str | None = None,
    offline: bool = False,
    store: WheelStore,
    progress: Callable[[str], None] = lambda _: None,
) -> Lock:
    """Lock the release that `requirement` names, or the wheel file `wheel`, with all dependencies.

    With both, the wheel must be of the project (and version) that `requirement` names; its extras
    count. Requirements in `extra` on the target's own project are left out, their extras kept.

        lock(requirement="openai-agents==0.20.0", interpreter=find("3.12"), store=default_store())

    Raises:
        UsageError: what was asked for contradicts itself or does not exist.
        CannotDoError: the index cannot be reached, lacks what is needed, or is not to be asked.
    """
    wanted = _requirement(requirement) if requirement is not None else None
    given = _given(wheel, wanted, store) if wheel is not None else None
    if wanted is None:
        if given is None:
            raise UsageError("no target", hint="name one with --sdk NAME==VERSION or --wheel FILE")
        wanted = _requirement(f"{given.file.name}=={given.file.version}")
    wanted, others = _split(wanted, extra)
    day = _day(as_of)
    job = _Job(
        wanted=wanted,
        given=given,
        sha256=sha256,
        others=others,
        interpreter=interpreter,
        day=day,
        now=as_of == NOW,
        store=store,
        progress=progress,
    )
    if sha256 is not None and given is not None and given.sha256 != sha256:
        raise _wrong_digest(given.file.filename, given.sha256, sha256)
    return _from_cache(job, offline=offline) or _resolved(job, offline=offline)


@dataclass(frozen=True)
class _Given:
    """A wheel file that is the target."""

    file: WheelFile
    sha256: str
    size: int
    stored: Path


@dataclass(frozen=True)
class _Job:
    wanted: Requirement
    given: _Given | None
    sha256: str | None
    others: tuple[str, ...]
    interpreter: Interpreter
    day: date | None
    now: bool
    store: WheelStore
    progress: Callable[[str], None]

    @property
    def name(self) -> str:
        return canonicalize_name(self.wanted.name)

    @property
    def title(self) -> str:
        return f"{self.given.file.name} {self.given.file.version}" if self.given else str(self.wanted)


def _requirement(text: str) -> Requirement:
    try:
        parsed = Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(f"{text!r} is no requirement", hint="write NAME==VERSION") from error
    if parsed.url is not None:
        raise UsageError(f"{text!r} names a URL", hint="give a release, or a wheel with --wheel FILE")
    return parsed


def _split(wanted: Requirement, extra: Iterable[str]) -> tuple[Requirement, tuple[str, ...]]:
    """The target with all extras asked of it, and the requirements on other projects."""
    others = []
    extras = set(wanted.extras)
    for text in extra:
        parsed = _requirement(text)
        if canonicalize_name(parsed.name) == canonicalize_name(wanted.name):
            extras |= parsed.extras
        else:
            others.append(str(parsed))
    merged = Requirement(str(wanted))
    merged.extras = extras
    return merged, tuple(sorted(set(others)))


def _given(path: Path, wanted: Requirement | None, store: WheelStore) -> _Given:
    if not path.name.endswith(".whl"):
        raise UsageError(
            f"--wheel {path}: not a wheel",
            hint="build one first (`uv build --wheel`), or record a checkout with --source DIR",
        )
    data = read_bounded(path, limit=MAX_WHEEL_BYTES, what="--wheel")
    file = read_wheel(data, path.name)
    if wanted is not None and canonicalize_name(wanted.name) != file.name:
        raise UsageError(
            f"--wheel {path} is {file.name} {file.version}, not {canonicalize_name(wanted.name)}",
            hint=f"give a wheel of {wanted.name}, or name the other project with --sdk",
        )
    if wanted is not None and not wanted.specifier.contains(file.version, prereleases=True):
        raise UsageError(f"--wheel {path} is version {file.version}, not {wanted.specifier}")
    stored = store.add(data, name=path.name, provenance=Provenance(origin="file"))
    return _Given(file=file, sha256=hashlib.sha256(data).hexdigest(), size=len(data), stored=stored)


def _today() -> date:
    return datetime.now(UTC).date()


def _day(as_of: str | None) -> date | None:
    if as_of is None:
        return None
    if as_of == NOW:
        return _today()
    try:
        day = date.fromisoformat(as_of)
    except ValueError as error:
        raise UsageError(f"--as-of {as_of}: not a day", hint="write YYYY-MM-DD, or now") from error
    if day > _today():
        raise UsageError(f"--as-of {as_of} is in the future", hint="write an earlier day, or now")
    return day


def _wrong_digest(filename: str, found: str, expected: str) -> UsageError:
    return UsageError(
        f"{filename} has SHA-256 {found}, not {expected} as --sha256 says",
        hint="check which file you mean; the release was not recorded",
    )


def _key(job: _Job, settings: _index.IndexSettings) -> _Key:
    return _Key(
        requirement=str(job.wanted),
        wheel=job.given.sha256 if job.given else None,
        extra=job.others,
        as_of=job.day.isoformat() if job.day else None,
        python=job.interpreter.version,
        platform=job.interpreter.platform,
        tags=hashlib.sha256("\n".join(job.interpreter.tags).encode()).hexdigest(),
        places=hashlib.sha256("\n".join(settings.places).encode()).hexdigest(),
    )


def _cache_path(store: WheelStore, key: _Key) -> Path:
    return store.cache / "locks" / f"{hashlib.sha256(key.to_bytes()).hexdigest()}"


def _from_cache(job: _Job, *, offline: bool) -> Lock | None:
    """The kept lock, when it is whole and all its wheels are here."""
    key = _key(job, _index.index_settings())
    try:
        sealed = _cache_path(job.store, key).read_bytes()
    except OSError:
        sealed = b""
    kept = _seal.unseal(sealed, what="lock")
    record = _Record.from_bytes(kept) if kept is not None else None
    if record is None or record.key != key:
        if offline:
            raise CannotDoError(
                f"offline: no lock of {job.title} is known here for Python {job.interpreter.version}",
                hint="lock once with the index in reach, or give --lock FILE",
            )
        return None
    missing = [package.wheel for package in record.packages if job.store.get(package.sha256) is None]
    if missing and offline:
        raise CannotDoError(
            f"offline: {len(missing)} of {len(record.packages)} wheels are not in the store: "
            f"{', '.join(missing)}",
            hint="lock once with the index in reach",
        )
    if missing:
        return None
    if job.sha256 is not None and record.target.sha256 != job.sha256:
        raise _wrong_digest(record.target.wheel, record.target.sha256, job.sha256)
    return Lock(python=job.interpreter, packages=record.packages, target=record.target, as_of=record.as_of)


def _resolved(job: _Job, *, offline: bool) -> Lock:
    settings = _index.index_settings()
    resolver = _resolve.Resolver(interpreter=job.interpreter, settings=settings, cache=job.store.cache / "uv")
    job.progress(f"resolving {job.title}")
    if job.given is None:
        target = resolver.release(job.wanted)
        if job.sha256 is not None and target.sha256 != job.sha256:
            raise _wrong_digest(target.filename, target.sha256, job.sha256)
        asked = _pinned(job.wanted, target.version)
        uploaded = target.uploaded
    else:
        target = None
        asked = f"{job.name}{_extras(job.wanted)} @ {job.given.stored.as_uri()}"
        _check_python(job.given.file, job.interpreter)
        uploaded = resolver.uploaded(job.name, job.given.file.version) if job.day is None else None
    day = job.day if job.day is not None else _default_day(job, uploaded)
    if job.given is None and uploaded is not None and not job.now and uploaded > day:
        raise UsageError(
            f"--as-of {day}: {job.name} was uploaded on {uploaded} only",
            hint="write that day or a later one",
        )
    pinned = resolver.resolve(
        [asked, *job.others], until=None if job.now else day, leave_out=job.name if job.given else None
    )
    if target is not None and not any(item.sha256 == target.sha256 for item in pinned):
        raise CannotDoError(
            f"{target.filename} is not what the index resolves to as of {day}", hint="run again"
        )
    _download.fetch(
        [
            _download.Wanted(
                name=item.name, filename=item.filename, sha256=item.sha256, location=item.location
            )
            for item in pinned
            if job.store.get(item.sha256) is None
        ],
        store=job.store,
        settings=settings,
        progress=job.progress,
    )
    result = _assembled(job, pinned, target, day)
    # A day that is not over can still see uploads.
    if day < _today():
        key = _key(job, settings)
        record = _Record(key=key, target=result.target, packages=result.packages, as_of=day.isoformat())
        sealed = _seal.seal(record.to_bytes(), what="lock")
        if sealed is not None:
            write_atomic(_cache_path(job.store, key), sealed)
    return result


def _default_day(job: _Job, uploaded: date | None) -> date:
    if uploaded is not None:
        return uploaded + timedelta(days=1)
    if job.given is not None:
        job.progress(f"{job.name} {job.given.file.version} is not on the index: resolving as of today")
        return _today()
    raise CannotDoError(
        f"the index gives no upload time for {job.title}, so there is no day to resolve as of",
        hint="choose --as-of now, give --lock FILE, or take the environment of a Python with --like",
    )


def _pinned(wanted: Requirement, version: str) -> str:
    return f"{canonicalize_name(wanted.name)}{_extras(wanted)}=={version}"


def _extras(wanted: Requirement) -> str:
    return f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""


def _check_python(file: WheelFile, interpreter: Interpreter) -> None:
    if file.requires_python and not SpecifierSet(file.requires_python).contains(
        interpreter.version, prereleases=True
    ):
        raise UsageError(
            f"{file.name} {file.version} needs Python {file.requires_python}, not {interpreter.version}",
            hint="choose another with --python",
        )
    if _resolve.rank(file.filename, interpreter.tags) is None:
        raise UsageError(
            f"{file.filename} does not fit Python {interpreter.version} on this machine",
            hint="choose another with --python, or another wheel",
        )


def _assembled(job: _Job, pinned: Sequence[Pinned], target: Pinned | None, day: date) -> Lock:
    packages = []
    for item in pinned:
        stored = job.store.get(item.sha256)
        if stored is None:
            raise CannotDoError(f"{item.filename} has just left the wheel store", hint="run again")
        packages.append(
            Package(
                name=item.name,
                version=item.version,
                wheel=item.filename,
                sha256=item.sha256,
                size=stored.stat().st_size,
            )
        )
    if job.given is not None:
        file = job.given.file
        own = Package(
            name=file.name,
            version=str(Version(file.version)),
            wheel=file.filename,
            sha256=job.given.sha256,
            size=job.given.size,
        )
        packages.append(own)
    else:
        assert target is not None  # noqa: S101 - one of the two is set, see _resolved
        own = next(package for package in packages if package.sha256 == target.sha256)
    origin = Origin(kind="file" if job.given is not None else "index")
    return Lock(
        python=replace(job.interpreter),
        packages=tuple(sorted(packages, key=lambda package: package.name)),
        target=Target(
            name=own.name,
            version=own.version,
            wheel=own.wheel,
            sha256=own.sha256,
            size=own.size,
            origin=origin,
        ),
        as_of=day.isoformat(),
    )
