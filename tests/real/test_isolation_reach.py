"""A hundred ways past the sandbox (`tests/scripts/hostile/reach.py`), at each level, as each kind of user.

What the victims look like afterwards counts, not only what the script says of itself.
"""

import contextlib
import ctypes
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from agentproof.isolation import runner, sandbox
from agentproof.isolation.levels import Choice
from agentproof.isolation.sandbox import Level
from tests.sandboxed import SCRIPTS, Environment, choice, make_environment, probed, run_script, said

pytestmark = pytest.mark.real

if sys.platform != "linux":
    pytest.skip("isolation is Linux's", allow_module_level=True)

ROOT = Path(__file__).parents[2]
REACH = (SCRIPTS / "hostile" / "reach.py").read_text("utf-8")
LEVELS: list[Level] = ["namespace", "seccomp"]
ALLOWED: dict[Level, set[str]] = {
    # A network namespace has abstract names of its own; the launcher's first process there is seen.
    "namespace": {"bind an abstract name that the host sees", "numbers of the launcher's descriptors"},
    # /proc is the host's.
    "seccomp": {
        "command line of another process",
        "numbers of another's descriptors",
        "numbers of the launcher's descriptors",
    },
}
OF_ONES_OWN_FILES = {"change a mode", "change times"}
"""At `seccomp`, where the script is the files' owner: Landlock does not handle these calls."""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return make_environment(tmp_path_factory.mktemp("environment"))


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[dict[str, object]]:
    """A process, sockets, a file and System V objects of the test's own."""
    for each in (tmp_path, *tmp_path.parents):
        if each.name.startswith("pytest-"):
            each.chmod(0o755)
    folder = tmp_path / "outside"
    folder.mkdir()
    folder.chmod(0o777)
    secret = folder / "secret"
    secret.write_text("SECRET")
    secret.chmod(0o644)
    os.utime(secret, (10**9, 10**9))
    with contextlib.suppress(OSError):
        os.setxattr(secret, "user.secret", b"SECRET")
    libc = ctypes.CDLL(None, use_errno=True)
    shm, queue = libc.shmget(0, 4096, 0o1666), libc.msgget(0, 0o1666)
    libc.msgsnd(queue, (1).to_bytes(8, "little") + b"SECRET\0\0", 8, 0)
    name = f"agentproof-test-{os.getpid()}-{time.monotonic_ns()}"
    with contextlib.ExitStack() as stack:
        receivers = []
        for address in (str(folder / "socket"), f"\0{name}"):
            receiver = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            receiver.bind(address)
            receiver.settimeout(0.05)
            receivers.append(receiver)
        (folder / "socket").chmod(0o777)
        victim = stack.enter_context(subprocess.Popen(["/bin/sleep", "300"], start_new_session=True))
        stack.callback(victim.kill)
        before = look_at(victim.pid)
        given: dict[str, object] = {
            "process": victim.pid,
            "path": str(folder / "socket"),
            "abstract": name,
            "file": str(secret),
            "folder": str(folder),
            "shm": shm,
            "queue": queue,
        }
        yield given
        if given["process"] is None:
            return
        assert look_at(victim.pid) == before
        assert victim.poll() is None
        for receiver in receivers:
            with pytest.raises(TimeoutError):
                receiver.recv(100)
        assert secret.read_text() == "SECRET"
        assert not [each for each in os.listdir(folder) if each not in {"secret", "socket"}]
        if libc.shmctl:
            libc.shmctl(shm, 0, None)
            libc.msgctl(queue, 0, None)


def look_at(process: int) -> list[object]:
    """All that one process could change about another."""
    status = Path(f"/proc/{process}/status").read_text()
    masks = [line for line in status.splitlines() if line.startswith("Cpus_allowed:")]
    limits = [resource.prlimit(process, kind) for kind in (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE)]
    about = [os.getpriority(os.PRIO_PROCESS, process), os.sched_getscheduler(process), limits, masks]
    about += [Path(f"/proc/{process}/{name}").read_text() for name in ("oom_score_adj", "coredump_filter")]
    return about


def run_reach(
    environment: Environment, directory: Path, held: Choice, given: dict[str, object]
) -> tuple[dict[str, list[str]], runner.Observation]:
    run = run_script(REACH, environment, directory, isolation=held, arguments=(json.dumps(given),))
    assert run.repeats[0]["as-written"].outcome == "ended", said(run)
    found: dict[str, list[str]] = json.loads(said(run))
    return found, run


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_and_nobody_outside_is_reached(
    environment: Environment, tmp_path: Path, outside: dict[str, object], level: Level
) -> None:
    if probed(level).files == "none":
        pytest.skip("this machine holds no files in")
    found, run = run_reach(environment, tmp_path / "case", choice(level), outside)
    if where := os.environ.get("AGENTPROOF_TEST_TABLE"):
        Path(where, f"{level}-{run.isolation.user}-{os.geteuid()}.json").write_text(
            json.dumps(found, indent=1)
        )
    allowed = set(ALLOWED[level])
    if level == "seccomp" and run.isolation.user == "own":
        allowed |= OF_ONES_OWN_FILES
    reached = {name for name, (how, _) in found.items() if how == "done" and not name.startswith("own: ")}
    assert reached <= allowed, {name: found[name] for name in reached - allowed}
    own = {name: told for name, told in found.items() if name.startswith("own: ")}
    assert {name for name, (how, _) in own.items() if how != "done"} == set(), own
    assert len(found) - len(own) >= 90


def test_the_attempts_are_sound_without_a_level_they_get_through(
    environment: Environment, tmp_path: Path, outside: dict[str, object]
) -> None:
    found, _ = run_reach(environment, tmp_path / "case", choice("audit-hook"), outside)
    outside["process"] = None  # and so the victim is not what it was
    through = {name for name, (how, _) in found.items() if how == "done"}
    assert {
        "flock on a host file",
        "memfd",
        "System V memory",
        "inotify",
        "list extended attributes",
    } <= through


