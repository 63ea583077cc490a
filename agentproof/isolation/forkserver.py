"""Many short scripts in one environment: a process that has imported the SDK forks for each of them.

For a search (`minimise`, `hunt`), whose result an ordinary recording confirms: the import, the environment
and the sandbox are paid for once. What runs is held in as by `runner`, all scripts together by one sandbox,
so that one of them could disturb the next; each is a process, with files and a time of its own.

    <base>/<k>/control/        requests, answers (FIFOs); see `_recorder/forkserver.py`
    <base>/<k>/runs/<n>/root/  control/  work/<mode>/
"""

import json
import os
import select
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from ..errors import CannotDoError, RecorderError
from ..models.trace import Mode
from ..sdk import DEFAULT, Sdk
from . import sandbox
from .control import copy_data, copy_reproduction, run_directory
from .levels import Choice
from .readback import RawRecording, captured, read_mode
from .runner import Launch, PreparedEnvironment, Script, recorder_archive
from .supervision import LaunchedProcess, Limits

_START_SECONDS: Final = 60
_PATIENCE: Final = 5
"""Seconds for which an answer may be late: the server itself ends what takes too long."""


@dataclass(frozen=True)
class Source:
    """A script, with data beside it."""

    text: bytes
    entry: str = "script.py"
    arguments: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    beside: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def files(self) -> Mapping[str, bytes]:
        """The script under its name, and what lies beside it."""
        return {**self.beside, self.entry: self.text}


@dataclass(frozen=True)
class Output:
    """What a script printed that was run without being recorded."""

    outcome: Literal["ended", "timed_out"]
    status: int
    """Its exit status; negative: the signal that ended it."""
    stdout: bytes
    stderr: bytes


class ForkServer:
    """A sandbox in which the SDK is imported; use `serving`."""

    def __init__(self, launch: Launch, launched: LaunchedProcess, limits: Limits) -> None:
        self._launch = launch
        self._launched = launched
        self._limits = limits
        self._count = 0
        self._requests = -1
        self._answers = -1
        self._held = b""
        self.cpu_seconds = 0.0
        """What the scripts have used of a processor so far."""
        self.started_seconds = 0.0
        """Wall time until the SDK was imported and warm."""

    def record(self, script: Script, modes: Sequence[Mode], *, seconds: float) -> dict[Mode, RawRecording]:
        """Record a script once in each mode.

        A mode is absent where it did not import the SDK, which it cannot notice here.

        Raises:
            RecorderError: the server died, or left what it does not write.
        """
        found: dict[Mode, RawRecording] = {}
        for mode in modes:
            with self._place(script, mode) as (home, plan):
                answer = self._ask(plan, seconds, recorded=True)
                found[mode] = read_mode(
                    home / "control",
                    mode,
                    died="timed_out" if answer["outcome"] == "timed_out" else None,
                    kept=self._limits.output_kept,
                    most=self._limits.output_bytes,
                    why_unforked=None,
                    paths=self._launch.paths(
                        self._launched,
                        root=home / "root",
                        control=home / "control",
                        work=home / "work" / mode,
                    ),
                    seal=self._launched.seal,
                )
        return found

    def run(self, script: Script, *, seconds: float) -> Output:
        """Run a script without recording it.

        Raises:
            RecorderError: the server died.
        """
        with self._place(script, "as-written") as (home, plan):
            answer = self._ask(plan, seconds, recorded=False)
            kept, most = self._limits.output_kept, self._limits.output_bytes
            printed = {
                name: captured(home / "control", f"as-written.{name}", kept=kept, most=most).data
                for name in ("stdout", "stderr")
            }
            return Output(outcome=answer["outcome"], status=answer["status"], **printed)

    @contextmanager
    def _place(self, script: Script, mode: Mode) -> Iterator[tuple[Path, dict[str, object]]]:
        """The directories of one run, gone afterwards, and what the recorder is to run in them."""
        self._count += 1
        home = self._launched.home / "runs" / str(self._count)
        root, control, work = home / "root", home / "control", home / "work" / mode
        owner = home.parent.stat().st_uid
        user = owner if owner != os.geteuid() else None
        try:
            for directory in (control, work):
                directory.mkdir(parents=True, mode=0o711)
                if user is not None:
                    os.chown(directory, user, user)
            copy_reproduction(script.files, root)
            copy_data(script.files, work, user=user)
            plan = self._launch.plan(root, control, {mode: work})
            named = {"entry": script.entry, "arguments": list(script.arguments), "tests": list(script.tests)}
            yield home, {**plan, **named, "trial": True}
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def _ask(self, plan: Mapping[str, object], seconds: float, *, recorded: bool) -> dict[str, Any]:
        request = {"plan": dict(plan), "seconds": seconds, "recorded": recorded}
        data = json.dumps(request).encode("ascii") + b"\n"
        try:
            while data:
                data = data[os.write(self._requests, data) :]
        except OSError as error:
            raise self._dead() from error
        answer = self._answer(seconds + _PATIENCE)
        self.cpu_seconds += answer["cpu"]
        return answer

    def _answer(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while b"\n" not in self._held:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._answers, self._launched.fileno()], [], [], max(left, 0))
            if not ready:
                raise self._dead()
            if self._launched.fileno() in ready and not self._launched.hear():
                raise self._dead()
            if self._answers in ready:
                self._held += _read(self._answers)
        line, _, self._held = self._held.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _dead(self) -> RecorderError:
        said = captured(self._launched.control, "start.stderr", kept=2**16, most=2**16).data
        return RecorderError(
            "the process that forks for each script has gone: "
            f"{said.decode('utf-8', 'replace').strip()[-1000:] or 'it said nothing'}"
        )

    def start(self) -> None:
        """Wait until it is ready.

        Raises:
            CannotDoError: it is not within a minute.
            RecorderError: it died.
        """
        began = time.monotonic()
        # Without blocking: the other end is opened only once the SDK is imported.
        self._answers = os.open(self._launched.control / "answers", os.O_RDONLY | os.O_NONBLOCK)
        self._requests = os.open(self._launched.control / "requests", os.O_RDWR)
        while not self._held:
            ready, _, _ = select.select([self._launched.fileno()], [], [], 0.02)
            if ready and not self._launched.hear():
                raise self._dead()
            self._held += _read(self._answers)
            if time.monotonic() - began > _START_SECONDS:
                raise CannotDoError(
                    f"importing the SDK took more than {_START_SECONDS} s",
                    hint="try again when less runs",
                )
        self._answer(_PATIENCE)
        self.started_seconds = time.monotonic() - began

    def close(self) -> None:
        """Let go of the server; the launch ends it."""
        for descriptor in (self._requests, self._answers):
            if descriptor >= 0:
                os.close(descriptor)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 2**16)
    except BlockingIOError:
        return b""


