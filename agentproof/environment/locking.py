"""Resolve a target and what it depends on to exactly one wheel per package, by SHA-256.

Rules:
1. uv resolves, from the user's own index, wheels only, for one interpreter on this machine.
2. "As of a day" considers what was uploaded on or before that day (UTC). The default day is the one
   after the target's own upload: today's dependencies break old releases.
3. A lock as of a past day never changes, so it is kept in the cache under all that it depends on, and
   used again without the index. It holds digests, no URL.
4. Every wheel is in the store, hash-checked, before a lock is returned.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from ..bundle.wheel import split_name
from ..errors import BundleError, CannotDoError, UsageError
from ..models.manifest import Environment, Origin, Package, Python, Target
from . import index, lock_cache
from . import pins as _pins
from . import resolver as _resolve
from . import target as _target
from .dates import NOW, parse_day, today
from .interpreters import Interpreter
from .lock_cache import Key, Record
from .resolver import ResolvedWheel
from .target import LockRequest
from .wheel_store import WheelStore


@dataclass(frozen=True)
class Lock:
    """One wheel per package, for one interpreter."""

    python: Interpreter
    packages: tuple[Package, ...]
    """Sorted by name; the target is among them."""
    target: Target
    as_of: str | None
    """The day (UTC) after whose end nothing was considered; None for a lock that was given."""
    loose: tuple[str, ...] = ()
    """With `like`: packages that are not in use there, and so are the newest."""

    def environment(self, *, installed_files: int) -> Environment:
        """The manifest's description of an environment that was built from this lock."""
        return Environment(
            python=Python(implementation="cpython", version=self.python.version),
            platform=self.python.platform,
            as_of=self.as_of,
            packages=self.packages,
            installed_files=installed_files,
        )


@dataclass(frozen=True)
class _Job:
    """One call of `lock`."""

    wanted: LockRequest
    sha256: str | None
    interpreter: Interpreter
    day: date | None
    now: bool
    offline: bool
    pins: tuple[_pins.Pin, ...]
    """A whole lock that was given."""
    listing: tuple[str, ...]
    """Versions in use elsewhere, as constraints."""
    store: WheelStore
    progress: Callable[[str], None]
    settings: index.IndexSettings

    @property
    def cache(self) -> Path:
        return self.store.cache / "locks"


def lock(
    *,
    requirement: str | None = None,
    wheel: Path | None = None,
    origin: Origin | None = None,
    sha256: str | None = None,
    extra: Sequence[str] = (),
    interpreter: Interpreter,
    as_of: str | None = None,
    lock_file: Path | None = None,
    like: str | None = None,
    offline: bool = False,
    store: WheelStore,
    progress: Callable[[str], None] = lambda _: None,
) -> Lock:
    """Lock the release that `requirement` names, or the wheel file `wheel`, with all dependencies.

    With both, the wheel must be of the project (and version) that `requirement` names; its extras
    count. Requirements in `extra` on the target's own project are left out, their extras kept.
    `origin` says where a given wheel came from, when not just from a file. `lock_file` is the whole
    environment; `like` pins the versions that another environment uses, and lets the rest be resolved.

        lock(requirement="openai-agents==0.20.0", interpreter=find("3.12"), store=default_store())

    Raises:
        UsageError: what was asked for contradicts itself or does not exist.
        CannotDoError: the index cannot be reached, lacks what is needed, or is not to be asked.
    """
    _target.check_options(as_of=as_of, lock_file=lock_file, like=like)
    wanted = _target.understand(
        requirement=requirement,
        wheel=wheel,
        sha256=sha256,
        extra=extra,
        origin=origin,
        interpreter=interpreter,
        store=store,
    )
    if lock_file is not None and wanted.others:
        raise UsageError(
            f"--lock is the whole environment, but {', '.join(wanted.others)} is asked for too",
            hint="put it into the lock, or use --like instead",
        )
    listing = _pins.read_listing(like) if like is not None else ()
    if listing and not wanted.requirement.specifier and as_of is None and wanted.given is None:
        _target.check_listed(wanted, set(_listed(listing)), str(like))
    job = _Job(
        wanted=wanted,
        sha256=sha256,
        interpreter=interpreter,
        day=parse_day(as_of),
        now=as_of == NOW,
        offline=offline,
        pins=_pins.read_lock(lock_file, interpreter) if lock_file is not None else (),
        listing=listing,
        store=store,
        progress=progress,
        settings=index.index_settings(),
    )
    made = _kept(job) or _made(job)
    if wanted.given is None:
        _target.check_served(store.bytes_of(made.target.sha256), made.target.wheel)
    return made


