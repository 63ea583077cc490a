"""A verified environment in which many small scripts or tests are run, one after the other.

Each run is held in as a recording is. Whoever has a quicker way to run scripts gives it the shape of `run`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from ..environment import venv, wheel_store
from ..environment.locking import Lock
from ..isolation import levels, runner
from ..isolation.readback import RawRecording
from ..models.trace import Mode
from ..record.conditions import Conditions
from ..record.progress import Progress
from ..sdk import KNOWN

PYTEST: Final = ("pytest", "pytest-asyncio")
_SECONDS: Final = 60


@dataclass(frozen=True)
class Program:
    """What is run: a script, or tests."""

    entry: str
    files: Mapping[str, bytes]
    arguments: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How one test ended."""

    outcome: str
    error: str | None = None
    """`module:Class`."""
    message: str = ""
    line: int | None = None

    def words(self) -> str:
        """In one line."""
        told = next((line for line in self.message.splitlines() if line.strip()), "")
        return (
            f"{self.outcome}: {self.error.rpartition(':')[2]}: {told[:160]}" if self.error else self.outcome
        )


NO_END: Final = Ended("no end")


@dataclass(frozen=True)
class Bench:
    """An environment that lasts as long as the block that opened it."""

    lock: Lock
    environment: venv.PreparedEnvironment
    isolation: levels.Choice
    conditions: Conditions

    def run(self, program: Program, *, modes: Sequence[Mode] = ("as-written",)) -> dict[Mode, RawRecording]:
        """Run it once in each mode.

        Raises:
            CannotDoError, RecorderError: as `run_recordings`.
        """
        return self.observed(program, modes=modes).repeats[0]

    def observed(self, program: Program, *, modes: Sequence[Mode]) -> runner.Observation:
        """The same, with how it was held in."""
        return runner.run_recordings(
            self.environment,
            program,
            sdk=KNOWN[self.lock.target.name],
            isolation=self.isolation,
            limits=self.conditions.limits,
            repeats=1,
            modes=modes,
            variables=self.conditions.variables.values,
        )

    def test(self, files: Mapping[str, str], beside: Mapping[str, bytes]) -> dict[str, Ended]:
        """How the tests in each file end, by file; a file that hangs takes none of the others along."""
        ended: dict[str, Ended] = {}
        pending = list(files)
        while pending:
            held = {**beside, **{name: files[name].encode() for name in pending}}
            raw = self.run(Program(pending[0], held, tests=tuple(pending)))["as-written"]
            seen = _ended(raw.events)
            left = [name for name in pending if name not in seen]
            if len(left) == len(pending):
                seen[left[0]] = NO_END
            ended.update(seen)
            pending = [name for name in pending if name not in ended]
        return ended


@contextmanager
def opened(lock: Lock, conditions: Conditions, progress: Progress) -> Iterator[Bench]:
    """Build the environment of a lock.

    Raises:
        CannotDoError: it cannot be built or held in as asked for.
    """
    isolation = levels.choose(conditions.require_isolation)
    limits = replace(conditions.limits, seconds=min(conditions.limits.seconds, _SECONDS))
    store = wheel_store.default_store()
    with venv.prepare(lock, store, progress=progress.working) as environment:
        yield Bench(lock, environment, isolation, replace(conditions, limits=limits))


def _ended(events: Iterable[Mapping[str, Any]]) -> dict[str, Ended]:  # Any: JSON as the recorder wrote it
    found: dict[str, Ended] = {}
    for event in events:
        if event.get("kind") != "test.ended":
            continue
        name = str(event.get("test")).partition("::")[0]
        error = event.get("error") or {}
        frames = event.get("frames") or []
        message = error.get("message")
        now = Ended(
            str(event.get("outcome")),
            error.get("type"),
            message if isinstance(message, str) else "",
            frames[-1].get("line") if frames else None,
        )
        # Of several tests in a file the one that did not pass is told.
        if name not in found or found[name].outcome == "passed":
            found[name] = now
    return found
