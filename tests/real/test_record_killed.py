"""The whole `record` command, ended at random moments: no half bundle, no process, nothing left behind.

Every round ends a recording of the committed case, in half of them with a second one beside it, and then
makes one to its end. The moments are spread over the wall time of a whole recording and come from a seed
that is printed: AGENTPROOF_TEST_SEED repeats a run, AGENTPROOF_TEST_KILLS says how many moments.
"""

import contextlib
import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentproof.bundle.store import read_bundle
from agentproof.models.manifest import Manifest
from agentproof.record.output import STORE_PYTHON

pytestmark = [pytest.mark.real, pytest.mark.slow]

if sys.platform != "linux":
    pytest.skip("what is left is looked for in Linux's /proc", allow_module_level=True)

ROOT = Path(__file__).parents[2]
CASE = ROOT / "bundles" / "sibling-approval"
_PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
VERSION = "0.20.0" if _PYTHON == STORE_PYTHON else f"0.20.0-{_PYTHON}"
ARCHIVE = f"sibling-approval-{VERSION}.agentproof.zip"
MEMORY = Path("/dev/shm")
MARK = "agentproof-tmp-"
SEED = os.environ.get("AGENTPROOF_TEST_SEED", "20261130")
PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Place:
    """A repository store, a cache, a configuration and a place for temporary files, all of one's own."""

    base: Path
    seconds: float = 0.0
    """The wall time of a whole recording."""
    evidence: set[str] = field(default_factory=set)
    processes: set[str] = field(default_factory=set)
    """The ids of all recordings so far, which the names of their directories hold."""

    @property
    def script(self) -> Path:
        return self.base / "bundles" / "sibling-approval" / "reproduction.py"

    def start(self, name: str) -> "subprocess.Popen[bytes]":
        """Start `agentproof record`, in a process group and working directory of its own."""
        directory = self.base / name
        directory.mkdir(exist_ok=True)
        variables = os.environ | {
            "AGENTPROOF_CACHE_DIR": str(self.base / "cache"),
            "AGENTPROOF_CONFIG_DIR": str(self.base / "config"),
            "TMPDIR": str(self.base / "tmp"),
            "PYTHONPATH": str(ROOT),
            "PYTHONFAULTHANDLER": "1",
        }
        command = [sys.executable, "-m", "agentproof", "record", str(self.script)]
        with (directory / "said").open("wb") as said:
            started = subprocess.Popen(
                [*command, "--replace", *self.place_for(name)],
                cwd=directory,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        self.processes.add(str(started.pid))
        return started

    def place_for(self, name: str) -> tuple[str, ...]:
        """The second recording goes elsewhere; the first into the repository store."""
        return ("--output", "beside.agentproof.zip") if name == "beside" else ()

    def record(self) -> None:
        """Record to the end, as somebody does who tries again."""
        with self.start("main") as recording:
            assert recording.wait(600) == 0, (self.base / "main" / "said").read_text()

    def whole(self) -> set[str]:
        """The bundles that have their final names; every one of them is whole."""
        found = set()
        for path in (self.script.parent / VERSION, *self.base.glob("*/*.agentproof.zip")):
            if path.exists():
                bundle = read_bundle(path)
                manifest = Manifest.from_bytes(bundle.manifest)
                for member in manifest.members:
                    if member.path in bundle.members:
                        assert len(bundle.members[member.path]) == member.size
                self.evidence.add(manifest.evidence_id)
                found.add(path.name)
        return found

    def left(self) -> list[str]:
        """What is there that no ended recording leaves on purpose."""
        found = [str(path) for path in (self.base / "tmp").iterdir()]
        # Others may be recording here too.
        found += [
            each
            for each in os.listdir(MEMORY)
            if each.startswith(MARK) and each.split("-")[-2] in self.processes
        ]
        found += [str(path) for path in self.base.rglob("*") if path.name.lstrip(".").startswith(MARK)]
        found += [str(path) for path in (self.base / "cache").rglob(".tmp*")]
        expected = {VERSION, *(path.name for path in CASE.iterdir())}
        found += [str(path) for path in self.script.parent.iterdir() if path.name not in expected]
        for name, archive in (("main", ARCHIVE), ("beside", "beside.agentproof.zip")):
            if (self.base / name).exists():
                found += [
                    str(path) for path in (self.base / name).iterdir() if path.name not in {"said", archive}
                ]
        return found


def descendants() -> set[int]:
    """All processes below this one: orphans come here (PR_SET_CHILD_SUBREAPER)."""
    found: set[int] = set()
    queue = [os.getpid()]
    while queue:
        process = queue.pop()
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{process}/task"):
                children = Path(f"/proc/{process}/task/{task}/children").read_text().split()
                queue += map(int, children)
                found |= set(map(int, children))
    return found


def orphans(known: set[int]) -> list[str]:
    """The command lines of living processes that nobody waits for any more."""
    found = []
    for process in descendants() - known:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process, os.WNOHANG)
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{process}/cmdline").read_bytes()
            if line:
                found.append(line.replace(b"\0", b" ").decode("utf-8", "replace")[:200])
    return found