def _key(job: _Job) -> Key:
    pins = [f"{pin.name}=={pin.version} {' '.join(sorted(pin.sha256))}" for pin in job.pins]
    return Key(
        requirement=str(job.wanted.requirement),
        wheel=job.wanted.given.sha256 if job.wanted.given else None,
        extra=job.wanted.others,
        pins=lock_cache.digest([*pins, *job.listing]) if pins or job.listing else None,
        as_of=job.day.isoformat() if job.day else None,
        python=job.interpreter.version,
        platform=job.interpreter.platform,
        tags=lock_cache.digest(job.interpreter.tags),
        places=lock_cache.digest(job.settings.places),
    )


def _kept(job: _Job) -> Lock | None:
    """The lock that was kept, when all its wheels are here and came the way that it says."""
    record = lock_cache.load(job.cache, _key(job))
    if record is None:
        if job.offline and not job.pins:
            day = f" as of {job.day}" if job.day else ""
            others = lock_cache.labels(job.cache)
            more = f" and {len(others) - 5} more" if len(others) > 5 else ""
            told = f"known: {'; '.join(others[:5])}{more}. Run" if others else "run"
            raise CannotDoError(
                f"offline: no lock of {job.wanted.title} is known here for Python "
                f"{job.interpreter.version}{day}",
                hint=f"{told} once without --offline, or give --lock FILE",
            )
        return None
    if missing := [package.wheel for package in record.packages if job.store.get(package.sha256) is None]:
        if job.offline:
            raise _not_here(missing, len(record.packages))
        return None
    if job.sha256 is not None and record.target.sha256 != job.sha256:
        raise _target.wrong_digest(record.target.wheel, record.target.sha256, job.sha256)
    given = job.wanted.given
    if given is None and record.target.origin.kind == "index" and not job.offline:
        # A store that was copied here supplies bytes; that an index serves them is asked for again.
        known = job.store.provenance(record.target.sha256)
        if known is None or known.origin != "index":
            return None
    target = _as_target(record.target, given.origin if given else record.target.origin)
    return Lock(
        python=job.interpreter,
        packages=record.packages,
        target=target,
        as_of=record.as_of,
        loose=_loose(job, (package.name for package in record.packages)),
    )


def _not_here(missing: Sequence[str], total: int) -> CannotDoError:
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return CannotDoError(
        f"offline: {len(missing)} of {total} wheels are not in the store: {', '.join(missing[:5])}{more}",
        hint="run once without --offline",
    )


def _made(job: _Job) -> Lock:
    """A new lock, with its wheels fetched, kept where it can be."""
    resolver = _resolve.Resolver(interpreter=job.interpreter, settings=job.settings, cache=job.store.cache)
    if job.pins:
        pinned, target, day = _from_pins(job, resolver)
    else:
        pinned, target, day = _resolved(job, resolver)
    if job.sha256 is not None and target is not None and target.sha256 != job.sha256:
        raise _target.wrong_digest(target.filename, target.sha256, job.sha256)
    _fetch(job, pinned)
    made = _assembled(job, pinned, target, day)
    # A day that is not over can still see uploads; "the newest", without a day, is another one tomorrow.
    settled = not job.now
    if day is not None:
        settled = day < today() and (job.wanted.exact or job.day is not None)
    if settled:
        lock_cache.keep(
            job.cache,
            Record(key=_key(job), target=made.target, packages=made.packages, as_of=made.as_of),
        )
    return made


