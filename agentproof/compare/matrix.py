"""Record many reproductions on many targets and Pythons, in parallel, and compare each row.

1. A job is plain data by content: the reproduction's files, the target (a requirement, or a wheel's
   bytes), the Python. A worker needs nothing of the machine that asks but agentproof itself.
2. Any `concurrent.futures.Executor` runs the jobs: processes of this machine, or a dask cluster's. A
   few more jobs than workers are handed out at a time, results go to disk as they come, and rows are
   compared one by one, so memory does not grow with the matrix.
3. What is recorded is noted beside the recordings, so that a matrix that was interrupted goes on where it
   was, whoever recorded; workers keep what they recorded as well (`record.cache`). A worker that is lost
   takes its jobs with it, which are then tried again (`dispatch`).
4. The result does not depend on who recorded what, or in which order: the same bytes come out.

    <output>/matrix.json                    the rows: one for each reproduction and Python
    <output>/recordings/<bundle id>.zip     every recording, signed, without its wheel
    <output>/progress.jsonl                 what is recorded, until all is
"""

import contextlib
import json
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from .. import __version__
from ..bundle.digests import sha256
from ..bundle.store import (
    ZIP_SUFFIX,
    Bundle,
    bundle_id,
    from_zip_bytes,
    read_bundle,
    without_target_wheel,
    zip_bytes,
)
from ..check.bundle import Reader, check_bundle
from ..diff.rows import Attempt, Series, build_rows
from ..environment import checkout as _checkout
from ..environment import interpreters, wheel_store
from ..errors import AgentproofError, BundleError, CannotDoError, UsageError
from ..limits import MAX_WHEEL_BYTES
from ..models.comparison import Matrix, Row
from ..models.manifest import Origin
from ..models.wire import Sha256, encode
from ..record.conditions import Conditions
from ..record.final_check import check_sound
from ..record.kept import default_results, own_sources
from ..record.progress import Progress, Silent
from ..record.recording import record_unsigned
from ..record.reproduction import Reproduction
from ..record.target import Target, check_targets
from ..system import temporary
from ..system.files import read_bounded, write_atomic
from ..trust import signing
from .comparison import publishable
from .dispatch import TRIES, Dispatch, ExecutorFactory
from .subjects import Subject

_PROGRESS: Final = "progress.jsonl"


@dataclass(frozen=True)
class Job:
    """One reproduction on one target and Python, by content."""

    row: str
    reproduction: Reproduction
    target: str
    """Its name for people."""
    conditions: Conditions
    requirement: str | None
    """None: the release that the header names, or the wheel."""
    wheel: tuple[str, bytes] | None = None
    """File name and bytes."""
    origin: Origin | None = None
    failed: str | None = None
    """Why there is nothing to run: its checkout cannot be built."""
    hint: str | None = None
    """What to do about that."""


@dataclass(frozen=True)
class JobResult:
    """What became of a job."""

    recording: bytes | None
    """The unsigned bundle without its wheel, as its zip."""
    failed: str | None
    seconds: float
    processor: float
    """Seconds of processor time, those of its processes included."""
    hint: str | None = None
    """What to do about a failure."""


@dataclass(frozen=True)
class MatrixResult:
    """A matrix that is complete."""

    rows: tuple[Row, ...]
    jobs: int
    recorded: int
    """How many of them came to a recording."""
    kept: int
    """How many of them were recorded before it was interrupted."""
    seconds: float
    """Wall time."""
    processor: float
    """Seconds of processor time of all jobs together."""
    workers: int


def run_job(job: Job) -> JobResult:
    """Record one job; runs in a worker."""
    started, used = time.monotonic(), _processor_time()
    if job.failed is not None:
        return JobResult(None, job.failed, 0, 0, hint=job.hint)
    try:
        with temporary.directory("job") as base:
            target = Target(job.target, requirement=job.requirement, origin=job.origin)
            if job.wheel is not None:
                target = replace(target, wheel=base / job.wheel[0])
                (base / job.wheel[0]).write_bytes(job.wheel[1])
            bundle = record_unsigned(
                job.reproduction, target, job.conditions, progress=Silent(), results=default_results()
            )
        check_sound(bundle)
        recording = zip_bytes(without_target_wheel(bundle))
    except AgentproofError as error:
        seconds = time.monotonic() - started
        return JobResult(None, error.message, seconds, _processor_time() - used, hint=error.hint)
    return JobResult(recording, None, time.monotonic() - started, _processor_time() - used)


