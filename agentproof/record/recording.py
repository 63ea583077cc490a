"""Record a reproduction: resolve, build, isolate, observe, compare, judge, assemble, sign, write.

The steps are those of `Recording` in docs/format.md. Nothing is written before the last of them, so
a recording that fails or is killed leaves no half bundle.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from functools import cached_property
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ..bundle.store import (
    Bundle,
    bundle_id,
    holds_another,
    read_bundle,
    short,
    without_wheel,
    write_directory,
    zip_bytes,
)
from ..environment import interpreters, locking, wheel_store
from ..environment import target as _target
from ..environment.wheelfile import read_wheel
from ..errors import CannotDoError, UsageError
from ..isolation import runner
from ..limits import MAX_WHEEL_BYTES
from ..models.expectations import NOTHING, Expectations
from ..models.header import Header
from ..models.manifest import LATEST, Manifest, Origin, Target, name_of_build
from ..models.trace import Mode, Trace
from ..system.files import read_bounded, write_atomic
from ..trust import signing
from . import secrets
from .assemble import UnsignedBundle
from .cache import ResultStore, result_key
from .observe import Conditions, Progress, Reproduction, observe, read_reproduction, refuse_secrets
from .output import OutputPaths, beside, check_writable, place_for, store_above
from .variables import Variables

TARGETS: Mapping[str, str] = {"openai-agents": "agents"}
"""Distributions that the recorder has an adapter for, with the package that each one imports as."""


@dataclass(frozen=True)
class Request:
    """What to record, and how. Without `sdk` and `wheel` the script's header names the target."""

    script: Path
    arguments: tuple[str, ...] = ()
    root: Path | None = None
    """The directory that is the reproduction; None: the script's own."""
    tests: tuple[str, ...] = ()
    """pytest node ids below `root`, to be run instead of `script`, which is the file of the first of them."""
    sdk: str | None = None
    """A requirement such as `openai-agents==0.20.0`."""
    newest: bool = False
    """Whether `sdk` was asked for as the newest release, which the bundle says then."""
    wheel: Path | None = None
    origin: Origin | None = None
    """Where `wheel` came from, when not just from a file."""
    sha256: str | None = None
    """The SHA-256 that the target wheel must have."""
    python: str | None = None
    as_of: str | None = None
    lock_file: Path | None = None
    """A whole environment, each package with its digests."""
    like: str | None = None
    """Where to take the versions from: an interpreter, a `uv.lock`, `pylock.toml` or requirements file."""
    extra: tuple[str, ...] = ()
    """Further requirements."""
    expectations: Expectations = NOTHING
    """What should have happened, beside what the script's header says."""
    offline: bool = False
    require_isolation: str | None = None
    allow_sdk_changes: bool = False
    repeats: int = 2
    redact: bool = False
    redact_patterns: tuple[str, ...] = ()
    limits: runner.Limits = field(default_factory=runner.Limits)
    variables: Variables = field(default_factory=Variables)
    """Environment variables that the script is given."""
    side_by_side: bool = True
    """Whether the repeats run at the same time; see `Conditions`."""

    @property
    def conditions(self) -> Conditions:
        """How the script is run."""
        return Conditions(
            require_isolation=self.require_isolation,
            allow_sdk_changes=self.allow_sdk_changes,
            repeats=self.repeats,
            redact=self.redact,
            redact_patterns=self.redact_patterns,
            limits=self.limits,
            variables=self.variables,
            side_by_side=self.side_by_side,
        )

    def read(self) -> Reproduction:
        """The reproduction, with its header; read once, so that what was looked at is what is recorded.

        Raises:
            UsageError: it is missing, does not compile, or its header makes no sense.
        """
        return self._read

    @cached_property
    def _read(self) -> Reproduction:
        return read_reproduction(
            self.script,
            self.arguments,
            root=self.root,
            tests=self.tests,
            extra=self.extra,
            expectations=self.expectations,
        )