def _resolved(
    job: _Job, resolver: _resolve.Resolver
) -> tuple[tuple[ResolvedWheel, ...], ResolvedWheel | None, date | None]:
    """What uv makes of the requirements: (the packages, the target among them, the day)."""
    wanted, given = job.wanted, job.wanted.given
    job.progress(f"resolving {wanted.title}")
    constraints = [
        text
        for text, name in zip(job.listing, _listed(job.listing), strict=True)
        # The target itself may be another version than the one in use there.
        if not (wanted.exact or job.now) or name != wanted.name
    ]
    if given is None:
        # An exact version is looked up whatever the day, so that a wrong day gets its own error.
        until = None if wanted.exact or job.now else job.day
        target = resolver.release(wanted.requirement, until=until, constraints=constraints)
        # Before anything else is resolved, so that what cannot be recorded is said at once.
        _fetch(job, (target,))
        _target.check_served(job.store.bytes_of(target.sha256), target.filename)
        asked, uploaded = wanted.pinned(target.version), target.uploaded
        if job.day is not None and not job.now and uploaded is not None and uploaded > job.day:
            raise UsageError(
                f"--as-of {job.day}: {wanted.name} {target.version} was uploaded on {uploaded}",
                hint="write that day or a later one",
            )
    else:
        target = None
        asked = f"{wanted.name}{wanted.extras} @ {given.stored.as_uri()}"
        uploaded = None
        if job.day is None and not job.listing:
            uploaded = resolver.uploaded(wanted.name, given.file.version)
    day: date | None = None
    if not job.listing:
        day = job.day if job.day is not None else _default_day(job, uploaded)
    pinned = resolver.resolve(
        [asked, *wanted.others],
        until=None if job.now else day,
        constraints=constraints,
        leave_out=wanted.name if given else None,
    )
    if _loose(job, (item.name for item in pinned)):
        day = today()
    if target is not None and not any(item.sha256 == target.sha256 for item in pinned):
        raise CannotDoError(
            f"the index serves {target.filename} and another one as of {day}", hint="run again"
        )
    return pinned, target, day


def _loose(job: _Job, names: Iterable[str]) -> tuple[str, ...]:
    """The packages that the listing does not pin, if there is one."""
    return tuple(sorted({*names} - {*_listed(job.listing), job.wanted.name})) if job.listing else ()


def _listed(constraints: Sequence[str]) -> Iterator[str]:
    for text in constraints:
        yield canonicalize_name(_target.parse_requirement(text).name)


def _default_day(job: _Job, uploaded: date | None) -> date:
    given = job.wanted.given
    if given is not None and given.origin.kind == "checkout":
        # Between releases a version number stands for older code; the build was given the commit's time.
        stamped = max(given.file.newest, uploaded or date.min)
        return min(stamped + timedelta(days=1), today())
    if uploaded is not None:
        return min(uploaded + timedelta(days=1), today())
    if job.wanted.given is not None:
        job.progress(f"{job.wanted.title} is not on the index: resolving as of today")
        return today()
    raise CannotDoError(
        f"the index gives no upload time for {job.wanted.title}, so there is no day to resolve as of",
        hint="choose --as-of now, give --lock FILE, or take the environment of a Python with --like",
    )


