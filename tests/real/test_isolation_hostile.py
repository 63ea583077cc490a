"""Hostile scripts, at each level that works here: what they reach, and what is left afterwards.

Every attempt to connect goes to a listener on loopback, or to a socket file, that the test made.
"""

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentproof.errors import RecorderError
from agentproof.isolation import control, runner, sandbox
from agentproof.isolation.levels import Choice
from agentproof.isolation.sandbox import Level
from tests.sandboxed import Environment, choice, make_environment, probed, run_script, said

pytestmark = pytest.mark.real

if sys.platform != "linux":
    pytest.skip("isolation is Linux's", allow_module_level=True)

HELD: list[Level] = ["namespace", "seccomp"]

ATTEMPT = """
import ctypes, errno, json, os, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
done = {}

def attempt(name, function, *arguments):
    try:
        done[name] = ["done", repr(function(*arguments))[:200]]
    except BaseException as error:
        done[name] = ["refused", f"{type(error).__name__}: {error}"]

def call(*arguments):
    if libc.syscall(*arguments) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""
TELL = "\nprint(json.dumps(done))\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return make_environment(tmp_path_factory.mktemp("environment"))


@pytest.fixture(params=HELD)
def held(request: pytest.FixtureRequest) -> Choice:
    """Each level that this machine has."""
    return choice(request.param)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory of the test's own that everybody can read and write."""
    for each in (tmp_path, *tmp_path.parents):
        if each.name.startswith("pytest-"):
            each.chmod(0o755)
    directory = tmp_path / "outside"
    directory.mkdir()
    directory.chmod(0o777)
    (directory / "id_ed25519").write_text("PRIVATE KEY")
    (directory / "id_ed25519").chmod(0o666)
    return directory


def attempts(source: str, environment: Environment, directory: Path, held: Choice) -> dict[str, list[str]]:
    """What became of each attempt that a script made."""
    run = run_script(ATTEMPT + source + TELL, environment, directory, isolation=held)
    assert run.repeats[0]["as-written"].outcome == "ended", said(run)
    found: dict[str, list[str]] = json.loads(run.repeats[0]["as-written"].stdout.data)
    return found


def refused(found: dict[str, list[str]]) -> set[str]:
    return {name for name, (how, _) in found.items() if how == "refused"}


# ---- the network


@dataclass
class Listener:
    """Sockets of the test's own, and what they received."""

    tcp: int
    udp: int
    path: Path
    abstract: str
    received: list[str]
    may_be_reached: bool = False


@pytest.fixture
def listener(outside: Path) -> Iterator[Listener]:
    received: list[str] = []
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        named = stack.enter_context(socket.socket(socket.AF_UNIX))
        named.bind(str(outside / "socket"))
        (outside / "socket").chmod(0o777)
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        name = f"agentproof-test-{os.getpid()}-{time.monotonic_ns()}"
        abstract.bind(f"\0{name}")
        for each in (named, abstract):
            each.listen()
        found = Listener(tcp.getsockname()[1], udp.getsockname()[1], outside / "socket", name, received)
        yield found
        if found.may_be_reached:
            return
        for each, kind in ((tcp, "tcp"), (named, "named"), (abstract, "abstract"), (udp, "udp")):
            each.settimeout(0.02)
            with contextlib.suppress(TimeoutError):
                while True:
                    if kind == "udp":
                        each.recv(100)
                    else:
                        each.accept()[0].close()
                    received.append(kind)
        assert received == []


