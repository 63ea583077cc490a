"""Run a reproduction under the recorder, several times, and bring back what it wrote.

Rules:
1. A repeat is one process (two when the recorder could not fork), each under its own launcher. Repeats
   run side by side, or one after the other where the processors have other recordings to work on; what
   comes back is the same, and each has the whole time to itself.
2. A child gets an environment built from nothing, data by file, no standard input, bounded time,
   memory, processes, files and output.
3. Whatever happens here (an exception, Ctrl-C, a signal, kill -9), every process of a run is ended
   and its directory removed: by this module, by the launcher, or by the next run.
4. The self-test of each launch must have passed before anything that it recorded is believed.
"""

import contextlib
import hashlib
import io
import json
import os
import secrets
import socket
import sys
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol

from ..errors import CannotDoError, RecorderError
from ..live.providers import Endpoint, placeholder
from ..models.manifest import Isolation
from ..models.trace import Mode
from ..sdk import DEFAULT, Sdk
from . import sandbox
from .control import copy_data, copy_reproduction, end_processes, run_directory
from .levels import Choice
from .readback import RawRecording, StreamBytes, captured, has_begun, read_mode, unforked
from .supervision import LaunchedProcess, Limits, watch
from .watching import FileWatch, ran_unobserved

if TYPE_CHECKING:
    # The relay brings asyncio, TLS and X.509, and is there only where a provider is answered for.
    from ..live.relay import Answering, Relay

MODES: Final[tuple[Mode, ...]] = ("as-written", "streamed")
_RECORDER = Path(__file__).parents[1] / "_recorder"
_LOCATOR = Path(__file__).parents[1] / "_locator"


class PreparedEnvironment(Protocol):
    """The part of `environment.venv.PreparedEnvironment` that a run needs."""

    @property
    def python(self) -> Path: ...
    @property
    def prefix(self) -> Path: ...
    @property
    def site_packages(self) -> Path: ...
    @property
    def pycache_prefix(self) -> Path: ...


class Script(Protocol):
    """The part of a reproduction that a run needs."""

    @property
    def entry(self) -> str: ...
    @property
    def files(self) -> Mapping[str, bytes]: ...
    @property
    def arguments(self) -> tuple[str, ...]: ...
    @property
    def tests(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Provider:
    """The hosts that a script may talk to, which somebody on this side answers for."""

    endpoints: tuple[Endpoint, ...]
    answering: Callable[[Mode], "Answering"]
    """Who answers one mode of one repeat; each has its own."""


@dataclass(frozen=True)
class Observation:
    """All repeats of a recording."""

    repeats: tuple[dict[Mode, RawRecording], ...]
    isolation: Isolation
    recorder_sha256: str
    is_blind: bool = False
    """Other programs than Python were started, and what they read could not be watched."""
    answered: "tuple[Mapping[Mode, Answering], ...]" = ()
    """Who answered each mode of each repeat, where there was a provider."""


@cache
def recorder_archive() -> bytes:
    """The recorder as one zipapp: stored, sorted, with fixed times, so that its SHA-256 names its content."""
    return _archive(_sources(_RECORDER))


def locating_archive(wanted: object) -> bytes:
    """The recorder with the probe of `explain` beside it, which is asked for `wanted` (JSON)."""
    locator = _sources(_LOCATOR)
    question = f"import json\n\nWANTED = json.loads({json.dumps(wanted, sort_keys=True)!r})\n"
    beside = {f"locator/{name}": data for name, data in locator.items() if name != "__main__.py"}
    start = {"__main__.py": locator["__main__.py"], "locator/wanted.py": question.encode()}
    return _archive({**_sources(_RECORDER), **beside, **start})


def _sources(folder: Path) -> dict[str, bytes]:
    # Line ends as in the repository, also where git checked out others.
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().replace(b"\r\n", b"\n")
        for path in folder.rglob("*.py")
        if path.is_file()
    }


