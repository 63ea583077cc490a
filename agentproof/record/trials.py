"""Many quick recordings in one environment, for a search: judged as any recording, signed by nobody.

They are made once in each mode, by processes that did not import the SDK themselves
(`isolation.forkserver`). So nothing is concluded from one but what to try next; what a search found is
recorded by `record`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Final

from ..bundle.store import Bundle
from ..environment import venv, wheel_store
from ..environment.locking import Lock
from ..isolation import forkserver, levels
from ..isolation.forkserver import ForkServer, Output
from ..isolation.runner import MODES, Observation, Script, run_recordings
from ..models.trace import Mode
from ..sdk import KNOWN
from .assemble import assemble
from .conditions import Conditions
from .progress import Progress
from .reproduction import Reproduction

SECONDS: Final = 10.0
"""For one script in one mode."""


class Trials:
    """An environment in which scripts are tried; use `trials`."""

    def __init__(
        self,
        lock: Lock,
        environment: venv.PreparedEnvironment,
        conditions: Conditions,
        server: ForkServer,
        isolation: levels.Choice,
    ) -> None:
        self._lock = lock
        self._environment = environment
        self._conditions = conditions
        self._server = server
        self._isolation = isolation
        self._wheel = wheel_store.default_store().read(lock.target.sha256)
        self.started_seconds = server.started_seconds

    @property
    def cpu_seconds(self) -> float:
        """What the scripts have used of a processor so far."""
        return self._server.cpu_seconds

    def record(
        self, reproduction: Reproduction, modes: Sequence[Mode] = MODES, *, seconds: float = SECONDS
    ) -> Bundle:
        """Record a script once in each of `modes` and judge it.

        Raises:
            CannotDoError: it made more than a recording may hold.
            RecorderError: our own recorder failed.
            UsageError: the script has something else in the SDK's place.
        """
        seen = Observation(
            repeats=(self._server.record(reproduction, modes, seconds=seconds),),
            isolation=self._isolation.recorded(user="own"),
            recorder_sha256="0" * 64,
        )
        return self._assembled(reproduction, seen)

    def record_alone(self, reproduction: Reproduction, modes: Sequence[Mode] = MODES) -> Bundle:
        """The same in a process of its own, which imports the SDK by itself, as `record` has it.

        Raises:
            As `record`.
        """
        seen = run_recordings(
            self._environment,
            reproduction,
            sdk=KNOWN[self._lock.target.name],
            isolation=self._isolation,
            limits=self._conditions.limits,
            repeats=1,
            modes=modes,
            variables=self._conditions.variables.values,
        )
        return self._assembled(reproduction, seen)

    def _assembled(self, reproduction: Reproduction, seen: Observation) -> Bundle:
        return assemble(
            self._lock,
            reproduction,
            seen,
            wheel=self._wheel,
            installed_files=self._environment.installed_files,
            allow_sdk_changes=self._conditions.allow_sdk_changes,
            variables=self._conditions.variables,
        )

    def run(self, script: Script, *, seconds: float = SECONDS) -> Output:
        """Run a script without recording it.

        Raises:
            RecorderError: the process that forks died.
        """
        return self._server.run(script, seconds=seconds)


@contextmanager
def trials(
    lock: Lock,
    conditions: Conditions,
    progress: Progress,
    *,
    imports: Sequence[str] = (),
) -> Iterator[Trials]:
    """An environment of `lock` that scripts are tried in, with these modules imported beside the SDK, for as
    long as the block.

    Raises:
        CannotDoError: it cannot be built, or not be isolated as asked for.
        RecorderError: the SDK cannot be imported.
    """
    isolation = levels.choose(conditions.require_isolation)
    with (
        venv.prepare(lock, wheel_store.default_store(), progress=progress.working) as environment,
        forkserver.serving(
            environment,
            sdk=KNOWN[lock.target.name],
            isolation=isolation,
            limits=conditions.limits,
            imports=imports,
            warm=files("agentproof.record").joinpath("warm.txt").read_bytes(),
            variables=conditions.variables.values,
        ) as server,
    ):
        yield Trials(lock, environment, conditions, server, isolation)
