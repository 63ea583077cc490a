"""Record a reproduction: resolve, build, isolate, observe, compare, judge, assemble, sign, write.

The steps are those of `Recording` in docs/format.md. Nothing is written before the last of them, so
a recording that fails or is killed leaves no half bundle.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ..bundle.store import (
    WHEELS,
    Bundle,
    bundle_id,
    holds_another,
    read_bundle,
    short,
    without_wheel,
    write_bundle,
    zip_bytes,
)
from ..environment import dates, interpreters, locking, wheel_store
from ..environment.target import check_options, read_given
from ..errors import CannotDoError, UsageError
from ..limits import MAX_BUNDLE_BYTES, MAX_WHEEL_BYTES
from ..models.manifest import LATEST, Origin, name_of_build
from ..models.manifest import Target as RecordedTarget
from ..sdk import DEFAULT, KNOWN
from ..system.files import read_bounded, write_atomic
from ..trust import signing
from . import secrets
from .beside import tell_members
from .conditions import Conditions
from .final_check import check_sound
from .kept import ResultStore, result_key
from .names import check_texts
from .observe import observe, refuse_secrets
from .output import beside, check_writable, place_for, store_above
from .progress import Progress
from .reproduction import Reproduction
from .target import Target, built
from .variables import check_given, check_unwritten


@dataclass(frozen=True)
class OutputFiles:
    """The paths that a recording was written to."""

    stored: Path | None
    """A directory, or a zip in the repository store."""
    archive: Path | None
    kept: Path | None = None
    """A stored bundle with the same evidence that was left as it is."""
    taken: Path | None = None
    """A zip of another recording that has the usual name, so that `archive` has one of its own."""


def record(
    reproduction: Reproduction,
    target: Target | None,
    conditions: Conditions,
    *,
    key: signing.PrivateKey,
    progress: Progress,
    results: ResultStore | None = None,
) -> Bundle:
    """Record a reproduction on a target (None: the one that its header names) and sign the result.

    With `results`, the very same recording (script, environment, recorder, conditions) that was made
    before is taken from there, and a new one is kept there.

    Raises:
        UsageError: the script, its header or an option makes no sense.
        CannotDoError: the environment cannot be built or isolated as asked for, or a secret was seen.
        RecorderError: our own recorder failed, or what it made fails its own check.
    """
    return sign(record_unsigned(reproduction, target, conditions, progress=progress, results=results), key)


def record_unsigned(
    reproduction: Reproduction,
    target: Target | None,
    conditions: Conditions,
    *,
    progress: Progress,
    results: ResultStore | None = None,
) -> Bundle:
    """As `record`, for whoever signs elsewhere."""
    check_given(conditions.variables, reproduction.variables)
    reproduction = reproduction.requiring(conditions.requires).expecting(conditions.expectations)
    lock = locked(reproduction, target, conditions, progress)
    wheels = wheel_store.default_store()
    if results is None:
        return observe(lock, reproduction, store=wheels, conditions=conditions, progress=progress)
    result = result_key(lock, reproduction, conditions)
    kept = results.get(result)
    if kept is not None:
        # This machine may have other secrets by now.
        refuse_secrets(kept, conditions)
        progress.done("kept", "the same recording was made before")
        tell_members(kept.document.reproduction.files, reproduction.entry, progress)
        wheel = {WHEELS + lock.target.wheel: wheels.read(lock.target.sha256)}
        return replace(kept, members={**kept.members, **wheel})
    bundle = observe(lock, reproduction, store=wheels, conditions=conditions, progress=progress)
    results.put(result, bundle)
    return bundle


def sign(bundle: Bundle, key: signing.PrivateKey) -> Bundle:
    """The bundle with the `recorded` attestation of `key`, which a check takes.

    Raises:
        CannotDoError: it is over a limit of the format.
        RecorderError: what was made fails its own check.
    """
    name, envelope = signing.attest_recorded(bundle.manifest, key)
    signed = replace(bundle, attestations={name: envelope})
    check_sound(signed)
    return signed


def write(
    bundle: Bundle, reproduction: Reproduction, *, output: Path | None, replace: bool, thin: bool = False
) -> OutputFiles:
    """Write the bundle to where `place_for` says; the zip first, so that a recording is never lost.

    Where the zip of another recording has the usual name and `replace` was not given, this one gets its
    bundle id into the name. With `thin` the target wheel is left out, but of a store, which keeps it once.

    Raises:
        CannotDoError: another bundle is at `output` or in the store and `replace` was not given, or
            writing failed.
    """
    place = place_for(bundle.document, script=reproduction.script, root=reproduction.directory, output=output)
    attached = without_wheel(bundle) if thin else bundle
    identity = bundle_id(bundle)
    archive, taken = place.archive, None
    if archive is not None and not replace and holds_another(archive, identity):
        if output is not None:
            raise CannotDoError(
                f"{archive} holds something else than this recording ({short(identity)})",
                hint="--replace, or another place with --output",
            )
        archive, taken = beside(archive, identity), archive
    if archive is not None:
        write_atomic(archive, zip_bytes(attached))
    kept = None
    if place.stored is not None:
        kept = _store(
            bundle if place.wheels is not None else attached, place.stored, place.wheels, replace=replace
        )
    return OutputFiles(stored=None if kept else place.stored, archive=archive, kept=kept, taken=taken)


def check_request(
    reproduction: Reproduction,
    target: Target | None,
    conditions: Conditions,
    *,
    output: Path | None,
    thin: bool = False,
) -> None:
    """What can be found wrong before a key is made, the index is asked or anything is built; `thin` as for
    `write`.

    Raises:
        UsageError: the script names no target, or an option makes no sense.
        CannotDoError: the output cannot be written.
    """
    if target is not None and target.sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", target.sha256):
        raise UsageError(f"--sha256 {target.sha256}: no SHA-256", hint="64 hexadecimal digits, in lower case")
    secrets.patterns(conditions.redact_patterns)
    check_options(as_of=conditions.as_of, lock_file=conditions.lock_file, like=conditions.like)
    check_texts("--with", conditions.requires)
    for text in conditions.requires:
        _check_other(text)
    reproduction.expecting(conditions.expectations)
    check_given(conditions.variables, reproduction.variables)
    check_unwritten(conditions.variables, reproduction.files, reproduction.arguments)
    if target is None or target.checkout is None:
        _requirements(reproduction, target, conditions)
    if target is not None and target.wheel is not None:
        _refuse_other_project(target.wheel, target.origin)
        size = target.wheel.stat().st_size
        store = store_above(reproduction.script, root=reproduction.directory) if output is None else None
        if size > MAX_BUNDLE_BYTES and not thin and store is None:
            raise UsageError(
                f"--wheel {target.wheel}: {size} bytes, and a bundle holds {MAX_BUNDLE_BYTES}",
                hint="--thin leaves the wheel out of the zip; readers bring it",
            )
    check_writable(script=reproduction.script, root=reproduction.directory, output=output)


def _check_other(text: str) -> None:
    """`--with` means a target in other commands."""
    version = re.fullmatch(r"v?(\d[\w.]*)|latest", text)
    named = None if version else _requirement(text, "--with")
    if version or (named is not None and canonicalize_name(named.name) in KNOWN and named.specifier):
        release = text if named is None else str(named.specifier).removeprefix("==")
        raise UsageError(
            f"--with {text}: what is recorded is named by --sdk", hint=f"--sdk {release}, without --with"
        )


def locked(
    reproduction: Reproduction, target: Target | None, conditions: Conditions, progress: Progress
) -> locking.Lock:
    """Lock the target, else the one that the header names, with all that it needs; a checkout is built.

    Raises:
        UsageError: no target, more than one, or one that does not exist.
        CannotDoError: the index cannot be reached or lacks what is needed, or the checkout cannot be built.
    """
    if target is not None and target.checkout is not None and target.wheel is None:
        with built(target, conditions, progress) as made:
            return locked(reproduction, made, conditions, progress)
    requirement, others = _requirements(reproduction, target, conditions)
    wheel, origin = (target.wheel, target.origin) if target is not None else (None, None)
    if wheel is not None:
        _refuse_other_project(wheel, origin)
    interpreter = interpreters.find(conditions.python, requires=reproduction.requires_python)
    progress.working(f"locking {requirement or wheel} for CPython {interpreter.version}")
    lock = locking.lock(
        requirement=requirement,
        wheel=wheel,
        sha256=target.sha256 if target is not None else None,
        extra=others,
        interpreter=interpreter,
        origin=origin,
        # The newest release is that of now, whatever day its neighbours are locked as of.
        as_of=dates.NOW if target is not None and target.text == "latest" else conditions.as_of,
        lock_file=conditions.lock_file,
        like=conditions.like,
        offline=conditions.offline,
        store=wheel_store.default_store(),
        progress=progress.working,
    )
    _check_pytest(reproduction, lock)
    if target is not None and target.text == LATEST and lock.target.origin.kind == "index":
        lock = replace(lock, target=_as_newest(lock.target))
    target_line = f"{lock.target.name} {name_of_build(lock.target)}, wheel {short(lock.target.sha256)}"
    progress.done("target", f"{target_line} ({_came_from(lock.target.origin)})")
    day = f", as of {lock.as_of}" if lock.as_of else ""
    given = conditions.like or conditions.lock_file
    there = f", as in {given}" if given else ""
    wheels = f"{len(lock.packages)} wheel{'' if len(lock.packages) == 1 else 's'}"
    progress.done("locked", f"{wheels} by SHA-256 for CPython {lock.python.version}{there or day}")
    if lock.loose:
        progress.done("", f"not in {conditions.like}, so the newest was taken: {', '.join(lock.loose)}")
    return lock


def _as_newest(target: RecordedTarget) -> RecordedTarget:
    """A target that was asked for as the newest release, which the bundle says then."""
    origin = Origin(kind="index", revision=LATEST)
    return RecordedTarget.from_shape({**target.to_shape(), "origin": origin.to_shape()})


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
    file = read_given(read_bounded(wheel, limit=MAX_WHEEL_BYTES, what="--wheel"), wheel.name)
    if file.name not in KNOWN:
        what = f"{wheel} is a wheel of"
        if origin is not None and origin.commit is not None:
            what = f"commit {origin.commit[:10]} builds"
        raise UsageError(
            f"{what} {file.name}, which the recorder does not know",
            hint=f"it records {', '.join(KNOWN)}",
        )


def _requirements(
    reproduction: Reproduction, target: Target | None, conditions: Conditions
) -> tuple[str | None, tuple[str, ...]]:
    """The target's requirement (None for a wheel file) and all the others."""
    script = reproduction.script
    named: str | None = None
    others = list(dict.fromkeys((*reproduction.requires, *conditions.requires)))
    for text in reproduction.header.dependencies:
        if canonicalize_name(_requirement(text, str(script)).name) in KNOWN:
            named = text
        else:
            others.append(text)
    if target is not None and target.wheel is not None:
        # The header's own requirement on the target counts for its extras alone.
        return None, (*others, *([named] if named else ()))
    asked = target.requirement if target is not None else None
    wanted = asked or named
    if wanted is None and (conditions.lock_file is not None or conditions.like is not None):
        # The release that is in there.
        wanted = DEFAULT.distribution
    if wanted is None:
        raise UsageError(
            f"{script} does not say which release it is about",
            hint="give --sdk VERSION (or --sdk latest, or a --lock or --like that has it), or name it in a "
            "`# /// script` header",
        )
    requirement = _requirement(wanted, "--sdk" if asked else str(script))
    if canonicalize_name(requirement.name) not in KNOWN:
        raise UsageError(
            f"--sdk {wanted}: the recorder does not know {requirement.name}",
            hint=f"it records {', '.join(KNOWN)}",
        )
    return wanted, (*others, *([named] if named and named != wanted else ()))


def names_target(reproduction: Reproduction) -> bool:
    """Whether the script's header names the target by itself.

    Raises:
        UsageError: the header holds what is no requirement.
    """
    where = str(reproduction.script)
    names = [_requirement(text, where).name for text in reproduction.header.dependencies]
    return any(canonicalize_name(name) in KNOWN for name in names)


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


def _store(bundle: Bundle, path: Path, wheels: Path | None, *, replace: bool) -> Path | None:
    """Write the bundle; the path, where one with the same evidence is left as it is."""
    is_taken = path.is_file() or (path.is_dir() and any(path.iterdir()))
    if is_taken and not replace:
        stored = read_bundle(path, wheels=wheels)
        if bundle_id(stored) != bundle_id(bundle):
            theirs, mine = stored.document.evidence_id, bundle.document.evidence_id
            if theirs == mine:
                return path
            raise CannotDoError(
                f"{path} holds a bundle with other evidence ({short(theirs)}; this recording has "
                f"{short(mine)})",
                hint="compare the two, then --replace",
            )
    write_bundle(bundle, path, wheels=wheels, replace=True)
    return None