def _processor_time() -> float:
    """Of this process and of its children that ended; one worker runs one job at a time."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def jobs_of(
    subjects: Sequence[Subject],
    targets: Sequence[Target],
    pythons: Sequence[str | None],
    *,
    conditions: Conditions,
    progress: Progress,
) -> list[Job]:
    """Every combination, in the order of the rows; checkouts are built here, once a Python.

    Raises:
        UsageError: two reproductions have one name, a target makes no sense, or a checkout is none.
    """
    names = [subject.name for subject in subjects]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two reproductions are named {twice}", hint="give their folders different names")
    check_targets(targets)
    jobs: list[Job] = []
    for python in pythons:
        chosen = replace(conditions, python=python)
        wheels = [_wheel_of(target, chosen, progress) for target in targets]
        for subject in subjects:
            # A worker knows nothing of this machine's paths.
            reproduction = replace(
                subject.reproduction, script=Path(subject.reproduction.entry), root=None, directory=None
            )
            row = subject.name if len(pythons) == 1 else f"{subject.name} on {python}"
            for target, built in zip(targets, wheels, strict=True):
                jobs.append(
                    Job(
                        row=row,
                        reproduction=reproduction,
                        target=target.label,
                        conditions=chosen,
                        requirement=target.requirement,
                        wheel=built.wheel,
                        origin=built.origin,
                        failed=built.failed,
                        hint=built.hint,
                    )
                )
    return sorted(jobs, key=lambda job: (job.row,))


@dataclass(frozen=True)
class _BuiltWheel:
    """The wheel of a target that is no release, or why there is none."""

    wheel: tuple[str, bytes] | None = None
    origin: Origin | None = None
    failed: str | None = None
    hint: str | None = None


def _wheel_of(target: Target, conditions: Conditions, progress: Progress) -> _BuiltWheel:
    if target.wheel is not None:
        return _BuiltWheel(
            (target.wheel.name, read_bounded(target.wheel, limit=MAX_WHEEL_BYTES, what="--with"))
        )
    if target.checkout is None:
        return _BuiltWheel()
    interpreter = interpreters.find(conditions.python)
    try:
        with _checkout.built(
            target.checkout,
            target.revision,
            dirty=target.dirty,
            offline=conditions.offline,
            interpreter=interpreter,
            store=wheel_store.default_store(),
            progress=progress.working,
        ) as made:
            return _BuiltWheel((made.wheel.name, made.wheel.read_bytes()), made.origin)
    except CannotDoError as error:  # the other targets go on
        return _BuiltWheel(failed=error.message, hint=error.hint)


def run_matrix(
    jobs: Sequence[Job],
    *,
    make_executor: ExecutorFactory,
    workers: int,
    output: Path,
    key: signing.PrivateKey,
    progress: Progress,
) -> MatrixResult:
    """Run all jobs and write the result below `output`.

    Raises:
        CannotDoError: the workers are gone, or the result cannot be written.
    """
    started = time.monotonic()
    _check_place(output)
    log = _RecordingLog(output)
    places: dict[int, Path | str] = {}
    for number, job in enumerate(jobs):
        kept = log.recording(job)
        if kept is not None:
            places[number] = _write_recording(kept, output, key)
    if places:
        progress.done("kept", f"{len(places)} of {len(jobs)} were recorded before")
    kept_before, processor = len(places), 0.0
    dispatch = Dispatch(
        jobs,
        run=run_job,
        give_up=lambda _: JobResult(
            None, f"its worker was lost {TRIES} times; is there enough memory?", 0, 0
        ),
        name=lambda job: f"{job.row} on {job.target}",
        progress=progress,
    )
    hints: set[str] = set()
    todo = [number for number in range(len(jobs)) if number not in places]
    try:
        for number, result in dispatch.results(todo, make_executor=make_executor, window=workers + 2):
            processor += result.processor
            job = jobs[number]
            if result.recording is None:
                places[number] = publishable(result.failed or "not recorded")
                said = f"not recorded: {result.failed}"
            else:
                places[number] = place = _write_recording(result.recording, output, key)
                log.note(job, place)
                said = "recorded"
            told = f"{job.row} on {job.target}: {said} ({result.seconds:.1f} s)"
            progress.done(f"{len(places)} of {len(jobs)}", told)
            if result.hint is not None and result.hint not in hints:
                hints.add(result.hint)
                progress.done("next", result.hint)
    except (KeyboardInterrupt, SystemExit):
        progress.done(
            "stopped", f"{len(places)} of {len(jobs)} are done; the same command goes on from there"
        )
        raise
    rows = tuple(_rows(jobs, places))
    document = Matrix(format="agentproof/matrix", version=0, agentproof=__version__, rows=rows)
    write_atomic(output / "matrix.json", document.to_bytes())
    log.forget()
    recorded = sum(isinstance(place, Path) for place in places.values())
    seconds = time.monotonic() - started
    return MatrixResult(rows, len(jobs), recorded, kept_before, seconds, processor, workers)


def _check_place(output: Path) -> None:
    """Fail before the recordings rather than after the first of them."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=output):
            pass
    except OSError as error:
        raise CannotDoError(
            f"cannot write to {output}: {error.strerror}", hint="choose another place with --output"
        ) from error


