"""The cache is listed and kept within bounds; leftovers of killed processes go."""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from agentproof.cli import cli
from agentproof.environment import cache as _cache
from agentproof.environment import lock_cache, uv
from agentproof.environment.wheel_store import Provenance, WheelStore
from agentproof.models.manifest import Origin, Platform, Target
from agentproof.system import temporary
from tests.wheels import make_wheel

HOUR = 3600.0


@contextmanager
def running(store: WheelStore) -> Iterator[None]:
    """Another process that holds the cache, as a recording does."""
    code = (
        "import pathlib, sys; from agentproof.environment.wheel_store import hold\n"
        "hold(pathlib.Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(store.cache)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WheelStore:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    return WheelStore(tmp_path / "cache")


def _add(store: WheelStore, version: str, *, hours: float) -> str:
    """Add a wheel that was last used some hours ago."""
    name, data = make_wheel(version=version)
    path = store.add(data, name=name, provenance=Provenance(origin="index", project="demo"))
    moment = time.time() - hours * HOUR
    os.utime(path.with_name("provenance"), (moment, moment))
    return hashlib.sha256(data).hexdigest()


def test_it_lists_the_least_recently_used_first(store: WheelStore) -> None:
    _add(store, "1.0", hours=2)
    _add(store, "2.0", hours=5)
    temporary.write(store.cache / "locks" / "abc", b"lock")
    temporary.write(store.cache / "recordings" / "def", b"recording")
    listed = _cache.list_cache(store)
    assert [(item.kind, item.label, item.origin) for item in listed] == [
        ("wheel", "demo-2.0-py3-none-any.whl", "index"),
        ("wheel", "demo-1.0-py3-none-any.whl", "index"),
        ("lock", "abc", None),
        ("recording", "def", None),
    ]
    assert all(item.size > 0 for item in listed)


def test_the_list_says_what_each_thing_is(store: WheelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(store.cache))
    sha256 = _add(store, "1.0", hours=50)
    key = lock_cache.Key(
        requirement="demo==1.0",
        extra=(),
        python="3.12.1",
        platform=Platform(system="Linux", machine="x86_64", libc="glibc"),
        tags="0" * 64,
        places="0" * 64,
    )
    target = Target(
        name="demo",
        version="1.0",
        wheel="demo-1.0-py3-none-any.whl",
        sha256=sha256,
        size=9,
        origin=Origin(kind="index"),
    )
    record = lock_cache.Record(key=key, target=target, packages=(), as_of="2026-01-01")
    assert lock_cache.keep(store.cache / "locks", record)
    (store.cache / "locks" / "other").write_bytes(b"of another user")
    listed = CliRunner().invoke(cli, ["cache", "list", "--verbose"]).output
    assert "demo 1.0 on CPython 3.12.1, as of 2026-01-01" in listed
    assert "2 days ago     demo-1.0-py3-none-any.whl (index)" in listed
    assert "just now       other" in listed
    assert listed.splitlines()[-1].split()[0] == "together"


def test_pruning_says_what_stays_and_why(store: WheelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(store.cache))
    _add(store, "1.0", hours=9)
    _add(store, "2.0", hours=0.5)
    with running(store):
        said = CliRunner().invoke(cli, ["cache", "prune", "--max-size", "0"]).output
    assert said.startswith("removed 1 item, ")
    assert "(too much by 1 item: a run goes on, which may use them)" in said
    # Journey 18: what no run holds goes, however young.
    said = CliRunner().invoke(cli, ["cache", "prune", "--max-size", "0"]).output
    assert said.startswith("removed 1 item, ")
    assert "kept 0.0 kB\n" in said


def test_pruning_removes_the_least_recently_used_until_the_rest_fits(store: WheelStore) -> None:
    old, new = _add(store, "1.0", hours=9), _add(store, "2.0", hours=5)
    size = sum(item.size for item in _cache.list_cache(store))
    pruned = _cache.prune(store, max_bytes=size - 1)
    assert [item.label for item in pruned.items] == ["demo-1.0-py3-none-any.whl"]
    assert pruned.size > 0
    assert store.get(old) is None
    assert store.get(new) is not None
    assert [path.name for path in store.root.iterdir()] == [new]


def test_pruning_removes_what_was_not_used_for_long(store: WheelStore) -> None:
    _add(store, "1.0", hours=50)
    kept = _add(store, "2.0", hours=5)
    _cache.prune(store, unused_for=48 * HOUR)
    assert [item.path.parent.name for item in _cache.list_cache(store)] == [kept]


def test_what_may_be_in_use_stays_whatever_the_bound(store: WheelStore) -> None:
    _add(store, "1.0", hours=0.5)
    with running(store):
        assert _cache.prune(store, max_bytes=0, unused_for=0).items == ()
    assert len(_cache.prune(store, max_bytes=0).items) == 1


def test_using_a_wheel_makes_it_recent(store: WheelStore) -> None:
    sha256 = _add(store, "1.0", hours=9)
    assert store.get(sha256) is not None
    with running(store):
        assert _cache.prune(store, max_bytes=0).items == ()


KILLED = """
import os, pathlib, signal, sys, tempfile
from agentproof.system import temporary
place = pathlib.Path(sys.argv[1])
if sys.argv[2] == "directory":
    with temporary.directory("test", parent=place) as base:
        (base / "deep").mkdir()
        (base / "deep").chmod(0)
        os.kill(os.getpid(), signal.SIGKILL)
elif sys.argv[2] == "unmarked":
    temporary.open = open
    temporary.Path.open = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    with temporary.directory("test", parent=place):
        pass
elif sys.argv[2] == "hidden":
    with temporary.directory("test", parent=place, hidden=True):
        os.kill(os.getpid(), signal.SIGKILL)
else:
    temporary.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    temporary.write(place / "file", b"data")
"""


@pytest.mark.parametrize("what", ["directory", "unmarked", "hidden", "file"])
def test_what_a_killed_process_left_is_swept(tmp_path: Path, what: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), what], check=False)
    assert done.returncode == -9
    assert len(list(tmp_path.iterdir())) == 1
    assert temporary.sweep([tmp_path]) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_old_thing_is_swept_though_another_process_has_its_number_now(tmp_path: Path) -> None:
    for name in (f"agentproof-tmp-test-{os.getpid()}-abc", f".agentproof-tmp-{os.getpid()}-abc"):
        path = tmp_path / name
        path.write_bytes(b"") if name.startswith(".") else path.mkdir()
        assert temporary.sweep([tmp_path]) == 0
        os.utime(path, (0, 0))
        assert temporary.sweep([tmp_path]) == 1