def _archive(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            member.create_system = 3
            member.external_attr = 0o100644 << 16
            archive.writestr(member, files[name])
    return buffer.getvalue()


def run_recordings(
    environment: PreparedEnvironment,
    reproduction: Script,
    *,
    sdk: Sdk = DEFAULT,
    isolation: Choice,
    limits: Limits | None = None,
    repeats: int = 2,
    side_by_side: bool = True,
    variables: Mapping[str, str] | None = None,
    modes: Sequence[Mode] = MODES,
    progress: Callable[[str], None] = lambda _: None,
    recorder: bytes | None = None,
    provider: Provider | None = None,
) -> Observation:
    """Run the script `repeats` times, each in all `modes`, with these environment `variables` beside our own.

    With a `provider`, which needs level `namespace`, each mode is a process in a namespace of its own.

    A mode is absent from a repeat where the script ended before it imported the SDK: then there is
    nothing to stream, and only the first of `modes` is there.

    Raises:
        CannotDoError: the isolation cannot be applied, or did not pass its self-test.
        RecorderError: the recorder did not start, or left what it does not write.
    """
    limits = limits or Limits()
    archive = recorder if recorder is not None else recorder_archive()
    with run_directory() as base, sandbox.outside(base) as beyond:
        root = base / "root"
        copy_reproduction(reproduction.files, root)
        launch = Launch(
            environment=environment,
            reproduction=reproduction,
            sdk=sdk,
            root=root,
            choice=isolation,
            beyond=beyond,
            limits=limits,
            base=base,
            archive=archive,
            variables=variables or {},
            provider=provider,
        )
        with launch, FileWatch(reproduction.files) as launch.opened:
            launch.opened.add(root, writable=False)
            for count in [repeats] if side_by_side else [1] * repeats:
                begun = [each for _ in range(count) for each in launch.begin_repeat(tuple(modes))]
                watch(begun, limits=limits, progress=progress, split=launch.begin_rest)
            opened = launch.opened.opened()
        repeats_seen = list(launch.read_back())
        other_programs = any(ran_unobserved(raw.events) for seen in repeats_seen for raw in seen.values())
        return Observation(
            repeats=tuple(_with_opened(seen, opened or ()) for seen in repeats_seen),
            is_blind=opened is None and other_programs and len(reproduction.files) > 1,
            isolation=isolation.recorded(user=launch.user_word),
            recorder_sha256=hashlib.sha256(archive).hexdigest(),
            answered=tuple(launch.answered[number] for number in sorted(launch.answered)),
        )


def _with_opened(repeat: dict[Mode, RawRecording], opened: Iterable[str]) -> dict[Mode, RawRecording]:
    """Where other programs ran, the files that anybody opened are the reproduction's."""
    return {
        mode: replace(raw, files=tuple(sorted({*raw.files, *opened}))) if ran_unobserved(raw.events) else raw
        for mode, raw in repeat.items()
    }


@dataclass
class Launch:
    """The processes of one run; leaving the block ends them all."""

    environment: PreparedEnvironment
    reproduction: Script
    sdk: Sdk
    root: Path
    choice: Choice
    beyond: sandbox.ProbeTargets
    limits: Limits
    base: Path
    archive: bytes
    variables: Mapping[str, str]
    provider: Provider | None = None
    answered: "dict[int, dict[Mode, Answering]]" = field(default_factory=dict)
    """By the number of the repeat."""
    opened: FileWatch = field(default_factory=lambda: FileWatch(()))
    launched: list[LaunchedProcess] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        prefix = self.environment.prefix
        self._python = sandbox.interpreter(prefix)
        self._readable = (
            self.root,
            self.environment.python,
            prefix,
            self.environment.site_packages,
            self.environment.pycache_prefix,
            *self._python.trees,
        )
        private = sandbox.closed_to_others(
            (
                self.environment.python,
                prefix,
                self.environment.site_packages,
                self.environment.pycache_prefix,
                *self._python.trees,
            ),
            ancestors=self.choice.level != "namespace",
        )
        if self.provider is not None:
            from ..live.authority import Authority  # noqa: PLC0415

            self._authority = Authority.create()
            (self.base / _AUTHORITY).write_bytes(self._authority.pem)
            (self.base / _AUTHORITY).chmod(0o444)
        self._drops = sandbox.free_id() is not None and private is None
        self.user_word: Literal["dropped", "own"] = "dropped" if self._drops else "own"

    def __enter__(self) -> "Launch":
        self._stack.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        if any(each.process.returncode for each in self.launched):
            # A launcher that was killed took its init with it, but nobody waited for the rest.
            end_processes(str(self.base))

    def begin_repeat(self, modes: tuple[Mode, ...]) -> list[LaunchedProcess]:
        """Start the processes of one repeat: one, or with a provider one a mode."""
        if self.provider is None:
            return [self.begin(modes)]
        first = self.begin(modes[:1])
        return [first, *(self.begin((mode,), repeat=first.repeat) for mode in modes[1:])]

    def begin(
        self,
        modes: tuple[Mode, ...],
        repeat: int | None = None,
        *,
        added: Callable[[Path], Mapping[str, object]] = lambda _: {},
        beside: Sequence[str] = (),
    ) -> LaunchedProcess:
        """Start one process of the recorder for `modes`.

        `added` gives what its plan has besides, from its control directory, which is there by then;
        `beside` are more folders of its own that it may write to.
        """
        number = len(self.launched) + 1
        home = self.base / str(number)
        control = home / "control"
        user = sandbox.free_id(offset=number) if self._drops else None
        work = {mode: home / "work" / mode for mode in modes}
        private = (control, *work.values(), home / "home", home / "tmp", *(home / each for each in beside))
        for directory in private:
            directory.mkdir(parents=True, mode=0o711)
            directory.chmod(0o700)
        (control / "recorder.pyz").write_bytes(self.archive)
        document = {**self.plan(self.root, control, work), **added(control)}
        (control / "plan.json").write_text(json.dumps(document), encoding="utf-8")
        seal = secrets.token_hex(32)
        (control / "seal.key").write_text(seal, encoding="ascii")
        for name in ("recorder.pyz", "plan.json", "seal.key"):
            (control / name).chmod(0o444)
        if user is not None:
            for directory in private:
                os.chown(directory, user, user)
        for directory in work.values() if not self.reproduction.tests else ():
            copy_data(self.reproduction.files, directory, user=user)
            self.opened.add(directory, writable=True)
        connected = self._connect(modes[0], number if repeat is None else repeat)
        plan = sandbox.launch_plan(
            self.choice.level,
            base=self.base,
            command=self._command(control),
            environment=self._variables(home),
            directory=work[modes[0]],
            streams=(control / "start.stdout", control / "start.stderr"),
            readable=self._readable,
            writable=private,
            limits=self.limits.resources(shared=_shared_user_processes(self.choice, user)),
            user=user,
            beyond=self.beyond,
            user_namespace=self.choice.user_namespace,
            provided=connected.provided if connected is not None else None,
        )
        process = sandbox.start(plan)
        if connected is not None:
            connected.attach()
        launched = LaunchedProcess(
            process=process,
            control=control,
            home=home,
            modes=modes,
            repeat=number if repeat is None else repeat,
            seal=seal,
        )
        self.launched.append(launched)
        self._stack.callback(launched.end)
        return launched

    def _connect(self, mode: Mode, repeat: int) -> "_Connection | None":
        """What answers this process in the provider's place; it ends with the run."""
        if self.provider is None:
            return None
        from ..live.relay import Relay  # noqa: PLC0415

        answering = self.provider.answering(mode)
        self.answered.setdefault(repeat, {})[mode] = answering
        connected = _Connection(
            Relay(self.provider.endpoints, self._authority, answering),
            self.provider.endpoints,
            authority=self.base / _AUTHORITY,
            replaced=[self.environment.site_packages / each for each in _CERTIFICATES_IN_PACKAGES],
        )
        self._stack.callback(connected.close)
        return connected

    def begin_rest(self, launched: LaunchedProcess) -> LaunchedProcess:
        """Start another process for the modes that the recorder could not fork."""
        return self.begin(launched.modes[1:], repeat=launched.repeat)

    def plan(self, root: Path, control: Path, work: Mapping[Mode, Path]) -> dict[str, object]:
        """What the recorder is asked for: the script below `root`, in a mode for each directory of `work`."""
        return {
            "control": str(control),
            "root": str(root),
            "entry": self.reproduction.entry,
            "arguments": list(self.reproduction.arguments),
            "tests": list(self.reproduction.tests),
            "modes": list(work),
            "work": {mode: str(path) for mode, path in work.items()},
            "distribution": self.sdk.distribution,
            "package": self.sdk.package,
            "adapter": self.sdk.adapter,
            "site_packages": str(self.environment.site_packages),
            "network": self.choice.level,
            "names": [each.host for each in self.provider.endpoints] if self.provider is not None else [],
            "seeded": self.provider is not None,
        }

    def _command(self, control: Path) -> tuple[str, ...]:
        # -P came with Python 3.11; before, a zipapp puts only itself on the path just as well.
        safe_path = ("-P",) if self._python.minor >= (3, 11) else ()
        return (
            str(self.environment.python),
            *safe_path,
            "-s",
            "-X",
            f"pycache_prefix={self.environment.pycache_prefix}",
            str(control / "recorder.pyz"),
            str(control / "plan.json"),
        )

    def _variables(self, home: Path) -> dict[str, str]:
        variables = {
            "PATH": os.pathsep.join(
                (str(self.environment.python.parent), "/usr/local/bin", "/usr/bin", "/bin")
            ),
            "HOME": str(home / "home"),
            "TMPDIR": str(home / "tmp"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONHASHSEED": "0",
        }
        if sys.platform == "win32":
            # CPython does not start without it (bpo-20614).
            variables["SYSTEMROOT"] = os.environ.get("SYSTEMROOT", r"C:\Windows")
        return {**self.variables, **self._keys(), **variables}

    def _keys(self) -> dict[str, str]:
        """What the script is given in the place of keys; and the certificates, for what reads no file of them
        (Node) or another one than those that are replaced."""
        if self.provider is None:
            return {}
        variables = {each.variable for each in self.provider.endpoints if each.variable is not None}
        given = {variable: placeholder(variable) for variable in variables}
        return {**given, "SSL_CERT_FILE": sandbox.AUTHORITY, "NODE_EXTRA_CA_CERTS": sandbox.AUTHORITY}

    def read_back(self) -> Iterator[dict[Mode, RawRecording]]:
        """The repeats, in order, after every process has ended.

        Raises:
            CannotDoError: the isolation was not what was chosen.
            RecorderError: the recorder did not start, or left what it does not write.
        """
        for launched in self.launched:
            self.check_held(launched)
            for directory in (self.base, launched.home, launched.control):
                # A script that runs as this very user may have shut them.
                with contextlib.suppress(OSError):
                    os.chmod(directory, 0o700)
        for repeat in sorted({launched.repeat for launched in self.launched}):
            found: dict[Mode, RawRecording] = {}
            for launched in self.launched:
                if launched.repeat == repeat:
                    found.update(self._read(launched))
            yield found

    def check_held(self, launched: LaunchedProcess) -> None:
        """Require that the launcher, which has ended, held in what ran below it.

        Raises:
            CannotDoError: it did not.
        """
        report = launched.report()
        wrong = report.held(self.choice.level)
        if wrong is None and report.landlock < self.choice.landlock:
            wrong = "Landlock was not applied"
        if wrong is not None:
            raise CannotDoError(
                f"the script was not run: isolation {self.choice.level}: {wrong}", hint="`agentproof doctor`"
            )

    def _read(self, launched: LaunchedProcess) -> Iterator[tuple[Mode, RawRecording]]:
        first = launched.modes[0]
        why = unforked(launched.control)
        if not has_begun(launched.control, first) and not launched.died:
            said = captured(launched.control, "start.stderr", kept=2**16, most=2**16).data
            raise RecorderError(
                f"the recorder did not start (exit code {launched.report().exit_code}): "
                f"{said.decode('utf-8', 'replace').strip()[-1000:] or 'it said nothing'}"
            )
        for mode in launched.modes:
            if mode != first and not has_begun(launched.control, mode):
                continue
            yield (
                mode,
                read_mode(
                    launched.control,
                    mode,
                    died=launched.died.get(mode),
                    kept=self.limits.output_kept,
                    most=self.limits.output_bytes,
                    why_unforked=why,
                    paths=self.paths(
                        launched, root=self.root, control=launched.control, work=launched.home / "work" / mode
                    ),
                    seal=launched.seal,
                ),
            )

    def paths(self, launched: LaunchedProcess, *, root: Path, control: Path, work: Path) -> dict[str, str]:
        """The tokens that stand for this run's paths."""
        tokens = {
            root: "<script>",
            control: "<control>",
            work / "tmp": "<tmp>",
            work: "<work>",
            launched.home / "home": "<home>",
            launched.home / "tmp": "<tmp>",
            self.environment.site_packages: "<site-packages>",
            self.environment.prefix: "<venv>",
            self.environment.pycache_prefix: "<pycache>",
            self._python.prefix: "<python>",
        }
        paths = {str(path): token for path, token in tokens.items()}
        return paths | {os.path.realpath(path): token for path, token in paths.items()}


class _Connection:
    """The relay of one process, and the certificates that make it the hosts which it answers for."""

    def __init__(
        self, relay: "Relay", endpoints: Sequence[Endpoint], *, authority: Path, replaced: Sequence[Path]
    ) -> None:
        self._mine, self._theirs = socket.socketpair()
        self._relay = relay
        self._places = tuple(dict.fromkeys((each.host, each.port) for each in endpoints))
        self.provided = sandbox.Provided(
            places=self._places,
            authority=authority,
            handed_to=self._theirs.fileno(),
            replaced=replaced,
        )

    def attach(self) -> None:
        """Wait for the listening sockets, beside what else is done, and serve them."""
        self._theirs.close()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # it was closed: the launcher has failed, and says so itself
            _, received, _, _ = socket.recv_fds(self._mine, 1, len(self._places))
            sockets = [socket.socket(fileno=each) for each in received]
            if len(sockets) == len(self._places):
                self._relay.serve(dict(zip(self._places, sockets, strict=True)))

    def close(self) -> None:
        """Answer nobody any more."""
        for each in (self._mine, self._theirs):
            each.close()
        self._relay.close()


_AUTHORITY = "authority.pem"
_CERTIFICATES_IN_PACKAGES = (
    "certifi/cacert.pem",
    "pip/_vendor/certifi/cacert.pem",
    "botocore/cacert.pem",
    "httplib2/cacerts.txt",
)


def _shared_user_processes(choice: Choice, user: int | None) -> int:
    """Processes that count against the script's RLIMIT_NPROC though they are not its own.

    A user namespace and a uid of its own start from zero; otherwise all threads of this user count.
    """
    if choice.level == "namespace" or user is not None or not os.path.isdir("/proc/self"):
        return 0
    count = 0
    uid = os.geteuid()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == uid:
                    count += len(os.listdir(f"/proc/{name}/task"))
    return count


__all__ = [
    "MODES",
    "Limits",
    "Observation",
    "RawRecording",
    "StreamBytes",
    "recorder_archive",
    "run_recordings",
]