CONNECT = """
import struct
tcp, udp, path, name = {tcp}, {udp}, {path!r}, {abstract!r}

def by_tcp(): socket.create_connection(("127.0.0.1", tcp), timeout=3)
def by_udp():
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect(("127.0.0.1", udp))
    sender.send(b"x")
    sender.send(b"x")  # the second one hears that nobody was there
def by_unix(where):
    sender = socket.socket(socket.AF_UNIX)
    sender.connect(where)
def by_ctypes():
    made = libc.socket(2, 1, 0)
    if made < 0: raise OSError(ctypes.get_errno(), "socket")
    address = struct.pack("=HH4s8x", 2, socket.htons(tcp), socket.inet_aton("127.0.0.1"))
    if libc.connect(made, address, len(address)): raise OSError(ctypes.get_errno(), "connect")
def by_python():
    text = f"import socket; socket.create_connection(('127.0.0.1', {{tcp}}), timeout=3)"
    subprocess.run([sys.executable, "-c", text], check=True, capture_output=True)
def by_shell():
    command = f"echo x > /dev/tcp/127.0.0.1/{{tcp}}"
    subprocess.run(["/bin/bash", "-c", command], check=True, capture_output=True)
def by_ipv6(): socket.create_connection(("::1", tcp), timeout=3)
def by_mapped(): socket.create_connection(("::ffff:127.0.0.1", tcp), timeout=3)
def by_fast_open():
    sender = socket.socket()
    sender.sendto(b"x", 0x20000000, ("127.0.0.1", tcp))

for function in (by_tcp, by_udp, by_ctypes, by_python, by_shell, by_ipv6, by_mapped, by_fast_open):
    attempt(function.__name__, function)
attempt("by_path", by_unix, path)
attempt("by_abstract", by_unix, chr(0) + name)
attempt("by_packet", socket.socket, 17, 3, 0)
attempt("by_vsock", socket.socket, 40, 1, 0)
attempt("by_raw", socket.socket, 2, 3, 1)
attempt("by_io_uring", call, 425, 8, 0)
"""


def test_nothing_outside_can_be_reached(
    environment: Environment, tmp_path: Path, held: Choice, listener: Listener
) -> None:
    source = CONNECT.format(
        tcp=listener.tcp, udp=listener.udp, path=str(listener.path), abstract=listener.abstract
    )
    found = attempts(source, environment, tmp_path / "case", held)
    assert refused(found) == found.keys(), found


def test_the_attempts_are_sound_without_a_level_they_get_through(
    environment: Environment, tmp_path: Path, listener: Listener
) -> None:
    listener.may_be_reached = True
    source = CONNECT.format(
        tcp=listener.tcp, udp=listener.udp, path=str(listener.path), abstract=listener.abstract
    )
    # Landlock is still there: it refuses TCP from Linux 6.7, and abstract sockets from 6.12.
    found = attempts(source, environment, tmp_path / "case", choice("audit-hook"))
    assert {"by_udp", "by_path"} <= found.keys() - refused(found), found


def test_loopback_is_the_scripts_own_in_a_namespace_and_nobodys_below(
    environment: Environment, tmp_path: Path, held: Choice
) -> None:
    source = """
def loop():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            client.sendall(b"hello")
            assert server.accept()[0].recv(5) == b"hello"
attempt("loop", loop)
attempt("pair", socket.socketpair)
"""
    found = attempts(source, environment, tmp_path / "case", held)
    assert found["loop"][0] == ("done" if held.level == "namespace" else "refused"), found
    assert found["pair"][0] == "done"


# ---- files


def test_what_the_script_was_not_given_can_be_neither_read_nor_written(
    environment: Environment, tmp_path: Path, held: Choice, outside: Path
) -> None:
    if probed(held.level).files == "none":
        pytest.skip("this machine holds no files in")
    source = f"""
outside = {str(outside)!r}
attempt("key", lambda: open(outside + "/id_ed25519").read())
attempt("list", os.listdir, outside)
attempt("append", lambda: open(outside + "/id_ed25519", "a"))
attempt("new", lambda: open(outside + "/planted", "w"))
attempt("remove", os.unlink, outside + "/id_ed25519")
attempt("link", os.link, outside + "/id_ed25519", "linked")
attempt("move", os.rename, outside + "/id_ed25519", "moved")
attempt("by link", lambda: (os.symlink(outside, "away"), open("away/id_ed25519")))
attempt("by descriptor", lambda: open("/proc/self/root" + outside + "/id_ed25519"))
attempt("by parent", lambda: open(f"/proc/{{os.getppid()}}/root" + outside + "/id_ed25519"))
attempt("by child", lambda: subprocess.check_output(["/bin/cat", outside + "/id_ed25519"]))
attempt("shadow", lambda: open("/etc/shadow").read())
attempt("home", os.listdir, {os.path.expanduser("~/.ssh")!r})
attempt("script", lambda: open(__file__, "a"))
attempt("beside script", lambda: open(os.path.dirname(__file__) + "/planted.py", "w"))
attempt("site-packages", lambda: open({str(environment.site_packages / "planted.pth")!r}, "w"))
attempt("bytecode", lambda: open({str(environment.pycache_prefix / "planted.pyc")!r}, "w"))
attempt("python", lambda: open(os.__file__, "a"))
attempt("usr", lambda: open("/usr/bin/planted", "w"))
attempt("sysctl", lambda: open("/proc/sys/kernel/core_pattern", "w"))
attempt("device", os.mknod, "device", 0o660 | 0o020000, 0x0101)
"""
    found = attempts(source, environment, tmp_path / "case", held)
    assert refused(found) == found.keys(), found
    assert [each.name for each in outside.iterdir()] == ["id_ed25519"]
    assert (outside / "id_ed25519").read_text() == "PRIVATE KEY"


