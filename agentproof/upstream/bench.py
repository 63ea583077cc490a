"""An environment with pytest in it, in which proposed tests are run."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from ..environment.locking import Lock
from ..models.events import TestEnded
from ..models.expectations import NOTHING
from ..models.header import Header
from ..models.trace import Mode
from ..models.values import text_of
from ..record.conditions import Conditions
from ..record.progress import Progress
from ..record.reproduction import Reproduction
from ..record.trials import Trials, trials

PYTEST: Final = ("pytest", "pytest-asyncio")
_FILE: Final = "tests/test_proposed.py"
_SECONDS: Final = 30


@dataclass(frozen=True)
class Ended:
    """How a test ended."""

    outcome: str
    error: str | None = None
    """`module:Class`."""
    message: str = ""

    def words(self) -> str:
        """In one line."""
        if self.error is None:
            return self.outcome
        told = next((line for line in self.message.splitlines() if line.strip()), "")
        return f"{self.outcome}: {self.error.rpartition(':')[2]}: {told[:160]}"


@dataclass(frozen=True)
class Bench:
    """An environment, as long as the block that opened it."""

    lock: Lock
    trials: Trials

    def test(self, text: str, beside: Mapping[str, bytes], *, alone: bool = False) -> Ended:
        """How the one test in a file ends; `alone`: in a process of its own.

        Raises:
            CannotDoError, RecorderError: as `Trials.record`.
        """
        tried = Reproduction(
            entry=_FILE,
            files={**beside, _FILE: text.encode()},
            header=Header(),
            tests=(_FILE,),
            expectations=NOTHING,
        )
        mode: tuple[Mode, ...] = ("as-written",)
        if alone:
            seen = self.trials.record_alone(tried, mode)
        else:
            seen = self.trials.record(tried, mode, seconds=_SECONDS)
        trace = seen.traces.get("as-written")
        ended = [event for event in trace.events if isinstance(event, TestEnded)] if trace is not None else []
        if not ended:
            return Ended("did not end")
        # Of several the one that did not pass is told.
        worst = next((event for event in ended if event.outcome != "passed"), ended[0])
        if worst.error is None:
            return Ended(worst.outcome)
        return Ended(worst.outcome, worst.error.type, text_of(worst.error.message))

    def printed(self, reproduction: Reproduction) -> str:
        """What a script prints here."""
        return self.trials.run(reproduction, seconds=_SECONDS).stdout.decode("utf-8", "replace")


@contextmanager
def opened(lock: Lock, conditions: Conditions, progress: Progress) -> Iterator[Bench]:
    """Build the environment of a lock.

    Raises:
        CannotDoError: it cannot be built, or not be held in as asked for.
    """
    once = replace(conditions, repeats=1)
    with trials(lock, once, progress, imports=("pytest", "pytest_asyncio")) as tried:
        yield Bench(lock, tried)
