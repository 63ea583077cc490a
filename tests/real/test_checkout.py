"""Wheels from checkouts: a clean commit's, byte for byte, or none.

The project brings its own build backend, so that no index is needed.
"""

import hashlib
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agentproof.environment import checkout as _checkout
from agentproof.environment import interpreters
from agentproof.environment.wheel_store import WheelStore
from agentproof.errors import CannotDoError, UsageError
from tests.real.test_git import git

pytestmark = pytest.mark.real

BACKEND = """
import pathlib, sys
sys.path.insert(0, {tests!r})
from tests.wheels import make_wheel

def build_wheel(directory, config_settings=None, metadata_directory=None):
    top = pathlib.Path("src")
    files = {{str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*.py"))}}
    {twist}
    name, data = make_wheel("demo", "1.0", files=files)
    pathlib.Path(directory, name).write_bytes(data)
    return name
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""

Make = Callable[[str], Path]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("UV_OFFLINE", "1")

    def checkout(twist: str = "pass") -> Path:
        top = tmp_path / "checkout"
        (top / "src" / "demo").mkdir(parents=True)
        (top / "src" / "demo" / "__init__.py").write_bytes(b"VALUE = 1\n")
        (top / "pyproject.toml").write_text(PROJECT)
        (top / "backend.py").write_text(BACKEND.format(tests=str(Path(__file__).parents[2]), twist=twist))
        git(top, "init", "-q", "-b", "main")
        git(top, "add", ".")
        git(top, "commit", "-q", "-m", "First")
        return top

    return checkout


def _built(
    tmp_path: Path, top: Path, revision: str | None = None, *, dirty: bool = False
) -> tuple[str, object]:
    """The wheel's SHA-256 and origin."""
    store = WheelStore(tmp_path / "cache")
    with _checkout.built(top, revision, dirty=dirty, interpreter=interpreters.find(), store=store) as made:
        return hashlib.sha256(made.wheel.read_bytes()).hexdigest(), made.origin


def test_a_commit_is_built_from_its_export(make: Make, tmp_path: Path) -> None:
    top = make("pass")
    digest, origin = _built(tmp_path, top)
    assert origin.commit == git(top, "rev-parse", "HEAD")  # type: ignore[attr-defined]  # an Origin
    assert origin.tree == git(top, "rev-parse", "HEAD^{tree}")  # type: ignore[attr-defined]
    (top / "src" / "demo" / "__init__.py").write_bytes(b"VALUE = 2\n")
    assert _built(tmp_path, top, "main") == (digest, origin)


def test_changes_are_built_only_when_asked_for_and_then_marked(make: Make, tmp_path: Path) -> None:
    top = make("pass")
    clean, _ = _built(tmp_path, top)
    (top / "src" / "demo" / "new.py").write_bytes(b"")
    with pytest.raises(UsageError, match=r"not committed: src/demo/new\.py"):
        _built(tmp_path, top)
    digest, origin = _built(tmp_path, top, dirty=True)
    assert digest != clean
    assert origin.dirty is True  # type: ignore[attr-defined]


TWISTS = {
    "a changed file": 'files["demo/__init__.py"] = b"evil"',
    "a file left out": 'files["demo/other.py"] = files.pop("demo/__init__.py")',
    "nothing of the tree": 'files = {"else/__init__.py": b""}',
}


@pytest.mark.parametrize("twist", TWISTS)
def test_a_wheel_that_is_not_the_trees_is_refused(make: Make, tmp_path: Path, twist: str) -> None:
    top = make(TWISTS[twist])
    with pytest.raises(CannotDoError, match=r"is not what checkout holds"):
        _built(tmp_path, top)
    assert not (tmp_path / "cache" / "built").exists()


def test_a_backend_cannot_change_what_its_wheel_is_compared_with(make: Make, tmp_path: Path) -> None:
    write = 'pathlib.Path("src/demo/__init__.py").write_bytes(b"evil"); files["demo/__init__.py"] = b"evil"'
    top = make(write)
    with pytest.raises(CannotDoError, match="is not what checkout holds"):
        _built(tmp_path, top)
    (top / "new").write_bytes(b"")
    with pytest.raises(CannotDoError, match="is not what checkout holds"):
        _built(tmp_path, top, dirty=True)


def test_a_build_that_fails_says_why(make: Make, tmp_path: Path) -> None:
    top = make('raise SystemExit("no luck today")')
    with pytest.raises(CannotDoError, match="no luck today"):
        _built(tmp_path, top)


def test_an_offline_build_asks_no_index(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = make("pass")
    (top / "pyproject.toml").write_text(PROJECT.replace("[]", '["a-build-dependency"]'))
    git(top, "commit", "-q", "-a", "-m", "Second")
    monkeypatch.delenv("UV_OFFLINE")
    with socket.create_server(("127.0.0.1", 0)) as index:
        index.settimeout(0.1)
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{index.getsockname()[1]}/simple")
        store = WheelStore(tmp_path / "cache")
        with pytest.raises(CannotDoError, match="a-build-dependency") as raised:  # noqa: SIM117  (as one it is unreadable)
            with _checkout.built(top, None, offline=True, interpreter=interpreters.find(), store=store):
                pass
        with pytest.raises(TimeoutError):
            index.accept()
    assert "--offline" in (raised.value.hint or "")


def test_the_second_build_of_a_commit_comes_from_the_cache(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = make("pass")
    first = _built(tmp_path, top)

    def never(*_: object, **__: object) -> subprocess.CompletedProcess[bytes]:
        raise AssertionError("built again")

    monkeypatch.setattr(_checkout, "build_wheel", never)
    assert _built(tmp_path, top) == first