def test_the_hosts_environment_cannot_be_found(
    environment: Environment, tmp_path: Path, held: Choice, monkeypatch: pytest.MonkeyPatch
) -> None:
    if probed(held.level).files == "none":
        pytest.skip("this machine holds no files in")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-host")
    source = """
seen = 0
for name in os.listdir("/proc"):
    for file in ("environ", "mem", "maps"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/{file}", "rb") as stream:
                    seen += bool(stream.read(1))  # a kernel thread's is empty
            except OSError:
                pass
done["others"] = ["done", str(seen)]
done["own"] = ["done", str("sk-of-the-host" in open("/proc/self/environ").read())]
"""
    found = attempts(source, environment, tmp_path / "case", held)
    assert found == {"others": ["done", "0"], "own": ["done", "False"]}


# ---- privileges


def test_the_script_has_no_privilege_and_no_way_to_one(
    environment: Environment, tmp_path: Path, held: Choice
) -> None:
    source = """
status = dict(line.rstrip("\\n").split(":", 1) for line in open("/proc/self/status"))
for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs", "Seccomp"):
    done[name] = ["done", status[name].strip()]
done["descriptors"] = ["done", ",".join(sorted(os.listdir("/proc/self/fd"), key=int)[:3])]
attempt("user namespace", call, 272, 0x10000000)
attempt("ptrace", call, 101, 16, os.getppid(), 0, 0)
attempt("read memory", call, 310, os.getppid(), 0, 0, 0, 0, 0)
attempt("keyring", call, 250, 0, -3, 1)
attempt("mount", call, 165, b"none", b"/", b"tmpfs", 0, 0)
attempt("chroot", os.chroot, ".")
"""
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers of the calls are x86-64's")
    found = attempts(source, environment, tmp_path / "case", held)
    assert {found[name][1] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    assert found["NoNewPrivs"][1] == "1"
    assert found["Seccomp"][1] == "2"
    assert refused(found) == {"user namespace", "ptrace", "read memory", "keyring", "mount", "chroot"}


def test_as_root_the_script_is_somebody_else(environment: Environment, tmp_path: Path, held: Choice) -> None:
    if os.geteuid() != 0:
        pytest.skip("these tests are not run as root")
    run = run_script("import os\nprint(os.getuid(), os.getgroups())", environment, tmp_path, isolation=held)
    if run.isolation.user == "dropped":
        assert said(run).split()[0] != "0"
        assert said(run).split(maxsplit=1)[1] in {"[]\n", f"[{said(run).split()[0]}]\n"}
    else:
        # Python lies where another user cannot reach it; uid 0 is then left without capabilities.
        assert held.level == "seccomp" or sandbox.free_id() is None


# ---- processes


def processes_of(mark: str) -> list[str]:
    """The processes that have `mark` in their command."""
    found = []
    for each in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if each.name.isdigit() and mark.encode() in (each / "cmdline").read_bytes():
                found.append(each.name)
    return found


def test_killing_everybody_ends_nothing_but_the_script(
    environment: Environment, tmp_path: Path, held: Choice
) -> None:
    source = """
import os, signal
print("begun", flush=True)
parent = os.getppid()
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    for target in (parent, -parent, 1):
        try:
            os.kill(target, number)
        except OSError:
            pass
print("parent tried", os.getppid() == parent, flush=True)
"""
    bystander = threading.Event()  # this very process, and its threads, are what must survive
    run = run_script(source, environment, tmp_path, isolation=held)
    assert said(run) == "begun\nparent tried True\n"
    assert run.repeats[0]["as-written"].outcome == "ended"
    bystander.set()


def test_a_daemon_does_not_outlive_the_run(
    environment: Environment, tmp_path: Path, held: Choice, outside: Path
) -> None:
    mark = f"{os.getpid()}864{HELD.index(held.level)}"
    source = f"""
import os, subprocess, sys, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            subprocess.Popen(["/bin/sleep", "{mark}"], start_new_session=True)
            os.execv("/bin/sleep", ["sleep", "{mark}"])
        os._exit(0)
time.sleep(0.3)
"""
    run = run_script(source, environment, tmp_path / "case", isolation=held)
    assert run.repeats[0]["as-written"].outcome == "ended"
    assert processes_of(mark) == []


def test_a_fork_bomb_is_bounded_and_ends_with_the_run(
    environment: Environment, tmp_path: Path, held: Choice
) -> None:
    source = """
import os, time
print("begun", flush=True)
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
"""
    most = 0
    over = threading.Event()

    def count() -> None:
        nonlocal most
        while not over.wait(0.1):
            most = max(most, len(processes_of(f"agentproof-tmp-run-{os.getpid()}-")))

    counter = threading.Thread(target=count)
    counter.start()
    try:
        limits = runner.Limits(seconds=5, processes=40)  # with the interpreter's start
        run = run_script(source, environment, tmp_path, isolation=held, limits=limits)
    finally:
        over.set()
        counter.join()
    assert run.repeats[0]["as-written"].outcome in {"timed_out", "killed"}
    # Where the script is the host's uid 0 the bound is enforced by looking, 10 times a second.
    assert 2 < most < (60 if run.isolation.user == "dropped" or os.geteuid() != 0 else 5000)
    assert processes_of(f"agentproof-tmp-run-{os.getpid()}-") == []


# ---- resources


def test_ten_gigabytes_are_not_to_be_had(environment: Environment, tmp_path: Path, held: Choice) -> None:
    source = "bytearray(10 * 2**30)"
    run = run_script(source, environment, tmp_path, isolation=held)
    assert run.repeats[0]["as-written"].exit_code == 1
    assert "MemoryError" in said(run)


def test_memory_taken_by_many_processes_is_bounded_too(
    environment: Environment, tmp_path: Path, held: Choice
) -> None:
    source = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = bytearray(os.urandom(1)) * (100 * 2**20)
        time.sleep(60)
time.sleep(60)
"""
    limits = runner.Limits(seconds=30, memory_bytes=200 * 2**20)
    run = run_script(source, environment, tmp_path, isolation=held, limits=limits)
    assert run.repeats[0]["as-written"].outcome == "out_of_memory"


def test_a_file_without_end_is_bounded(environment: Environment, tmp_path: Path, held: Choice) -> None:
    source = "import os\nwith open('large', 'wb') as f:\n  while True: f.write(bytes(2**20))"
    limits = runner.Limits(seconds=30, file_bytes=8 * 2**20)
    run = run_script(source, environment, tmp_path, isolation=held, limits=limits)
    assert "File too large" in said(run)


def test_files_without_end_are_bounded(environment: Environment, tmp_path: Path, held: Choice) -> None:
    source = """
import time
number = 0
while True:
    with open(str(number := number + 1), "wb") as stream:
        stream.write(bytes(2**20))
"""
    limits = runner.Limits(seconds=30, disk_bytes=32 * 2**20)
    run = run_script(source, environment, tmp_path, isolation=held, limits=limits)
    assert run.repeats[0]["as-written"].outcome == "too_much_output"


def test_files_that_have_no_name_any_more_are_counted(
    environment: Environment, tmp_path: Path, held: Choice
) -> None:
    source = """
import os, time
kept = []
for number in range(64):
    kept.append(open("removed", "wb"))
    os.unlink("removed")
    kept[-1].write(bytes(2**20))
    kept[-1].flush()
time.sleep(60)
"""
    limits = runner.Limits(seconds=30, disk_bytes=32 * 2**20)
    run = run_script(source, environment, tmp_path, isolation=held, limits=limits)
    assert run.repeats[0]["as-written"].outcome == "too_much_output"


def test_open_files_of_many_processes_are_counted_together(
    environment: Environment, tmp_path: Path, held: Choice
) -> None:
    source = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        kept = [os.pipe() for _ in range(60)]
        time.sleep(60)
time.sleep(60)
"""
    limits = runner.Limits(seconds=30, all_descriptors=300)
    run = run_script(source, environment, tmp_path, isolation=held, limits=limits)
    assert run.repeats[0]["as-written"].outcome == "killed"


def test_memory_of_nobody_is_not_to_be_had(environment: Environment, tmp_path: Path, held: Choice) -> None:
    """System V segments and files in memory outlive whoever made them."""
    source = """
attempt("segment", lambda: libc.shmget(0, 1 << 30, 0o1600) >= 0 or 1 / 0)
attempt("semaphores", lambda: libc.semget(0, 100, 0o1600) >= 0 or 1 / 0)
attempt("queue", lambda: libc.msgget(0, 0o1600) >= 0 or 1 / 0)
attempt("file", os.memfd_create, "x")
"""
    found = attempts(source, environment, tmp_path / "case", held)
    assert refused(found) == found.keys(), found


def test_a_script_that_ignores_every_signal_is_ended(
    environment: Environment, tmp_path: Path, held: Choice
) -> None:
    source = """
import signal, time
for number in range(1, signal.NSIG):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
print("deaf", flush=True)
while True:
    time.sleep(1)
"""
    run = run_script(source, environment, tmp_path, isolation=held, limits=runner.Limits(seconds=1))
    assert run.repeats[0]["as-written"].outcome == "timed_out"


# ---- the recorder's files

FORGE = """
import json, os, sys, time
control = os.path.dirname(os.readlink("/proc/self/fd/1"))
events = control + "/as-written.jsonl"
"""


@pytest.mark.parametrize(
    ("deed", "said_of_it"),
    [
        ("open(events, 'a').write('forged\\n')", r"as-written\.jsonl:2"),
        (
            "open(events, 'a').write(open(events).read())",
            r"as-written\.jsonl:2: .*not after the line before it",
        ),
        ("os.unlink(events); os.symlink('/etc/passwd', events)", r"as-written\.jsonl"),
        ("os.unlink(events); os.mkfifo(events)", r"as-written\.jsonl"),
        ("os.unlink(control + '/as-written.stdout'); os.mkdir(control + '/as-written.stdout')", "stdout"),
        ("open(control + '/as-written.end.json', 'w').write('{}'); os._exit(0)", "it has no code"),
        ("open(control + '/unforked.json', 'w').write('[]')", r"unforked\.json"),
        (
            "os.chmod(events, 0)\nfor name in os.listdir(control): os.unlink(control + '/' + name)",
            "did not start",
        ),
    ],
)
def test_a_forgery_that_can_be_seen_is_named(
    environment: Environment, tmp_path: Path, deed: str, said_of_it: str
) -> None:
    source = FORGE + deed + "\nos._exit(0)\n"
    with pytest.raises(RecorderError, match=said_of_it):
        run_script(source, environment, tmp_path)


def test_a_script_that_shuts_the_runs_directories_changes_nothing(
    environment: Environment, tmp_path: Path, held: Choice
) -> None:
    source = (
        FORGE + "base = os.path.dirname(os.path.dirname(control))\n"
        "for each in (control, os.path.dirname(control), base):\n"
        "    try: os.chmod(each, 0)\n"
        "    except OSError: pass\n"
        "time.sleep(0.2)\nos._exit(0)\n"
    )
    run = run_script(source, environment, tmp_path, isolation=held)
    assert run.repeats[0]["as-written"].outcome == "killed"
    assert not list(control._places()[0].glob(f"agentproof-tmp-run-{os.getpid()}-*"))


def test_a_forged_last_word_does_not_make_an_endless_run_end(
    environment: Environment, tmp_path: Path
) -> None:
    source = FORGE + "open(control + '/as-written.end.json', 'w').write('{}')\ntime.sleep(600)"
    run = run_script(source, environment, tmp_path, limits=runner.Limits(seconds=1.5))
    assert run.repeats[0]["as-written"].outcome == "timed_out"


def test_what_a_script_leaves_behind_is_removed_and_links_are_not_followed(
    environment: Environment, tmp_path: Path, held: Choice, outside: Path
) -> None:
    source = f"""
import os
for _ in range(200):
    os.mkdir("deep")
    os.chdir("deep")
os.symlink({str(outside)!r}, "link")
os.chdir(os.environ["HOME"])
os.mkdir("shut")
open("shut/file", "w").close()
os.chmod("shut", 0)
print(os.environ["HOME"])
"""
    run = run_script(source, environment, tmp_path / "case", isolation=held)
    base = Path(said(run).strip()).parents[1]
    assert base.name.startswith("agentproof-tmp-run-")
    assert not base.exists()
    assert (outside / "id_ed25519").exists()