def _from_pins(
    job: _Job, resolver: _resolve.Resolver
) -> tuple[tuple[ResolvedWheel, ...], ResolvedWheel | None, None]:
    """The packages of a lock that was given, with the target in the version that was asked for."""
    wanted, given = job.wanted, job.wanted.given
    own = next((pin for pin in job.pins if pin.name == wanted.name), None)
    if own is None:
        raise UsageError(
            f"the lock holds no {wanted.name}", hint="give the lock of an environment that has it"
        )
    if given is None and not wanted.requirement.specifier.contains(own.version, prereleases=True):
        raise UsageError(
            f"the lock holds {wanted.name} {own.version}, not {wanted.requirement}",
            hint="leave --sdk out, or give another lock",
        )
    pins = [pin for pin in job.pins if given is None or pin.name != wanted.name]
    pinned = [_at_hand(pin, job.store) for pin in pins]
    absent = [pin for pin, found in zip(pins, pinned, strict=True) if found is None]
    if absent and job.offline:
        raise _not_here([pin.filename or f"{pin.name} {pin.version}" for pin in absent], len(pins))
    located = resolver.locate(absent) if absent else ()
    together = tuple(sorted((*filter(None, pinned), *located), key=lambda item: item.name))
    target = next((item for item in together if item.name == wanted.name), None)
    return together, target, None


def _at_hand(pin: _pins.Pin, store: WheelStore) -> ResolvedWheel | None:
    """A pinned wheel that the lock names and this machine has: in the store, or beside the lock."""
    if pin.filename is None:
        return None
    (sha256,) = pin.sha256
    known = store.provenance(sha256)
    local = pin.path is not None and pin.path.is_file()
    if store.get(sha256) is None and not local:
        return None
    served = known is not None and known.origin == "index"
    return ResolvedWheel(
        name=pin.name,
        version=pin.version,
        filename=pin.filename,
        sha256=sha256,
        location=str(pin.path) if local else None,
        uploaded=None,
        served=served,
    )


def _fetch(job: _Job, pinned: Sequence[ResolvedWheel]) -> None:
    """Bring every wheel into the store, also one that is there but not known to come from the index."""
    absent = []
    for item in pinned:
        here = job.store.get(item.sha256) is not None
        known = job.store.provenance(item.sha256)
        if here and (not item.served or (known is not None and known.origin == "index")):
            continue
        if item.location is not None:
            absent.append((item, item.location))
    if not absent:
        return
    # Imported here: requests is a fifth of our imports, and most recordings fetch nothing.
    from . import download  # noqa: PLC0415

    wanted = [
        download.WheelRequest(
            name=item.name,
            filename=item.filename,
            sha256=item.sha256,
            location=location,
            served=item.served,
        )
        for item, location in absent
    ]
    download.fetch(wanted, store=job.store, settings=job.settings, progress=job.progress)


def _assembled(
    job: _Job, pinned: Sequence[ResolvedWheel], target: ResolvedWheel | None, day: date | None
) -> Lock:
    packages = []
    for item in pinned:
        stored = job.store.get(item.sha256)
        if stored is None:
            raise CannotDoError(f"{item.filename} has just left the wheel store", hint="run again")
        try:
            split_name(item.filename)
        except BundleError as error:
            raise CannotDoError(
                f"a wheel that no bundle can name: {error.message}", hint="choose another version of it"
            ) from error
        packages.append(
            Package(
                name=item.name,
                version=item.version,
                wheel=item.filename,
                sha256=item.sha256,
                size=stored.stat().st_size,
            )
        )
    given = job.wanted.given
    if given is not None:
        own = Package(
            name=given.file.name,
            version=str(Version(given.file.version)),
            wheel=given.file.filename,
            sha256=given.sha256,
            size=given.size,
        )
        packages.append(own)
        origin = given.origin
    else:
        own = next(package for package in packages if target is not None and package.sha256 == target.sha256)
        served = target is not None and target.served
        origin = Origin(kind="index" if served else "file")
    return Lock(
        python=job.interpreter,
        packages=tuple(sorted(packages, key=lambda package: package.name)),
        target=_as_target(own, origin),
        as_of=day.isoformat() if day is not None else None,
        loose=_loose(job, (package.name for package in packages)),
    )


def _as_target(package: Package | Target, origin: Origin) -> Target:
    return Target(
        name=package.name,
        version=package.version,
        wheel=package.wheel,
        sha256=package.sha256,
        size=package.size,
        origin=origin,
    )