@contextmanager
def serving(
    environment: PreparedEnvironment,
    *,
    sdk: Sdk = DEFAULT,
    isolation: Choice,
    limits: Limits | None = None,
    imports: Sequence[str] = (),
    warm: bytes | None = None,
    variables: Mapping[str, str] | None = None,
) -> Iterator[ForkServer]:
    """A fork server in `environment`, with these modules imported beside the SDK and `warm` run once before.

    Raises:
        CannotDoError: the isolation cannot be applied, or did not pass its self-test.
        RecorderError: the recorder did not start.
    """
    limits = limits or Limits()
    with ExitStack() as stack:
        base = stack.enter_context(run_directory())
        beyond = stack.enter_context(sandbox.outside(base))
        root = base / "root"
        copy_reproduction({"warm.py": warm or b""}, root)
        launch = Launch(
            environment=environment,
            reproduction=Source(b"", entry="warm.py"),
            sdk=sdk,
            root=root,
            choice=isolation,
            beyond=beyond,
            limits=limits,
            base=base,
            archive=recorder_archive(),
            variables=variables or {},
        )
        served = {
            "serves": {
                "imports": [sdk.package, *imports],
                "warm": str(root / "warm.py") if warm is not None else None,
            }
        }

        def added(control: Path) -> Mapping[str, object]:
            for name in ("requests", "answers"):
                os.mkfifo(control / name, 0o666)
                (control / name).chmod(0o666)
            return served

        with launch:
            launched = launch.begin(("as-written",), added=added, beside=("runs",))
            server = ForkServer(launch, launched, limits)
            try:
                server.start()
                yield server
            finally:
                server.close()
                launched.stop("killed")
                while launched.hear():
                    pass
                launched.end()
            launch.check_held(launched)
