"""Real environments from small wheels: exact, free of what was smuggled in, and gone afterwards.

No index is asked: the wheels are made here and put into a store of the test's own.
"""

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import _bootstrap_external
from pathlib import Path

import pytest

from agentproof.environment import bytecode, interpreters, venv
from agentproof.environment.locking import Lock
from agentproof.environment.venv import PreparedEnvironment, prepare
from agentproof.environment.wheel_store import Provenance, WheelStore
from agentproof.errors import CannotDoError
from agentproof.models.manifest import Origin, Package, Target
from tests.wheels import make_wheel

pytestmark = pytest.mark.real

PYTHON = interpreters.find()
SOURCE = b"VALUE = 'good'\n"


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    place = tmp_path / "environments"
    place.mkdir()
    monkeypatch.setattr(venv, "_places", lambda: [place])


@pytest.fixture
def store(tmp_path: Path) -> WheelStore:
    return WheelStore(tmp_path / "cache")


@pytest.fixture
def lock(store: WheelStore) -> Lock:
    return make_lock(store)


def make_lock(store: WheelStore, **options: object) -> Lock:
    """The lock of one small wheel that lies in the store."""
    library = store.cache.parent / "library"
    library.mkdir(exist_ok=True)
    (library / "small.py").write_bytes(b"LIBRARY = 'good'\n")
    filename, data = make_wheel(files={"demo/__init__.py": SOURCE}, **options)  # type: ignore[arg-type]  # passed on
    store.add(data, name=filename, provenance=Provenance(origin="index", project="demo"))
    facts = {
        "name": "demo",
        "version": "1.0",
        "wheel": filename,
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
    }
    return Lock(
        # Compiling the real standard library takes seconds, and one test does so.
        python=replace(PYTHON, library=library),
        packages=(Package(**facts),),  # type: ignore[arg-type]  # names and values as in the model
        target=Target(**facts, origin=Origin(kind="index")),  # type: ignore[arg-type]
        as_of="2026-01-01",
    )


