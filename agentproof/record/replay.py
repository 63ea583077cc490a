"""Replay a bundle: build its environment again, run its reproduction, compare the evidence.

1. The bundle must be sound (`check`); whom to trust is the reader's own question, and the script is
   held in like any other.
2. The environment is that of the bundle's own `pylock.toml` where it fits an interpreter here: wheels
   by SHA-256, from the store and the index; the target's attached wheel is used where neither has it,
   and for a target that is no release. On another interpreter or platform the same versions are
   locked anew as of the same day, and what differs is listed.
3. The script is run as it was: arguments, modes, and whether changes to the SDK were allowed.
4. Evidence, judgement, conduct and events are compared (`agreement`). Where the evidence differs, the
   traces are aligned, and what they do not share is said in words.
5. Only what agreed whole is attested, and nothing that is inconclusive.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from ..bundle.digests import sha256
from ..bundle.store import (
    WHEELS,
    Bundle,
    bundle_id,
    holds_another,
    shelf_of,
    short,
    write_bundle,
    zip_bytes,
)
from ..check.bundle import CheckedBundle, Reader, check_bundle
from ..claims.judge import explain_reason
from ..diff.align import compare_traces
from ..environment import dates, interpreters, locking, wheel_store
from ..errors import AgentproofError, BundleError, CannotDoError, UsageError
from ..models import pylock
from ..models.comparison import TraceDifference
from ..models.manifest import Judgement, Manifest, name_of_build
from ..models.statement import AGREED, Replay, Uri, Verifier, build_replayed_statement
from ..system import temporary
from ..system.files import is_stream, write_atomic
from ..trust import signing
from . import agreement as agreeing
from .agreement import Agreement
from .conditions import Conditions
from .final_check import check_sound
from .observe import observe
from .progress import Progress
from .reproduction import Reproduction, check_wheels, reproduction_in
from .variables import check_given


@dataclass(frozen=True)
class ReplayResult:
    """What a replay came to."""

    bundle: Bundle
    judged: Judgement
    """What the recording shows, as this tool judges it."""
    seen: Bundle
    """What was seen here, unsigned."""
    environment: tuple[str, ...]
    """How the environment differs from the recorded one, in sentences; empty: the same wheels and Python."""
    differences: tuple[TraceDifference, ...]

    @cached_property
    def agreement(self) -> Agreement:
        """What the two agree on."""
        return agreeing.compare(self.bundle, self.seen)

    @property
    def is_same(self) -> bool:
        """Whether the same evidence, judgement and conduct were seen."""
        return self.agreement.is_same

    @property
    def refusal(self) -> str | None:
        """Why this replay attests nothing; None: it may be signed."""
        differing = self.agreement.differing
        if differing:
            return "; ".join(f"another {_PARTS[name]} ({where})" for name, where in differing)
        if missing := agreeing.lacking(self.bundle):
            return f"the recording was judged by {missing}, which this tool lacks: update your checkout of it"
        for bundle, whose in ((self.seen, "replay"), (self.bundle, "recording")):
            judgement = bundle.document.judgement
            if judgement.verdict == "inconclusive":
                reasons = "; ".join(explain_reason(code) for code in judgement.reasons)
                return f"the {whose} is inconclusive: {reasons}"
        return None


_PARTS = {
    "evidence": "evidence",
    "judgement": "judgement",
    "conduct": "conduct",
    "events": "course of events",
}


def replay(checked: CheckedBundle, *, conditions: Conditions, progress: Progress) -> ReplayResult:
    """Run the reproduction of a checked bundle again and compare.

    Of the conditions those count that say where and how it runs; what is in the environment, and whether
    changes to the SDK are allowed, is the bundle's own.

    Raises:
        BundleError: the bundle is not sound.
        UsageError: an option makes no sense.
        CannotDoError: the environment cannot be built, or the script cannot be held in as asked for.
        RecorderError: our own recorder failed.
    """
    checked, bundle, _, judged = sound(checked)
    seen, differences = observe_again(checked, None, conditions=conditions, progress=progress)
    return ReplayResult(
        bundle=bundle,
        judged=judged,
        seen=seen,
        environment=differences,
        differences=tuple(_differences(bundle, seen)),
    )


def observe_again(
    checked: CheckedBundle, changed: Reproduction | None, *, conditions: Conditions, progress: Progress
) -> tuple[Bundle, tuple[str, ...]]:
    """Run a checked bundle's reproduction, or `changed` in its place, in the bundle's environment.

    Returns what was seen, unsigned, and how the environment is not the recorded one.

    Raises:
        BundleError, UsageError, CannotDoError, RecorderError: as `replay`.
    """
    _, bundle, recorded, _ = sound(checked)
    reproduction, lock = lock_of(bundle, recorded, conditions=conditions, progress=progress)
    progress.done("target", _target_line(recorded, lock))
    differences = tuple(environment_differences(recorded, lock))
    progress.done("locked", _locked_line(lock, differences))
    seen = observe(
        lock,
        changed or reproduction,
        store=wheel_store.default_store(),
        conditions=replace(conditions, allow_sdk_changes=recorded.conduct.allowed),
        progress=progress,
    )
    check_sound(seen)
    return seen, differences


def sound(checked: CheckedBundle) -> tuple[CheckedBundle, Bundle, Manifest, Judgement]:
    """What was checked, whomever it is signed by, with its parts.

    Raises:
        BundleError: it is not sound.
    """
    if checked.status == "UNTRUSTED" and checked.bundle is not None:
        # Its check stopped at the signature; whom to trust is not asked here.
        checked = check_bundle(checked.bundle, reader=Reader(), label=checked.report.bundle)
    bundle, recorded, judged = checked.bundle, checked.manifest, checked.judgement
    if checked.status == "INVALID" or bundle is None or recorded is None or judged is None:
        failed = next((check for check in checked.report.checks if check.status == "failed"), None)
        name = checked.report.bundle or "the bundle"
        raise BundleError(
            (failed.reason if failed else None) or "invalid",
            f"{name} is not sound: {failed.detail if failed else 'it cannot be read'}",
            hint="`agentproof check-current-bundle` says more; nothing was run",
        )
    return checked, bundle, recorded, judged


def lock_of(
    bundle: Bundle,
    recorded: Manifest,
    *,
    conditions: Conditions,
    progress: Progress,
    also: tuple[str, ...] = (),
) -> tuple[Reproduction, locking.Lock]:
    """The reproduction of a sound bundle, and its environment for an interpreter here, by rule 2; with what
    the requirements `also` add to it.

    Raises:
        UsageError: an option makes no sense.
        CannotDoError: the environment cannot be had.
    """
    reproduction = reproduction_in(bundle).expecting(conditions.expectations)
    check_wheels(reproduction)
    check_given(conditions.variables, reproduction.variables)
    wheel_store.hold(wheel_store.cache_root())
    interpreter = _interpreter(recorded, conditions.python, reproduction.requires_python)
    with temporary.directory("replay") as scratch:
        lock = _lock_again(
            bundle, recorded, interpreter, scratch, also=also, offline=conditions.offline, progress=progress
        )
    return reproduction, lock


def attest(replayed: ReplayResult, key: signing.PrivateKey, *, at: datetime | None = None) -> Bundle:
    """The bundle with a `replayed` attestation of `key`.

    Raises:
        CannotDoError: not all of it was seen again, or it is inconclusive: there is nothing to attest.
    """
    seen = replayed.seen.document
    if replayed.refusal is not None:
        raise CannotDoError(f"the replay attests nothing: {replayed.refusal}")
    recorded, identity = replayed.bundle.document, bundle_id(replayed.bundle)
    stated = Replay(
        verifier=Verifier(id=Uri.VERIFIER.value),
        timeCreated=(at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        properties=AGREED,
        not_captured=replayed.agreement.not_captured,
        bundle_id=identity,
        evidence_id=recorded.evidence_id,
        python=seen.environment.python,
        platform=seen.environment.platform,
        lock=sha256(pylock.render(seen.environment)),
        isolation=seen.isolation,
        recorder=seen.recorder,
    )
    statement = build_replayed_statement(recorded, stated, bundle_id=identity)
    name, envelope = signing.attest_replayed(statement, key)
    return replace(replayed.bundle, attestations={**replayed.bundle.attestations, name: envelope})


def write_attested(bundle: Bundle, path: Path) -> Path:
    """Write a bundle with its new attestation to a directory or zip; returns that path.

    What goes elsewhere than into a repository store takes its wheel along, where that is at hand.

    Raises:
        CannotDoError: the place is taken by another bundle, or cannot be written.
    """
    shelf = shelf_of(path)
    if shelf is not None and (path.is_dir() or path.parent.parent.name == "bundles"):
        write_bundle(bundle, path, wheels=shelf)
        return path
    bundle = _with_wheel(bundle)
    if path.is_dir() or not (path.name.endswith(".zip") or is_stream(path)):
        write_bundle(bundle, path)
    else:
        if holds_another(path, bundle_id(bundle)):
            raise CannotDoError(f"{path} holds something else", hint="choose another place with --output")
        write_atomic(path, zip_bytes(bundle))
    return path


def _with_wheel(bundle: Bundle) -> Bundle:
    target = bundle.document.target
    wheel = bundle.wheel(target.wheel)
    if wheel is None:
        return bundle
    held = {own.filename: own.data for own in reproduction_in(bundle).wheels} | {target.wheel: wheel}
    return replace(bundle, members={**bundle.members, **{WHEELS + name: data for name, data in held.items()}})


def _interpreter(recorded: Manifest, request: str | None, requires: SpecifierSet) -> interpreters.Interpreter:
    if request is not None:
        return interpreters.find(request, requires=requires)
    version = recorded.environment.python.version
    for wanted in (version.rstrip("+"), ".".join(version.split(".")[:2])):
        try:
            return interpreters.find(wanted, requires=requires)
        except AgentproofError:  # not here: the nearest that is
            continue
    return interpreters.find(None, requires=requires)


def _lock_again(
    bundle: Bundle,
    recorded: Manifest,
    interpreter: interpreters.Interpreter,
    scratch: Path,
    *,
    also: tuple[str, ...],
    offline: bool,
    progress: Progress,
) -> locking.Lock:
    """The recorded environment for this interpreter, by rule 2."""
    target, store = recorded.target, wheel_store.default_store()
    is_release = target.origin.kind == "index"
    attached = bundle.wheel(target.wheel)
    given: Path | None = None
    if not is_release and store.get(target.sha256) is None:
        given = _write_wheel(attached, recorded, scratch / "attached")
    elif not is_release:
        given = store.get(target.sha256)
    fits, own = _fits(recorded, interpreter) and not also, reproduction_in(bundle).wheels

    def locked(wheel: Path | None) -> locking.Lock:
        names = {target.name, *(each.name for each in own)}
        held = {each.name for each in recorded.environment.packages}
        pins = [
            f"{each.name}=={each.version}" for each in recorded.environment.packages if each.name not in names
        ]
        lock_file = scratch / "pylock.toml"
        if fits:
            lock_file.write_bytes(bundle.members[pylock.PYLOCK])
        return locking.lock(
            requirement=f"{target.name}=={target.version}" if wheel is None else None,
            wheel=wheel,
            origin=target.origin if wheel is not None else None,
            sha256=target.sha256,
            extra=() if fits else (*pins, *(each for each in also if each not in held)),
            own=own,
            interpreter=interpreter,
            lock_file=lock_file if fits else None,
            as_of=None if fits else recorded.environment.as_of or dates.NOW,
            offline=offline,
            store=store,
            progress=progress.working,
        )

    try:
        return locked(given)
    except (CannotDoError, UsageError) as error:
        if given is not None or attached is None:
            raise
        progress.done("index", f"{error.message}; trying the attached wheel")
        return locked(_write_wheel(attached, recorded, scratch / "attached"))


def _write_wheel(data: bytes | None, recorded: Manifest, directory: Path) -> Path:
    if data is None:
        raise CannotDoError(
            f"{recorded.target.wheel} is no release, and the bundle comes without it",
            hint="get the bundle with its wheel, or put the wheel beside it into wheels/",
        )
    directory.mkdir()
    path = directory / recorded.target.wheel
    path.write_bytes(data)
    return path


def _fits(recorded: Manifest, interpreter: interpreters.Interpreter) -> bool:
    """Whether the recorded wheels are those for this interpreter."""
    environment = recorded.environment
    wanted = Version(environment.python.version.rstrip("+"))
    found = Version(interpreter.version.rstrip("+"))
    return wanted.release[:2] == found.release[:2] and environment.platform == interpreter.platform


def environment_differences(recorded: Manifest, lock: locking.Lock) -> Iterator[str]:
    """How the environment of `lock` differs from the recorded one, in sentences."""
    environment = recorded.environment
    if environment.python.version != lock.python.version:
        yield f"CPython {lock.python.version} instead of {environment.python.version}"
    if environment.platform != lock.python.platform:
        mine, theirs = lock.python.platform, environment.platform
        yield (
            f"{mine.system} {mine.machine} {mine.libc or ''} instead of "
            f"{theirs.system} {theirs.machine} {theirs.libc or ''}"
        )
    before = {package.name: package for package in environment.packages}
    after = {package.name: package for package in lock.packages}
    for name in sorted(before.keys() - after.keys()):
        yield f"{name} {before[name].version} is not here"
    for name in sorted(after.keys() - before.keys()):
        yield f"{name} {after[name].version} is here too"
    built: list[str] = []
    for name in sorted(before.keys() & after.keys()):
        if before[name].version != after[name].version:
            yield f"{name} {after[name].version} instead of {before[name].version}"
        elif before[name].sha256 != after[name].sha256:
            built.append(f"{name} {after[name].version}")
    if built:
        yield f"other wheels of the same versions: {', '.join(built)}"


def _target_line(recorded: Manifest, lock: locking.Lock) -> str:
    kinds = {"index": "from the index", "file": "the attached wheel", "checkout": "the attached wheel"}
    target = lock.target
    return (
        f"{target.name} {name_of_build(target)}, wheel {short(target.sha256)} ({kinds[target.origin.kind]})"
    )


def _locked_line(lock: locking.Lock, differences: tuple[str, ...]) -> str:
    same = "as recorded" if not differences else f"{len(differences)} differences from the recorded one"
    return f"{len(lock.packages)} wheels for CPython {lock.python.version}: {same}"


def _differences(bundle: Bundle, seen: Bundle) -> Iterator[TraceDifference]:
    for mode in bundle.traces.keys() & seen.traces.keys():
        yield from compare_traces(bundle.traces[mode], bundle.state, seen.traces[mode], seen.state)