def until_nothing_runs(known: set[int], seconds: float) -> list[str]:
    deadline = time.monotonic() + seconds
    while (running := orphans(known)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return running


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    base = tmp_path_factory.mktemp("killed")
    (base / "tmp").mkdir()
    shutil.copytree(CASE, base / "bundles" / "sibling-approval")
    # A shell starts what it runs in the background with Ctrl-C ignored, and that is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    made = Place(base)
    made.record()
    started = time.monotonic()
    made.record()
    made.seconds = time.monotonic() - started
    print(f"seed {SEED}; a whole recording takes {made.seconds:.1f} s")
    yield made
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0)


def test_a_recording_that_is_killed_at_any_moment_leaves_nothing_after_the_next(place: Place) -> None:
    moments = random.Random(f"kill {SEED}")  # noqa: S311  (moments, not secrets)
    rounds = int(os.environ.get("AGENTPROOF_TEST_KILLS", "50"))
    killed = 0
    while killed < rounds:
        known = descendants()
        victim, beside = place.start("main"), place.start("beside") if killed % 2 else None
        moment = moments.uniform(0, place.seconds * (2 if beside is not None else 1))
        with contextlib.suppress(subprocess.TimeoutExpired):
            victim.wait(moment)
        victim.kill()
        killed += victim.wait(10) == -signal.SIGKILL  # it may have ended before
        at = f"round {killed}, killed after {moment:.3f} s"
        place.whole()
        if beside is not None:
            assert beside.wait(600) == 0, (at, (place.base / "beside" / "said").read_text())
            assert "beside.agentproof.zip" in place.whole(), at
        assert until_nothing_runs(known, 10) == [], at
        place.record()
        assert place.whole() >= {VERSION, ARCHIVE}, at
        assert place.left() == [], at
        assert until_nothing_runs(known, 1) == [], at
        print(f"{at}{' beside another' if beside is not None else ''}: nothing left", flush=True)
    assert len(place.evidence) == 1


def ended_by_itself(victim: "subprocess.Popen[bytes]") -> int:
    """The exit code; one that hangs is made to say where (faulthandler)."""
    try:
        return victim.wait(30)
    except subprocess.TimeoutExpired:
        victim.send_signal(signal.SIGABRT)
        return victim.wait(30)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_recording_that_is_asked_to_end_ends_and_takes_everything_with_it(
    place: Place, number: signal.Signals
) -> None:
    moments = random.Random(f"{number} {SEED}")  # noqa: S311  (as above)
    ended = 0
    while ended < 10:
        known = descendants()
        victim = place.start("main")
        moment = moments.uniform(0, place.seconds)
        with contextlib.suppress(subprocess.TimeoutExpired):
            victim.wait(moment)
        # Ctrl-C goes to every process of the terminal's foreground group, SIGTERM to the one that is named.
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if number == signal.SIGINT else os.kill)(victim.pid, number)
        code = ended_by_itself(victim)
        at = f"after {moment:.3f} s, exit code {code}: {(place.base / 'main' / 'said').read_text()[-3000:]}"
        # Python itself ends so before our own first line.
        assert code in {0, 128 + number, -number}, at
        ended += code != 0
        assert until_nothing_runs(known, 10) == [], at
        assert place.left() == [], at
        assert "Traceback" not in at or code == -number, at
        place.whole()
        print(f"{number.name} after {moment:.3f} s: exit code {code}, nothing left", flush=True)
    place.record()
    assert place.left() == []