def test_the_page_names_every_attempt_and_what_gets_through() -> None:
    page = (ROOT / "docs/security/isolation.md").read_text("utf-8").partition("## Attempts")[2]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line[:2] == "| "
    ]
    told = {name: dict(zip(LEVELS, cells, strict=True)) for name, *cells in rows if name != "attempt"}
    attempts = {name for name in re.findall(r'attempt\("([^"]+)"\)', REACH) if not name.startswith("own: ")}
    assert told.keys() == attempts
    for level in LEVELS:
        through = {name for name, row in told.items() if row[level] == "**done**"}
        limits = OF_ONES_OWN_FILES if level == "seccomp" else set()
        assert through <= ALLOWED[level] | limits
        assert limits <= through


TALK = """
import fcntl, os, sys, time
shared = [open("/usr/bin/env", "rb"), open(os.__file__, "rb"), open(__file__, "rb"), open("/dev/null", "r+b")]
heard = []
for stream in shared:
    for how in (
        lambda: fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB),
        lambda: fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB),
    ):
        try:
            how()
            heard.append("mine")
        except OSError as error:
            heard.append(type(error).__name__)
time.sleep(1.5)  # the other repeat is alive as well
print(heard)
"""


@pytest.mark.parametrize("level", LEVELS)
def test_repeats_hear_nothing_of_each_other_by_locks(
    environment: Environment, tmp_path: Path, level: Level
) -> None:
    run = run_script(TALK, environment, tmp_path / "case", isolation=choice(level), repeats=2)
    first, second = (repeat["as-written"].stdout.data for repeat in run.repeats)
    assert first == second
    assert b"BlockingIOError" not in first


def test_a_script_of_two_processes_can_still_exclude_itself(environment: Environment, tmp_path: Path) -> None:
    source = """
import fcntl, os, sqlite3
lock = open("lock", "w")
fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
if os.fork() == 0:
    try:
        fcntl.lockf(open("lock", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        print(type(error).__name__, flush=True)
    os._exit(0)
os.wait()
base = sqlite3.connect("base.db", isolation_level=None)
base.execute("create table t(x)")
base.execute("begin exclusive")
if os.fork() == 0:
    try:
        sqlite3.connect("base.db", timeout=0).execute("insert into t values(1)")
    except sqlite3.OperationalError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""
    for level in LEVELS:
        run = run_script(source, environment, tmp_path / level, isolation=choice(level))
        assert said(run).splitlines() == ["BlockingIOError", "database is locked"]


OLD_KERNEL = """
import json, os, signal, subprocess, sys
done = {}
victim = int(sys.argv[1])
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
for name, function in {
    "kill": lambda: os.kill(victim, signal.SIGTERM),
    "kill its group": lambda: os.killpg(victim, signal.SIGTERM),
    "watch": lambda: os.pidfd_open(victim),
    "own child": lambda: os.kill(child.pid, 0),
    "own child's group": lambda: os.killpg(child.pid, 0),
    "oneself": lambda: os.kill(os.getpid(), 0),
    "own group": lambda: os.kill(0, 0),
    "end of a child": lambda: (child.kill(), child.wait()),
}.items():
    try:
        done[name] = repr(function())
    except OSError as error:
        done[name] = type(error).__name__
print(json.dumps(done))
"""


def test_before_the_kernel_scoped_signals_the_supervisor_knows_whom_they_are_for(
    environment: Environment, tmp_path: Path, outside: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux 6.8, as far as Landlock's scopes go: the launcher asks for none, and takes them for missing."""

    def older() -> tuple[tuple[str, CodeType], ...]:
        modules = []
        for name, _ in newer:
            path = ROOT / Path(*name.split(".")).with_suffix(".py")
            source = path.read_text("utf-8")
            changed = source.replace('"QQQ", handled, network, 3)', '"QQQ", handled, network, 0)')
            changed = changed.replace("_SCOPES_SIGNALS = 6", "_SCOPES_SIGNALS = 99")
            modules.append((name, compile(changed, str(path), "exec")))
            aged.update({name} if changed != source else ())
        return tuple(modules)

    aged: set[str] = set()
    newer = sandbox._launcher_code()
    monkeypatch.setattr(sandbox, "_launcher_code", older)
    process = str(outside["process"])
    run = run_script(OLD_KERNEL, environment, tmp_path, isolation=choice("seccomp"), arguments=(process,))
    found = json.loads(said(run))
    assert aged == {"agentproof.isolation.confine", "agentproof.isolation.launcher"}
    assert [found[name] for name in ("kill", "kill its group", "watch")] == ["PermissionError"] * 3
    own = ("own child", "own child's group", "oneself", "own group", "end of a child")
    assert "PermissionError" not in [found[name] for name in own], found


# ---- the same as other users

ORDINARY = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"]
ROOTED = [sys.executable, str(ROOT / "tests" / "rooted.py")]
NESTED = "AGENTPROOF_TEST_NESTED"


@pytest.mark.parametrize("prefix", [ORDINARY, ROOTED], ids=["ordinary", "root without user namespaces"])
def test_the_same_as_another_user(prefix: list[str]) -> None:
    """Somebody who is not root, with all that is theirs in reach; root that cannot make user namespaces."""
    if os.environ.get(NESTED) or not sandbox.is_root() or shutil.which("unshare") is None:
        pytest.skip("only root becomes somebody else here, once")
    if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no such user can be made here")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(
        [*prefix, *command, "-k", "outside_is_reached or repeats_hear or scoped_signals"],
        cwd=ROOT,
        env={**os.environ, NESTED: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 3
