"""Watch the processes of a run, hold them to their limits, end them."""

import contextlib
import os
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..models.trace import Mode
from .control import disk_use
from .levels import SelfTest
from .readback import Outcome, has_begun, has_ended

_TICK = 0.1
_STOP = b"k"


@dataclass(frozen=True)
class Limits:
    """What one run of the script may use."""

    seconds: float = 120
    """Wall time of one process, from its start."""
    memory_bytes: int = 4 * 2**30
    """Address space of each process, and twice as much resident memory for all together."""
    processes: int = 256
    """Processes and threads."""
    file_bytes: int = 64 * 2**20
    """Size of one file."""
    disk_bytes: int = 512 * 2**20
    """All files of one run."""
    output_bytes: int = 16 * 2**20
    """Size of stdout and of stderr; more ends the mode."""
    output_kept: int = 2**18
    """The beginning of each stream that a recording keeps."""
    descriptors: int = 4096
    """Open files of one process."""
    all_descriptors: int = 16384
    """Open files of all processes of one run together."""

    def resources(self, *, shared: int = 0) -> dict[str, int]:
        """As resource limits (getrlimit(2)); `shared` processes of the same user run already."""
        linux = {"RLIMIT_AS": self.memory_bytes, "RLIMIT_NPROC": self.processes + shared}
        return {
            # macOS maps more than it uses, and how many processes a user has is not to be had cheaply.
            **(linux if sys.platform == "linux" else {}),
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_NOFILE": self.descriptors,
            "RLIMIT_CORE": 0,
            "RLIMIT_STACK": 8 * 2**20,
            "RLIMIT_MEMLOCK": 2**16,
        }


