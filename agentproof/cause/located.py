"""Replays with the probe beside the recorder, and what the probe tells, checked as far as it parses."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..bundle.store import Bundle
from ..environment import venv, wheel_store
from ..environment.locking import Lock
from ..errors import RecorderError
from ..isolation import levels, runner
from ..isolation.readback import RawRecording
from ..models.trace import Mode
from ..record import live
from ..record.assemble import assemble, ending_of
from ..record.canonical import canonicalise
from ..record.conditions import Conditions
from ..record.observe import mask_of
from ..record.progress import Progress
from ..record.reproduction import Reproduction
from ..sdk import KNOWN

Line = tuple[str, int]
"""A file of the wheel and a line in it."""


@dataclass(frozen=True)
class Event:
    """Where one event of a trace came from."""

    entered: int
    """How many functions had been entered before it."""
    step: int
    sdk: tuple[Line, ...]
    """The SDK's stack, innermost first, with that of who made the task."""
    script: tuple[str, int] | None


@dataclass(frozen=True)
class Located:
    """What the probe told of one mode."""

    segments: tuple[tuple[str, frozenset[Line]], ...]
    """Lines that ran, by the part of the script; one part without a name, but for the healthy scenarios."""
    entered: tuple[Line, ...]
    """Functions by the line that they begin on, as they were entered, of the first process."""
    events: Mapping[int, Event]
    """By the event's number in the canonical trace."""
    names: Mapping[str, str]
    """Labels of the trace by those of the recorder: `S1` by `S:0.1`."""
    shared: tuple[dict[str, Any], ...] = ()  # Any: JSON as the probe wrote it
    slots: tuple[dict[str, Any], ...] = ()
    writes: tuple[dict[str, Any], ...] = ()
    births: tuple[dict[str, Any], ...] = ()
    holders: Mapping[int, str] = field(default_factory=dict)
    """The recorder's labels of the instances that were followed."""
    files: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()

    @property
    def lines(self) -> frozenset[Line]:
        """All lines that ran."""
        return frozenset().union(*(lines for _, lines in self.segments))


@dataclass(frozen=True)
class LocatedRun:
    """A replay with the probe."""

    bundle: Bundle
    modes: Mapping[Mode, Located]


class Prepared:
    """An environment in which scripts are run with the probe."""

    def __init__(self, lock: Lock, environment: venv.PreparedEnvironment, conditions: Conditions) -> None:
        self.lock = lock
        self._environment = environment
        self._conditions = conditions
        self._choice = levels.choose(conditions.require_isolation)
        self.wheel = wheel_store.default_store().read(lock.target.sha256)

    def run(
        self, reproduction: Reproduction, wanted: Mapping[str, object], *, repeats: int = 2
    ) -> LocatedRun:
        """Run a script with the probe.

        Raises:
            CannotDoError: it cannot be held in as asked for.
            RecorderError: the recorder or the probe left what it does not write.
        """
        sdk = KNOWN[self.lock.target.name]
        seen = runner.run_recordings(
            self._environment,
            reproduction,
            sdk=sdk,
            isolation=self._choice,
            limits=self._conditions.limits,
            repeats=repeats,
            variables=self._conditions.variables.values,
            recorder=runner.locating_archive(wanted),
            provider=live.sealed(reproduction.exchanges, mask=mask_of(self._conditions)),
        )
        bundle = assemble(
            self.lock,
            reproduction,
            seen,
            wheel=self.wheel,
            installed_files=self._environment.installed_files,
            allow_sdk_changes=self._conditions.allow_sdk_changes,
            variables=self._conditions.variables,
            provider=live.provider_of(reproduction.exchanges, seen),
        )
        modes = {mode: read_located(raw, sdk.package) for mode, raw in seen.repeats[0].items()}
        return LocatedRun(bundle, modes)


@contextmanager
def prepared(lock: Lock, conditions: Conditions, progress: Progress) -> Iterator[Prepared]:
    """The environment of a lock, for as long as the block.

    Raises:
        CannotDoError: it cannot be built.
    """
    with venv.prepare(lock, wheel_store.default_store(), progress=progress.working) as environment:
        yield Prepared(lock, environment, conditions)


def read_located(raw: RawRecording, package: str) -> Located:
    """What the probe wrote about a recording.

    Raises:
        RecorderError: it is not what the probe writes.
    """
    if not raw.located:
        return Located((("", frozenset()),), (), {}, {}, gaps=("the probe left nothing behind",))
    try:
        documents = [json.loads(each) for each in raw.located]
        return _read(raw, documents, package)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise RecorderError(f"{raw.mode}.located.json is not what the probe writes: {error!r}") from error


def _read(raw: RawRecording, documents: list[Any], package: str) -> Located:
    canonical = canonicalise(
        raw.mode,
        raw.events,
        ending=ending_of(raw),
        streams={"stdout": raw.stdout, "stderr": raw.stderr},
        paths=raw.paths,
        shared_ids=frozenset(),
    )
    seqs = {event["n"]: seq for event, seq in zip(raw.events, canonical.raw_order, strict=False)}
    segments: dict[str, set[Line]] = {}
    events: dict[int, Event] = {}
    for document in documents:
        files = [f"{package}/{name}" for name in document["files"]]
        for name, lines in document["segments"]:
            segments.setdefault(str(name), set()).update((files[file], int(line)) for file, line in lines)
        for name, each in document["events"].items():
            if name in seqs:
                script = each["script"]
                events[seqs[name]] = Event(
                    entered=int(each["starts"]),
                    step=int(each["step"]),
                    sdk=tuple((files[file], int(line)) for file, line in each["sdk"]),
                    script=(str(script[0]), int(script[1])) if script is not None else None,
                )
    first = documents[0]
    files = [f"{package}/{name}" for name in first["files"]]
    functions = [(files[file], int(line)) for file, line in first["functions"]]
    return Located(
        segments=tuple((name, frozenset(lines)) for name, lines in segments.items()),
        entered=tuple(functions[number] for number in first["starts"]),
        events=events,
        names=_names(raw, canonical.trace.to_shape()["events"], seqs),
        shared=tuple(each for document in documents for each in document["shared"]),
        slots=tuple(first["slots"]),
        writes=tuple(first["writes"]),
        births=tuple(first["births"]),
        holders={int(number): str(label) for number, label in first["names"].items()},
        files=tuple(files),
        gaps=tuple(sorted({str(gap) for document in documents for gap in document["gaps"]})),
    )


def _names(raw: RawRecording, told: list[dict[str, Any]], seqs: Mapping[str, int]) -> dict[str, str]:
    by_seq = {event["seq"]: event for event in told}
    found: dict[str, str] = {}
    for event in raw.events:
        canonical = by_seq.get(seqs.get(event["n"], 0), {})
        for name, value in event.items():
            label = value.get("$label") if isinstance(value, dict) else None
            if isinstance(label, str) and isinstance(canonical.get(name), str):
                found[label] = canonical[name]
    return found