@dataclass(frozen=True)
class SignedRecording:
    """A signed recording, not yet written anywhere."""

    manifest: Manifest
    bundle: Bundle
    bundle_id: str
    key: signing.PrivateKey

    @property
    def traces(self) -> dict[Mode, Trace]:
        """What was seen, by mode."""
        members = self.bundle.members
        return {each.mode: Trace.from_bytes(members[each.trace]) for each in self.manifest.recordings}


@dataclass(frozen=True)
class OutputFiles:
    """The paths that a recording was written to."""

    directory: Path | None
    archive: Path | None
    kept: Path | None = None
    """A stored bundle with the same evidence that was left as it is."""
    taken: Path | None = None
    """A zip of another recording that has the usual name, so that `archive` has one of its own."""


def record(
    request: Request, *, key: signing.PrivateKey, story: Progress, results: ResultStore | None = None
) -> SignedRecording:
    """Record `request.script` and sign the result.

    With `results`, the very same recording (script, environment, recorder, conditions) that was made
    before is taken from there, and a new one is kept there.

    Raises:
        UsageError: the script, its header or an option makes no sense.
        CannotDoError: the environment cannot be built or isolated as asked for, or a secret was seen.
        RecorderError: our own recorder failed.
    """
    return _signed(record_unsigned(request, story=story, results=results), key)


def record_unsigned(
    request: Request, *, story: Progress, results: ResultStore | None = None
) -> UnsignedBundle:
    """As `record`, for whoever signs elsewhere."""
    reproduction = request.read()
    lock = locked(request, reproduction, story)
    wheels, conditions = wheel_store.default_store(), request.conditions
    if results is None:
        return observe(lock, reproduction, store=wheels, conditions=conditions, story=story)
    result = result_key(lock, reproduction, conditions)
    kept = results.get(result)
    if kept is not None:
        # This machine may have other secrets by now.
        refuse_secrets(kept, conditions)
        story.done("kept", "the same recording was made before")
        wheel = {f"wheels/{lock.target.wheel}": wheels.read(lock.target.sha256)}
        return UnsignedBundle(kept.manifest, Bundle(kept.bundle.manifest, {**kept.bundle.members, **wheel}))
    assembled = observe(lock, reproduction, store=wheels, conditions=conditions, story=story)
    results.put(result, assembled)
    return assembled


def write(
    recorded: SignedRecording, request: Request, *, output: Path | None, replace: bool, thin: bool = False
) -> OutputFiles:
    """Write the bundle to where `place_for` says; the zip first, so that a recording is never lost.

    Where the zip of another recording has the usual name and `replace` was not given, this one gets its
    bundle id into the name. With `thin` the target wheel is left out, but of a store, which keeps it once.

    Raises:
        CannotDoError: another bundle is at `output` or in the store and `replace` was not given, or
            writing failed.
    """
    place = place_for(recorded.manifest, script=request.script, root=request.root, output=output)
    attached = replaced(recorded, bundle=without_wheel(recorded.bundle)) if thin else recorded
    archive, taken = place.archive, None
    if archive is not None and not replace and holds_another(archive, recorded.bundle_id):
        if output is not None:
            raise CannotDoError(
                f"{archive} holds something else than this recording ({short(recorded.bundle_id)})",
                hint="--replace, or another place with --output",
            )
        archive, taken = beside(archive, recorded.bundle_id), archive
    if archive is not None:
        write_atomic(archive, zip_bytes(attached.bundle))
    kept = None
    if place.directory is not None:
        stored = recorded if place.wheels is not None else attached
        kept = _write_directory(stored, place, replace=replace)
    return OutputFiles(directory=None if kept else place.directory, archive=archive, kept=kept, taken=taken)