@dataclass
class LaunchedProcess:
    """A launcher with the recorder's process below it."""

    process: "subprocess.Popen[bytes]"
    control: Path
    home: Path
    modes: tuple[Mode, ...]
    repeat: int
    seal: str = ""
    """The key that the recorder was given, in hexadecimal."""
    died: dict[Mode, Outcome] = field(default_factory=dict)
    """The modes that were ended from here, and why."""
    is_split: bool = False
    """True once another process has been started for the modes after the first."""
    _said: bytearray = field(default_factory=bytearray)
    _started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.monotonic() - self._started

    def fileno(self) -> int:
        """The launcher's report; it ends when nothing of the run is left."""
        if self.process.stdout is None:
            raise RuntimeError("the launcher was started without pipes")
        return self.process.stdout.fileno()

    def hear(self) -> bool:
        """Take what the launcher says; False at its end."""
        piece = os.read(self.fileno(), 65536)
        self._said += piece
        return bool(piece)

    def report(self) -> SelfTest:
        """What the launcher said."""
        return SelfTest.parse(bytes(self._said))

    def mark(self, outcome: Outcome) -> None:
        """Every mode that has not ended by itself is ended from here, whatever it says about itself."""
        for mode in self.modes[:1] if self.is_split else self.modes:
            if not has_ended(self.control, mode) or _processes_of(self, mode):
                self.died.setdefault(mode, outcome)

    def stop(self, outcome: Outcome) -> None:
        """Ask the launcher to end everything below it."""
        self.mark(outcome)
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                os.write(self.process.stdin.fileno(), _STOP)

    def end(self) -> None:
        """End everything below the launcher, and wait until that is done. Can be called twice."""
        stdin, stdout = self.process.stdin, self.process.stdout
        if self.process.poll() is None and stdin is not None:
            with contextlib.suppress(OSError):
                os.write(stdin.fileno(), _STOP)
        self.process.wait()
        for stream in (stdin, stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def watch(
    launched: Iterable[LaunchedProcess],
    *,
    limits: Limits,
    progress: Callable[[str], None],
    split: Callable[[LaunchedProcess], LaunchedProcess],
) -> None:
    """Wait until every launcher has reported, holding each to the limits.

    `split` starts another process for one whose recorder could not fork; it is waited for as well.
    """
    told = 0
    running = list(launched)
    undivided = [each for each in running if len(each.modes) > 1]
    while running:
        ready = _ready(running)
        running = [each for each in running if each.fileno() not in ready or each.hear()]
        # One that has just ended is looked at too: it may have said in the end that it did not fork.
        for each in [each for each in undivided if os.path.lexists(each.control / "unforked.json")]:
            undivided.remove(each)
            each.is_split = True
            other = split(each)
            running.append(other)
            undivided += [other] if len(other.modes) > 1 else []
        for each in running:
            _hold(each, limits)
        longest = int(max((each.seconds for each in running), default=0))
        if longest > told:
            told = longest
            progress(f"running the script ({told} s)")


def _ready(running: list[LaunchedProcess]) -> set[int]:
    if hasattr(select, "poll"):
        poll = select.poll()
        for each in running:
            poll.register(each.fileno(), select.POLLIN)
        return {descriptor for descriptor, _ in poll.poll(_TICK * 1000)}
    time.sleep(_TICK)  # Windows polls no pipes
    return {each.fileno() for each in running if each.process.poll() is not None}


def _hold(launched: LaunchedProcess, limits: Limits) -> None:
    """End what is over a limit."""
    if launched.seconds > limits.seconds:
        launched.stop("timed_out")
        return
    for mode in launched.modes:
        for stream in ("stdout", "stderr"):
            if (
                mode not in launched.died
                and _size(launched.control / f"{mode}.{stream}") > limits.output_bytes
            ):
                _end_mode(launched, mode, "too_much_output")
    for stream in ("stdout", "stderr"):
        if _size(launched.control / f"start.{stream}") > limits.output_bytes:
            launched.stop("too_much_output")
    resident = {process: _resident(process) for process in _below(launched.process.pid)}
    removed, descriptors = _held_open(resident, most=limits.all_descriptors)
    if descriptors > limits.all_descriptors:
        launched.stop("killed")  # what lies in pipes and sockets is counted nowhere else
    if removed + disk_use(launched.home, limit=limits.disk_bytes) > limits.disk_bytes:
        launched.stop("too_much_output")
    if len(resident) > limits.processes:
        # RLIMIT_NPROC comes first, but binds nobody who is the host's uid 0.
        launched.stop("killed")
    if sum(resident.values()) > 2 * limits.memory_bytes:
        largest = max(resident, key=resident.__getitem__)
        for mode in launched.modes:
            if largest in _processes_of(launched, mode):
                _end_mode(launched, mode, "out_of_memory")
                return
        launched.stop("out_of_memory")


def _held_open(processes: Iterable[int], *, most: int) -> tuple[int, int]:
    """Bytes of files that have no name any more, and open descriptors; no further than `most` of these."""
    removed: dict[tuple[int, int], int] = {}
    count = 0
    for process in processes:
        try:
            opened = os.listdir(f"/proc/{process}/fd")
        except OSError:
            continue  # it is gone
        for descriptor in opened:
            count += 1
            if count > most:
                return sum(removed.values()), count
            with contextlib.suppress(OSError):
                status = os.stat(f"/proc/{process}/fd/{descriptor}")
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    removed[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(removed.values()), count


def _end_mode(launched: LaunchedProcess, mode: Mode, outcome: Outcome) -> None:
    """End the processes of one mode; the other one goes on. All of them where they cannot be told apart."""
    processes = _processes_of(launched, mode)
    launched.died.setdefault(mode, outcome)
    if not processes:
        launched.stop(outcome)
    for process in processes:
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)


def _processes_of(launched: LaunchedProcess, mode: Mode) -> list[int]:
    """The processes whose stdout or stderr is the file of `mode`."""
    files = set()
    # The process that forked the modes writes where the first one does, and waits for all of them.
    parents = _parent_of_modes(launched) if len(launched.modes) > 1 else ()
    for stream in ("stdout", "stderr"):
        with contextlib.suppress(OSError):
            status = os.stat(launched.control / f"{mode}.{stream}", follow_symlinks=False)
            files.add((status.st_dev, status.st_ino))
    found = []
    for process in _below(launched.process.pid):
        for descriptor in (1, 2) if process not in parents else ():
            with contextlib.suppress(OSError):
                status = os.stat(f"/proc/{process}/fd/{descriptor}")
                if (status.st_dev, status.st_ino) in files:
                    found.append(process)
                    break
    return found


def _parent_of_modes(launched: LaunchedProcess) -> tuple[int, ...]:
    """The recorder's first process, once it has forked: init's eldest child."""
    if not any(has_begun(launched.control, mode) for mode in launched.modes[1:]):
        return ()
    for init in _children(launched.process.pid):
        return tuple(_children(init)[:1])
    return ()


def _below(process: int) -> Iterator[int]:
    """All processes below `process`; none where there is no Linux /proc."""
    queue = [process]
    while queue:
        children = _children(queue.pop())
        queue += children
        yield from children


def _children(process: int) -> list[int]:
    """The children of a process, eldest first."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{process}/task"):
            found += map(int, Path(f"/proc/{process}/task/{task}/children").read_text("ascii").split())
    return found


def _resident(process: int) -> int:
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