def run(environment: PreparedEnvironment, code: str, *, cwd: Path | None = None) -> str:
    """Run code as the runner does, and return what it printed."""
    done = subprocess.run(
        [environment.python, "-P", "-s", "-X", f"pycache_prefix={environment.pycache_prefix}", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={},
        cwd=cwd,
    )
    return done.stdout.strip()


IMPORT = "import demo; print(demo.VALUE)"


def test_it_holds_the_wheels_files_and_nothing_else(lock: Lock, store: WheelStore) -> None:
    with prepare(lock, store) as environment:
        assert run(environment, IMPORT) == "good"
        names = sorted(path.name for path in environment.site_packages.iterdir())
        assert names == ["demo", "demo-1.0.dist-info"]
        assert environment.installed_files == 3
        assert run(environment, "import sys; print(sys.prefix)") == str(environment.prefix)


def test_it_is_gone_afterwards_also_after_an_error(lock: Lock, store: WheelStore, tmp_path: Path) -> None:
    def fail() -> None:
        with prepare(lock, store) as environment:
            environment.site_packages.chmod(0o555)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list((tmp_path / "environments").iterdir()) == []


def test_others_may_traverse_it(lock: Lock, store: WheelStore) -> None:
    with prepare(lock, store) as environment:
        own = [
            environment.prefix.parent,
            environment.prefix,
            environment.site_packages,
            environment.pycache_prefix,
        ]
        assert all(path.stat().st_mode & 0o055 == 0o055 for path in own)


def test_bytecode_comes_from_the_own_prefix_and_the_standard_library_too(
    lock: Lock, store: WheelStore
) -> None:
    with prepare(replace(lock, python=PYTHON), store) as environment:
        code = "import demo, json; print(demo.__cached__); print(json.__cached__)"
        for line in run(environment, code).splitlines():
            assert line.startswith(str(environment.pycache_prefix))
            assert Path(line).is_file()
        before = sorted(environment.pycache_prefix.rglob("*"))
        run(environment, IMPORT)
        assert sorted(environment.pycache_prefix.rglob("*")) == before


def test_the_second_use_compiles_nothing(lock: Lock, store: WheelStore) -> None:
    said: list[str] = []
    for _ in range(2):
        with prepare(lock, store, progress=said.append):
            pass
    assert (
        len([line for line in said if line.startswith("compiling")]) == 2
    )  # the library and the environment


def _poison(root: Path, name: str, data: bytes) -> int:
    paths = [path for path in root.rglob(name) if path.is_file()]
    for path in paths:
        path.write_bytes(data)
    return len(paths)


def test_a_file_changed_in_uvs_cache_is_caught(lock: Lock, store: WheelStore) -> None:
    said: list[str] = []
    with prepare(lock, store):
        pass
    assert _poison(store.cache / "uv", "__init__.py", b"VALUE = 'evil'\n")
    with prepare(lock, store, progress=said.append) as environment:
        assert run(environment, IMPORT) == "good"
    assert any("is not what the RECORD of demo-1.0" in line for line in said)


def test_a_file_added_to_uvs_cache_is_caught(lock: Lock, store: WheelStore) -> None:
    with prepare(lock, store):
        pass
    (package,) = [path.parent for path in (store.cache / "uv").rglob("demo/__init__.py")]
    (package.parent / "evil.pth").write_bytes(b"import sys; sys.exit('evil')\n")
    with prepare(lock, store) as environment:
        assert run(environment, IMPORT) == "good"


def test_a_damaged_cache_of_uvs_costs_time_only(lock: Lock, store: WheelStore) -> None:
    said: list[str] = []
    with prepare(lock, store):
        pass
    damaged = [
        _poison(store.cache / "uv", name, b"\xff\x00")
        for name in ("METADATA", "*.rev", "*.msgpack", "*.http")
    ]
    assert sum(damaged)
    with prepare(lock, store, progress=said.append) as environment:
        assert run(environment, IMPORT) == "good"
    assert any("building again" in line for line in said)


def test_a_cache_that_uv_cannot_write_costs_time_only(lock: Lock, store: WheelStore) -> None:
    (store.cache / "uv").write_bytes(b"a file where the directory should be")
    with prepare(lock, store) as environment:
        assert run(environment, IMPORT) == "good"


def test_a_full_disk_is_said_and_leaves_nothing(
    lock: Lock, store: WheelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bytecode, "_unpack", full)
    for _ in range(2):  # the first one compiles
        with contextlib.suppress(CannotDoError), prepare(lock, store):
            pass
    with pytest.raises(CannotDoError, match="No space left") as raised, prepare(lock, store):
        pass
    assert raised.value.hint
    assert list((tmp_path / "environments").iterdir()) == []


def test_a_wheel_changed_in_the_store_is_caught(lock: Lock, store: WheelStore) -> None:
    path = store.get(lock.target.sha256)
    assert path is not None
    path.write_bytes(make_wheel(files={"demo/__init__.py": b"VALUE = 'evil'\n"})[1])
    with (
        pytest.raises(CannotDoError, match=r"1 of 1 wheels are not in the store: demo-1\.0"),
        prepare(lock, store),
    ):
        pass


def test_a_wheel_that_contradicts_its_own_record_is_refused(store: WheelStore) -> None:
    lock = make_lock(store, record={"demo/__init__.py": "sha256=" + "A" * 43})
    with pytest.raises(CannotDoError, match="is not what the RECORD"), prepare(lock, store):
        pass


def _forged(source: Path, target: Path) -> None:
    """A .pyc for `source` whose code says `evil`, valid in time stamp and size."""
    status = source.stat()
    code = compile("VALUE = 'evil'\n", str(source), "exec")
    target.parent.mkdir(parents=True, exist_ok=True)
    # What py_compile uses; the type stubs leave it out.
    make = _bootstrap_external._code_to_timestamp_pyc  # type: ignore[attr-defined]
    target.write_bytes(make(code, int(status.st_mtime), status.st_size))


def test_a_forged_pyc_beside_the_source_has_no_effect(lock: Lock, store: WheelStore) -> None:
    with prepare(lock, store) as environment:
        source = environment.site_packages / "demo" / "__init__.py"
        _forged(source, source.parent / "__pycache__" / f"__init__.{sys.implementation.cache_tag}.pyc")
        assert run(environment, IMPORT) == "good"


@pytest.mark.parametrize("fault", ["changed", "cut", "emptied", "swapped"])
def test_forged_bytecode_in_the_cache_has_no_effect(lock: Lock, store: WheelStore, fault: str) -> None:
    with prepare(lock, store):
        pass
    kept = sorted((store.cache / "bytecode").iterdir())
    contents = [path.read_bytes() for path in kept]
    assert len(kept) == 2
    for path, data, other in zip(kept, contents, reversed(contents), strict=True):
        assert b"good" in data
        forged = {
            "changed": data.replace(b"good", b"evil"),
            "cut": data[:-1],
            "emptied": b"",
            "swapped": other,
        }
        path.write_bytes(forged[fault])
    with prepare(lock, store) as environment:
        assert run(environment, IMPORT) == "good"


def test_bytecode_that_another_user_sealed_is_not_taken(
    lock: Lock, store: WheelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    with prepare(lock, store):
        pass
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "other"))
    with prepare(lock, store, progress=said.append):
        pass
    assert any(line.startswith("compiling") for line in said)


