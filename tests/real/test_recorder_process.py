"""The process that a script gets is the one that `python script.py` gives it."""

import os
from pathlib import Path

import pytest

from tests.unit.recorder.driver import bare, record

pytestmark = pytest.mark.real

PYENV = Path.home() / ".pyenv" / "versions"


def _pythons() -> list[Path]:
    found = [next(iter(sorted(PYENV.glob(f"3.{minor}.*/bin/python"))), None) for minor in (10, 11, 12, 13)]
    return [path for path in found if path is not None]


PYTHONS = _pythons()

ENDINGS = {
    "falls off the end": "print('done')",
    "exits with a number": "import sys\nprint('x')\nsys.exit(7)",
    "exits with a text": "import sys\nsys.exit('stop here')",
    "raises": "def inner():\n    raise ValueError('no')\n\ndef outer():\n    inner()\n\nouter()\n",
    "raises from another": (
        "try:\n    {}['k']\nexcept KeyError as error:\n    raise RuntimeError('wrapped') from error\n"
    ),
    "fails an assertion": "assert 1 == 2, 'one is not two'\n",
    "has a syntax error": "print('never')\nx = = 1\n",
    "clean-up": (
        "import atexit, threading, time\n"
        "atexit.register(print, 'at exit')\n"
        "def late():\n    time.sleep(0.05)\n    print('thread')\n"
        "threading.Thread(target=late).start()\n"
        "class Last:\n    def __del__(self):\n        print('deleted')\n"
        "last = Last()\nprint('main')\n"
    ),
    "looks around": (
        "import os, sys\n"
        "print(sys.argv[1:], __name__, __spec__, __package__, sys.path[0] == os.path.dirname(__file__))\n"
        "print(os.path.basename(sys.argv[0]), os.path.basename(__file__), sys.stdin.read() == '')\n"
        "print(os.open(os.devnull, os.O_RDONLY), sorted(os.listdir('.')))\n"
        "import __main__\nprint(__main__.__dict__ is globals())\n"
    ),
    "closes everything": "import os\nos.closerange(3, 4096)\nprint('still here')\n",
    "prints a traceback": (
        "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    print(traceback.format_exc())\n"
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_script_prints_and_ends_as_it_does_by_itself(name: str, tmp_path: Path) -> None:
    script = tmp_path / "root" / "script.py"
    script.parent.mkdir()
    script.write_text(ENDINGS[name])
    expected = bare(script, tmp_path, arguments=("a", "b"))
    (recorded,) = record(script, tmp_path, arguments=("a", "b")).values()
    assert recorded.stream("stdout") == expected.stdout
    assert recorded.stream("stderr") == expected.stderr
    assert recorded.exit_code == expected.exit_code
    (ended,) = recorded.of("script.ended")
    assert ended["outcome"] == ("raised" if b"Traceback" in expected.stderr or "syntax" in name else "exited")
    assert recorded.of("recorder.failed") == []


CLEANING = """
import agents, atexit, weakref
atexit.register(print, "at exit")
class Last:
    def __init__(self, name):
        self.name = name
    def __del__(self):
        print("deleted", self.name)
alone = Last("alone")
round_ = Last("in a circle")
round_.itself = round_
gone = Last("a circle that nobody has")
gone.itself = gone
del gone
agents.kept = Last("kept by the SDK")
weakref.finalize(alone, print, "finalized")
print("main")
"""


def test_a_script_that_imports_the_sdk_is_cleaned_up_in_every_mode(tmp_path: Path) -> None:
    script = tmp_path / "root" / "script.py"
    script.parent.mkdir()
    script.write_text(CLEANING)
    (script.parent / "agents.py").write_text("import json\n")
    expected = bare(script, tmp_path)
    assert expected.stdout.count(b"\n") == 7
    for mode in record(script, tmp_path, modes=("as-written", "streamed")).values():
        assert sorted(mode.stream("stdout").splitlines()) == sorted(expected.stdout.splitlines())


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[-3])
def test_every_python_that_a_recording_may_use_runs_the_recorder(python: Path, tmp_path: Path) -> None:
    script = tmp_path / "root" / "script.py"
    script.parent.mkdir()
    script.write_text("def f():\n    raise ValueError('no')\n\nprint('x')\nf()\n")
    expected = bare(script, tmp_path, python=python)
    (recorded,) = record(script, tmp_path, python=python).values()
    assert (recorded.stream("stdout"), recorded.stream("stderr")) == (expected.stdout, expected.stderr)
    (ended,) = recorded.of("script.ended")
    assert ended["error"]["type"] == "builtins:ValueError"
    assert [frame["function"] for frame in ended["frames"]] == ["<module>", "f"]
    assert recorded.of("recorder.failed") == []


def test_a_script_without_the_sdk_ends_as_written_only(tmp_path: Path) -> None:
    script = tmp_path / "root" / "script.py"
    script.parent.mkdir()
    script.write_text("print('x')")
    recorded = record(script, tmp_path, modes=("as-written", "streamed"))
    assert list(recorded) == ["as-written"]
    assert recorded["as-written"].end["loaded"] == []


def test_only_files_that_were_opened_or_imported_are_the_reproductions(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "data").mkdir(parents=True)
    (root / "helper.py").write_text("X = 1\n")
    (root / "unused.py").write_text("X = 2\n")
    (root / "data" / "rows.json").write_text("[]")
    (root / "data" / "other.json").write_text("[]")
    script = root / "script.py"
    script.write_text(
        "import helper, json, pathlib\n"
        "here = pathlib.Path(__file__).parent\n"
        "json.loads((here / 'data' / 'rows.json').read_text())\n"
        "sorted(here.iterdir())\n"
    )
    (recorded,) = record(script, tmp_path).values()
    assert recorded.end["files"] == ["data/rows.json", "helper.py", "script.py"]


CHILD = """
import json, os, subprocess, sys
if len(sys.argv) > 1:
    print("child", sys.argv[1:], __name__)
    sys.exit(3)
done = subprocess.run([sys.executable, __file__, "--child"], capture_output=True, text=True)
print(done.returncode, done.stdout, done.stderr)
for rest in (["-c", "import sys; print(sys.argv, __name__, repr(sys.path[0]))", "a"],
             ["-m", "helper", "b"], ["-X", "utf8", "-B", "-c", "print(1)"]):
    done = subprocess.run([sys.executable, *rest], capture_output=True, text=True,
                          cwd=os.path.dirname(__file__))
    print(done.returncode, done.stdout, done.stderr)
print(subprocess.run(["echo", "other"], capture_output=True, text=True).stdout)
print(os.system("exit 2") >> 8)
sys.stdout.flush()
if os.fork() == 0:
    print("forked", flush=True)
    os._exit(0)
os.wait()
"""


def test_a_child_of_the_same_python_is_recorded_and_others_are_named(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "helper.py").write_text("import sys\nprint('helper', sys.argv[1:], __name__)\n")
    script = root / "script.py"
    script.write_text(CHILD)
    expected = bare(script, tmp_path)
    (recorded,) = record(script, tmp_path).values()
    assert recorded.stream("stdout") == expected.stdout
    assert recorded.stream("stderr") == expected.stderr
    assert recorded.of("recorder.failed") == []
    started = [
        (os.path.basename(event["program"].split()[0]).startswith("python"), event["observed"])
        for event in recorded.of("process.started")
    ]
    assert started == [(True, True)] * 4 + [(False, False)] * 2 + [(False, True)]
    assert [event["code"] for event in recorded.of("process.ended")] == [3, 0, 0, 0, 0]
    assert recorded.end["files"] == ["helper.py", "script.py"]
    names = {event["n"]: event for event in recorded.events}
    for event in recorded.events:
        assert all(name in names for name in event["after"])
    first = next(event for event in recorded.events if event["n"] == "1:1")
    assert names[first["after"][0]]["kind"] == "process.started"
    second = [event for event in recorded.of("process.started") if event["observed"]][1]
    assert any(name.startswith("1:") for name in second["after"])


REACHING = """
import socket, urllib.request
server = None
def attempt(what, call):
    try:
        call()
    except OSError as error:
        print(what, type(error).__name__, error.errno)
    else:
        print(what, "ok")
attempt("name", lambda: socket.getaddrinfo("example.invalid", 80))
attempt("literal", lambda: socket.getaddrinfo("127.0.0.1", 80))
attempt("loopback", lambda: socket.create_server(("127.0.0.1", 0)).close())
pair = socket.socketpair()
pair[0].send(b"x")
attempt("unix", lambda: pair[1].recv(1))
attempt("url", lambda: urllib.request.urlopen("http://example.invalid/"))
"""


@pytest.mark.parametrize(("network", "loopback"), [("namespace", "ok"), ("audit-hook", "OSError 101")])
def test_what_the_script_tries_to_reach_is_refused_and_named(
    network: str, loopback: str, tmp_path: Path
) -> None:
    """No packet can leave: the addresses are names that are never resolved, and loopback."""
    script = tmp_path / "root" / "script.py"
    script.parent.mkdir()
    script.write_text(REACHING)
    (recorded,) = record(script, tmp_path, network=network).values()
    assert recorded.stream("stdout").decode().splitlines() == [
        "name gaierror -3",
        "literal ok",
        f"loopback {loopback}",
        "unix ok",
        "url URLError None",
    ]
    refused = [(event["operation"], event["loopback"]) for event in recorded.of("network.refused")]
    bind = [] if network == "namespace" else [("socket.bind", True)]
    assert refused == [("socket.getaddrinfo", False), *bind, ("socket.getaddrinfo", False)]


def test_the_archive_that_the_runner_packs_runs_by_itself(tmp_path: Path) -> None:
    """The zipapp is flat; its modules must not be in the way of a script's own `events` or `values`."""
    from agentproof.isolation.runner import recorder_archive  # noqa: PLC0415  # the one test that needs the host

    (tmp_path / "recorder.pyz").write_bytes(recorder_archive())
    root = tmp_path / "root"
    root.mkdir()
    (root / "events.py").write_text("NAME = 'mine'\n")
    script = root / "script.py"
    script.write_text("import events\nfrom agentproof import probe\n"
                      "print(events.NAME, probe.check('x', 1), probe.observe('y', {2}))\n")  # fmt: skip
    (recorded,) = record(script, tmp_path, recorder=tmp_path / "recorder.pyz").values()
    assert recorded.stream("stdout") == b"mine True {2}\n"
    assert [event["passed"] for event in recorded.of("probe.checked")] == [True]
    (observed,) = recorded.of("probe.observed")
    assert observed["value"] == {"$object": "builtins:set", "fields": {"items": [2]}}
    assert observed["frame"] == {"file": "script.py", "line": 3, "function": "<module>"}


def test_a_script_that_leaves_at_once_still_has_its_last_word(tmp_path: Path) -> None:
    script = tmp_path / "root" / "script.py"
    script.parent.mkdir()
    script.write_text("import os\nprint('lost in the buffer')\nos._exit(5)\n")
    expected = bare(script, tmp_path)
    (recorded,) = record(script, tmp_path).values()
    assert (recorded.stream("stdout"), recorded.exit_code) == (expected.stdout, 5)
    assert [(event["outcome"], event["code"]) for event in recorded.of("script.ended")] == [("exited", 5)]
    assert recorded.end["files"] == ["script.py"]


TESTS = """
import pytest
from helper import LIMIT

@pytest.mark.parametrize("number", [1, 2, 3])
def test_small(number, three):
    print("number", number)
    assert number != 2 and LIMIT == three

@pytest.mark.skip
def test_skipped():
    raise AssertionError

@pytest.fixture
def broken():
    raise RuntimeError("no")

def test_with_a_broken_fixture(broken):
    pass

@pytest.fixture
def closing():
    yield
    raise RuntimeError("late")

def test_with_a_broken_end(closing):
    pass
"""


def test_tests_are_run_by_node_id_each_with_its_outcome(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "conftest.py").write_text("import pytest\n\n@pytest.fixture\ndef three():\n    return 3\n")
    (root / "helper.py").write_text("LIMIT = 3\n")
    (root / "test_one.py").write_text(TESTS)
    names = [
        "test_one.py::test_small",
        "test_one.py::test_skipped",
        "test_one.py::test_with_a_broken_fixture",
        "test_one.py::test_with_a_broken_end",
    ]
    (recorded,) = record(root / "test_one.py", tmp_path, tests=names).values()
    outcomes = [(event["test"].partition("::")[2], event["outcome"]) for event in recorded.of("test.ended")]
    assert outcomes == [
        ("test_small[1]", "passed"),
        ("test_small[2]", "failed"),
        ("test_small[3]", "passed"),
        ("test_skipped", "skipped"),
        ("test_with_a_broken_fixture", "error"),
        ("test_with_a_broken_end", "error"),
    ]
    failed = recorded.of("test.ended")[1]
    assert failed["error"]["type"] == "builtins:AssertionError"
    assert [frame["function"] for frame in failed["frames"]] == ["test_small"]
    assert failed["raised_in"] == "own"
    assert recorded.stream("stdout") == b"number 1\nnumber 2\nnumber 3\n"
    assert recorded.end["files"] == ["conftest.py", "helper.py", "test_one.py"]
    assert recorded.of("script.ended")[0]["code"] == 1
    assert recorded.of("recorder.failed") == []
    assert sorted(path.name for path in root.iterdir()) == ["conftest.py", "helper.py", "test_one.py"]


ALARM = """
import signal, time
from agentproof import probe

class Timeout(Exception):
    pass

def ring(number, frame):
    raise Timeout("the script's own")

signal.signal(signal.SIGALRM, ring)
print(signal.getsignal(signal.SIGALRM) is ring)
signal.setitimer(signal.ITIMER_REAL, 0.3)
big = [{"a": [i] * 50} for i in range(2000)]
ends = time.monotonic() + 30
try:
    while time.monotonic() < ends:
        probe.observe("big", big)
    print("never timed out")
except Timeout as error:
    print("timed out:", error)
"""


def test_a_timeout_of_the_scripts_own_reaches_it_from_inside_of_the_recorder(tmp_path: Path) -> None:
    script = tmp_path / "root" / "script.py"
    script.parent.mkdir()
    script.write_text(ALARM)
    (recorded,) = record(script, tmp_path).values()
    assert recorded.stream("stdout").decode() == "True\ntimed out: the script's own\n"
    assert recorded.of("recorder.failed") == []
    assert recorded.exit_code == 0


MOCKS = """
from unittest.mock import Mock
from agentproof import probe
for kind in (dict, str, int, list, set, Exception):
    probe.observe("mock", Mock(spec=kind))
probe.check(Mock(spec=str), Mock())
print("done")
"""


def test_a_mock_that_claims_to_be_a_dict_does_not_break_the_script(tmp_path: Path) -> None:
    script = tmp_path / "root" / "script.py"
    script.parent.mkdir()
    script.write_text(MOCKS)
    (recorded,) = record(script, tmp_path).values()
    assert (recorded.stream("stdout"), recorded.stream("stderr")) == (b"done\n", b"")
    assert recorded.of("recorder.failed") == []
    values = [event["value"] for event in recorded.of("probe.observed")]
    assert values == [{"$opaque": "unittest.mock:Mock"}] * 6


KINDS_OF_CHILDREN = """
import os, subprocess, sys, zipfile
here = os.path.dirname(__file__)
with zipfile.ZipFile("app.zip", "w") as archive:
    for name in ("__main__.py", "beside.py"):
        archive.write(os.path.join(here, "app", name), name)
source = b"import sys; print(sys.argv, __name__)"
for arguments, given in (
    (["-", "a"], source),
    (["-u", "-"], source),
    ([os.path.join(here, "app"), "a"], b""),
    (["app.zip", "b"], b""),
    (["shown.py", "c"], b""),
):
    where = here if arguments[0] == "shown.py" else os.getcwd()
    done = subprocess.run([sys.executable, *arguments], input=given, capture_output=True, cwd=where)
    print(done.returncode, done.stdout.decode(), done.stderr.decode().replace(os.getcwd(), "W"))
"""

SHOWN = """
import atexit, beside, os, sys
place = os.path.relpath(__file__, os.path.dirname(beside.__file__))
print(sys.argv[1:], __name__, __package__, bool(__spec__), os.path.isabs(__file__), place)
print(sys.path[0] == os.path.dirname(beside.__file__), sys.modules["__main__"].__dict__ is globals())
atexit.register(lambda: print("at exit", beside.NAME))
sys.exit(4)
"""


def test_children_from_stdin_directories_and_archives_run_as_by_themselves(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "app").mkdir(parents=True)
    for place in (root / "app" / "__main__.py", root / "shown.py"):
        place.write_text(SHOWN)
        (place.parent / "beside.py").write_text("NAME = 'beside'\n")
    script = root / "script.py"
    script.write_text(KINDS_OF_CHILDREN)
    expected = bare(script, tmp_path)
    (recorded,) = record(script, tmp_path).values()
    assert recorded.stream("stdout").decode() == expected.stdout.decode()
    assert recorded.stream("stderr") == expected.stderr
    assert expected.stdout.count(b"at exit beside") == 3
    assert recorded.of("recorder.failed") == []
    assert [event["observed"] for event in recorded.of("process.started")] == [False, False, True, True, True]
    assert [event["code"] for event in recorded.of("process.ended")] == [4, 4, 4]