REPLACING = """
import os, pathlib, signal, sys
from agentproof.system import temporary
place = pathlib.Path(sys.argv[1])
rename, left = os.rename, [int(sys.argv[2])]
def counted(*arguments, **more):
    if not more:
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
    rename(*arguments, **more)
with temporary.replacement(place) as new:
    os.rename = counted
    (new / "file").write_text("new")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("renames", "found"), [(0, "old"), (1, "old"), (2, "new")])
def test_a_directory_is_replaced_whole_or_not_at_all_whenever_its_process_is_killed(
    tmp_path: Path, renames: int, found: str
) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "file").write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", REPLACING, str(tmp_path / "place"), str(renames)], check=False
    )
    assert done.returncode == -9
    temporary.sweep([tmp_path])
    assert (tmp_path / "place" / "file").read_text() == found
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_a_directory_that_is_not_filled_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "file").write_text("old")
    with pytest.raises(FileNotFoundError), temporary.replacement(tmp_path / "place") as new:
        (new / "no" / "such" / "file").write_text("new")
    assert (tmp_path / "place" / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_what_a_living_process_uses_is_not_swept(tmp_path: Path) -> None:
    with temporary.directory("test", parent=tmp_path) as base:
        assert temporary.sweep([tmp_path]) == 0
        assert base.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_others_left_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "agentproof-tmp-notes").mkdir()
    (tmp_path / "agentproof-run-1-x").mkdir()
    (tmp_path / "file").write_bytes(b"")
    assert temporary.sweep([tmp_path, tmp_path / "missing"]) == 0


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary.write(tmp_path / "file", b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        temporary.write(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_what_is_in_memory_is_swept_also_when_it_is_full() -> None:
    roomy, full = temporary.places(room=0), temporary.places(room=2**62)
    assert set(roomy) == set(full)
    assert full[0] == Path(tempfile.gettempdir())


def test_what_killed_uvs_left_goes_unless_one_is_at_work(store: WheelStore) -> None:
    place = store.cache / "uv"
    for name in (".tmpAb1", "simple-v28/pypi/.tmpAb2", "archive-v0/.tmpAb3"):
        (place / name / "deep").mkdir(parents=True)
        (place / name / "deep" / "file").write_bytes(b"")
    (place / "simple-v28" / "pypi" / ".tmpAb4").write_bytes(b"")
    (place / "archive-v0" / "whole" / "package").mkdir(parents=True)
    assert uv.sweep_cache(store.cache) == 0  # of a uv that has no lock nothing is known
    (place / ".lock").write_bytes(b"")
    with (place / ".lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        assert uv.sweep_cache(store.cache) == 0
    assert _cache.prune(store).abandoned == 4
    assert list(place.rglob(".tmp*")) == []
    assert (place / "archive-v0" / "whole" / "package").is_dir()