def check_request(request: Request, *, output: Path | None, from_checkout: bool = False) -> None:
    """What can be found wrong before a key is made, the index is asked or anything is built.

    With `from_checkout` the target is a wheel that is yet to be built.

    Raises:
        UsageError: the script is missing, names no target, or an option makes no sense.
        CannotDoError: the output cannot be written.
    """
    if not request.script.exists():
        raise UsageError(f"{request.script}: no such file", hint="`agentproof record SCRIPT`")
    if request.sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", request.sha256):
        raise UsageError(
            f"--sha256 {request.sha256}: no SHA-256", hint="64 hexadecimal digits, in lower case"
        )
    secrets.patterns(request.redact_patterns)
    _target.check_options(as_of=request.as_of, lock_file=request.lock_file, like=request.like)
    for text in request.extra:
        _check_other(text)
    header = request.read().header
    if not from_checkout:
        _requirements(request, header)
    if request.wheel is not None:
        _refuse_other_project(request.wheel, request.origin)
    check_writable(script=request.script, root=request.root, output=output)


def _check_other(text: str) -> None:
    """`--with` means a target in other commands."""
    version = re.fullmatch(r"v?(\d[\w.]*)|latest", text)
    named = None if version else _requirement(text, "--with")
    if version or (named is not None and canonicalize_name(named.name) in TARGETS and named.specifier):
        release = text if named is None else str(named.specifier).removeprefix("==")
        raise UsageError(
            f"--with {text}: what is recorded is named by --sdk", hint=f"--sdk {release}, without --with"
        )


def locked(request: Request, reproduction: Reproduction, story: Progress) -> locking.Lock:
    """Lock the target that the request, else the header, names, with all that it needs.

    Raises:
        UsageError: no target, more than one, or one that does not exist.
        CannotDoError: the index cannot be reached or lacks what is needed.
    """
    target, others = _requirements(request, reproduction.header)
    if request.wheel is not None:
        _refuse_other_project(request.wheel, request.origin)
    interpreter = interpreters.find(request.python, requires=reproduction.requires)
    story.working(f"locking {target or request.wheel} for CPython {interpreter.version}")
    lock = locking.lock(
        requirement=target,
        wheel=request.wheel,
        sha256=request.sha256,
        extra=others,
        interpreter=interpreter,
        origin=request.origin,
        as_of=request.as_of,
        lock_file=request.lock_file,
        like=request.like,
        offline=request.offline,
        store=wheel_store.default_store(),
        progress=story.working,
    )
    if request.newest and lock.target.origin.kind == "index":
        origin = Origin(kind="index", revision=LATEST)
        lock = replaced(
            lock, target=Target.from_shape({**lock.target.to_shape(), "origin": origin.to_shape()})
        )
    _check_pytest(reproduction, lock)
    target_line = f"{lock.target.name} {name_of_build(lock.target)}, wheel {short(lock.target.sha256)}"
    story.done("target", f"{target_line} ({_came_from(lock.target.origin)})")
    day = f", as of {lock.as_of}" if lock.as_of else ""
    given = request.like or request.lock_file
    there = f", as in {given}" if given else ""
    wheels = f"{len(lock.packages)} wheel{'' if len(lock.packages) == 1 else 's'}"
    story.done("locked", f"{wheels} by SHA-256 for CPython {lock.python.version}{there or day}")
    if lock.loose:
        story.done("", f"not in {request.like}, so the newest was taken: {', '.join(lock.loose)}")
    return lock


def _came_from(origin: Origin) -> str:
    if origin.kind == "checkout" and origin.commit is not None:
        return f"built from commit {origin.commit[:10]}{' and its changes' if origin.dirty else ''}"
    return "as served by the index" if origin.kind == "index" else "a file"


def _check_pytest(reproduction: Reproduction, lock: locking.Lock) -> None:
    """Tests are run by the environment's own pytest."""
    if reproduction.tests and not any(package.name == "pytest" for package in lock.packages):
        raise UsageError(
            f"{reproduction.name}: tests are run by pytest, which is not in the environment",
            hint="--with pytest (and --with pytest-asyncio for async tests), or name it in the header of "
            f"{reproduction.script.name}",
        )