class _RecordingLog:
    """What a matrix that is not complete has recorded: the job's digest and its recording, line by line."""

    def __init__(self, output: Path) -> None:
        self._path = output / _PROGRESS
        self._recordings = output / "recordings"
        self._kept: dict[str, str] = {}
        if self._path.exists():
            for line in self._path.read_text("utf-8").splitlines():
                with contextlib.suppress(ValueError):  # the last line of one that was killed while it wrote
                    note = json.loads(line)
                    self._kept[note["job"]] = note["recording"]

    def recording(self, job: Job) -> bytes | None:
        """The unsigned recording that was made of this job, if it is still there and as it was made."""
        # What was newest then may not be so any more.
        name = self._kept.get(_digest(job)) if job.target != "latest" else None
        if name is None:
            return None
        try:
            bundle = read_bundle(self._recordings / Path(name).name)
        except BundleError:
            return None
        # It is signed again: what somebody changed meanwhile is not.
        checked = check_bundle(bundle, reader=Reader())
        if checked.manifest is None or checked.judgement != checked.manifest.judgement:
            return None
        return zip_bytes(Bundle(bundle.manifest, bundle.members))

    def note(self, job: Job, place: Path) -> None:
        """Remember a recording that is written."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"job": _digest(job), "recording": place.name}) + "\n")

    def forget(self) -> None:
        """All is recorded."""
        self._path.unlink(missing_ok=True)


def _digest(job: Job) -> Sha256:
    """A job by all that its recording depends on and this side knows."""
    document = {
        "agentproof": own_sources(),
        "files": {name: sha256(data) for name, data in job.reproduction.files.items()},
        "called": [job.reproduction.entry, *job.reproduction.arguments, "--", *job.reproduction.tests],
        "requires": list(job.reproduction.requires),
        "conditions": {
            name: str(part) for name, part in asdict(job.conditions).items() if name != "side_by_side"
        },
        "requirement": job.requirement,
        "wheel": sha256(job.wheel[1]) if job.wheel is not None else None,
        "origin": job.origin.to_shape() if job.origin is not None else None,
    }
    return sha256(encode(document))


def _write_recording(recording: bytes, output: Path, key: signing.PrivateKey) -> Path:
    bundle = from_zip_bytes(recording)
    name, envelope = signing.attest_recorded(bundle.manifest, key)
    signed = Bundle(bundle.manifest, bundle.members, {name: envelope})
    place = output / "recordings" / f"{bundle_id(signed)}{ZIP_SUFFIX}"
    write_atomic(place, zip_bytes(signed))
    return place


def _rows(jobs: Sequence[Job], places: Mapping[int, Path | str]) -> Iterator[Row]:
    """One row at a time, so that only its recordings are in memory."""
    attempts: dict[str, list[tuple[str, Path | str]]] = {}
    for number, job in enumerate(jobs):
        attempts.setdefault(job.row, []).append((job.target, places[number]))
    for name, cells in attempts.items():
        read = tuple(
            Attempt(target, bundle=read_bundle(place))
            if isinstance(place, Path)
            else Attempt(target, failed=place)
            for target, place in cells
        )
        yield from build_rows([Series(name, read)])