def test_a_module_beside_the_script_is_not_found_first(lock: Lock, store: WheelStore, tmp_path: Path) -> None:
    (tmp_path / "demo.py").write_bytes(b"VALUE = 'evil'\n")
    with prepare(lock, store) as environment:
        assert run(environment, IMPORT, cwd=tmp_path) == "good"


def test_settings_of_pip_uv_and_python_change_nothing(
    lock: Lock, store: WheelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "sitecustomize.py").write_bytes(b"raise SystemExit('evil')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "evil"))
    monkeypatch.setenv("UV_SYSTEM_PYTHON", "1")
    monkeypatch.setenv("UV_LINK_MODE", "symlink")
    monkeypatch.setenv("UV_CONSTRAINT", str(tmp_path / "no-such-file"))
    with prepare(lock, store) as environment:
        assert run(environment, IMPORT) == "good"
        assert not (environment.site_packages / "demo" / "__init__.py").is_symlink()


def test_the_store_is_not_changed_through_the_environment(lock: Lock, store: WheelStore) -> None:
    with prepare(lock, store) as environment:
        (environment.site_packages / "demo" / "__init__.py").write_bytes(b"VALUE = 'evil'\n")
    with prepare(lock, store) as environment:
        assert run(environment, IMPORT) == "good"


@pytest.fixture
def abandoned(lock: Lock, store: WheelStore, tmp_path: Path) -> Iterator[Path]:
    """The environment of a process that was killed."""
    ready = tmp_path / "ready"
    code = (
        "import pickle, sys, time, pathlib\n"
        "from agentproof.environment import venv\n"
        "lock, store, place, ready = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "venv._places = lambda: [place]\n"
        "with venv.prepare(lock, store) as environment:\n"
        "    ready.write_text(str(environment.prefix.parent))\n"
        "    time.sleep(60)\n"
    )
    import pickle  # noqa: PLC0415 - only here, to hand objects to our own child

    (tmp_path / "call").write_bytes(pickle.dumps((lock, store, tmp_path / "environments", ready)))
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "call")], cwd=Path(__file__).parents[2]
    )
    deadline = time.monotonic() + 60
    while not ready.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    yield Path(ready.read_text())
    if child.poll() is None:
        os.kill(child.pid, signal.SIGKILL)
    child.wait()


def test_what_a_killed_process_left_is_removed_by_the_next(
    abandoned: Path, lock: Lock, store: WheelStore
) -> None:
    with prepare(lock, store):
        assert abandoned.exists()  # its process lives
    (child,) = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and _holds(int(pid), abandoned)]
    os.kill(child, signal.SIGKILL)
    deadline = time.monotonic() + 10
    # Its lock goes some time after its list of open files and before it waits for its parent.
    while _state(child) != "Z" and time.monotonic() < deadline:
        time.sleep(0.01)
    with prepare(lock, store):
        assert not abandoned.exists()


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _holds(pid: int, directory: Path) -> bool:
    """Whether another process has the directory's mark open."""
    try:
        links = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    return pid != os.getpid() and str(directory / "alive") in links