def _refuse_other_project(wheel: Path, origin: Origin | None) -> None:
    """Before anything is resolved, so that the error is about the wheel and not about its dependencies."""
    file = read_wheel(read_bounded(wheel, limit=MAX_WHEEL_BYTES, what="--wheel"), wheel.name)
    if file.name not in TARGETS:
        what = f"{wheel} is a wheel of"
        if origin is not None and origin.commit is not None:
            what = f"commit {origin.commit[:10]} builds"
        raise UsageError(
            f"{what} {file.name}, which the recorder does not know",
            hint=f"it records {', '.join(TARGETS)}",
        )


def _requirements(request: Request, header: Header) -> tuple[str | None, tuple[str, ...]]:
    """The target's requirement (None for a wheel file) and all the others."""
    wanted: str | None = None
    others: list[str] = list(request.extra)
    for text in header.dependencies:
        if canonicalize_name(_requirement(text, str(request.script)).name) in TARGETS:
            wanted = text
        else:
            others.append(text)
    if request.wheel is not None:
        if request.sdk is not None:
            raise UsageError("--sdk and --wheel both name the target", hint="give one of them")
        # The header's own requirement on the target counts for its extras alone.
        return None, (*others, *([wanted] if wanted else ()))
    named, wanted = wanted, request.sdk or wanted
    if wanted is None and (request.lock_file is not None or request.like is not None):
        # The release that is in there.
        wanted = next(iter(TARGETS))
    if wanted is None:
        raise UsageError(
            f"{request.script} does not say which release it is about",
            hint="give --sdk VERSION (or --sdk latest, or a --lock or --like that has it), or name it in a "
            "`# /// script` header",
        )
    requirement = _requirement(wanted, "--sdk" if request.sdk else str(request.script))
    if canonicalize_name(requirement.name) not in TARGETS:
        raise UsageError(
            f"--sdk {wanted}: the recorder does not know {requirement.name}",
            hint=f"it records {', '.join(TARGETS)}",
        )
    return wanted, (*others, *([named] if named and named != wanted else ()))


def names_target(reproduction: Reproduction) -> bool:
    """Whether the script's header names the target by itself.

    Raises:
        UsageError: the header holds what is no requirement.
    """
    where = str(reproduction.script)
    names = [_requirement(text, where).name for text in reproduction.header.dependencies]
    return any(canonicalize_name(name) in TARGETS for name in names)


def _requirement(text: str, where: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        # What packaging adds points at a column, on lines of its own.
        why = str(error).partition("\n")[0]
        raise UsageError(
            f"{where}: {text!r} is not a requirement: {why}",
            hint="write NAME, NAME==VERSION or NAME>=VERSION",
        ) from error


def _signed(assembled: UnsignedBundle, key: signing.PrivateKey) -> SignedRecording:
    name, envelope = signing.attest_recorded(assembled.bundle.manifest, key)
    bundle = Bundle(
        manifest=assembled.bundle.manifest,
        members=assembled.bundle.members,
        attestations={name: envelope},
    )
    return SignedRecording(assembled.manifest, bundle, bundle_id(bundle), key)


def _write_directory(recorded: SignedRecording, place: OutputPaths, *, replace: bool) -> Path | None:
    directory = place.directory
    if directory is None:
        raise RuntimeError("no directory in this place")
    if directory.exists() and any(directory.iterdir()) and not replace:
        held = read_bundle(directory, wheels=place.wheels)
        if bundle_id(held) != recorded.bundle_id:
            document = Manifest.from_bytes(held.manifest)
            if document.evidence_id == recorded.manifest.evidence_id:
                return directory
            raise CannotDoError(
                f"{directory} holds a bundle with other evidence ({short(document.evidence_id)}; this "
                f"recording has {short(recorded.manifest.evidence_id)})",
                hint="compare the two, then --replace",
            )
    write_directory(recorded.bundle, directory, wheels=place.wheels, replace=True)
    return None


__all__ = [
    "OutputFiles",
    "Progress",
    "Request",
    "SignedRecording",
    "check_request",
    "record",
    "short",
    "store_above",
    "write",
]
