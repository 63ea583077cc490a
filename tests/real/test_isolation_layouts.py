"""Where a Python may live, with links between: what it needs is there, and what lies beside it is not."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentproof.isolation.levels import Choice
from agentproof.isolation.sandbox import Level
from tests.sandboxed import Environment, choice, probed, run_script, said

pytestmark = pytest.mark.real

if sys.platform != "linux":
    pytest.skip("isolation is Linux's", allow_module_level=True)

MINOR = f"python{sys.version_info[0]}.{sys.version_info[1]}"
BASE = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
PREFIX = Path(sys.base_prefix)
HELD: list[Level] = ["namespace", "seccomp"]

SECRETS = (
    ".local/share/keyrings/login.keyring",
    ".local/share/uv/credentials/credentials.toml",
    ".local/share/uv/python/notes.txt",
    ".local/bin/deploy-token",
    ".local/lib/other/secret.py",
    ".local/state/history",
    ".pyenv/version-secret",
    ".pyenv/versions/secret",
    "python/notes.txt",
    ".ssh/id_ed25519",
    ".netrc",
)
LOOK = """
import ctypes, encodings.idna, json, os, sqlite3, ssl, sys, sysconfig, zlib
import subprocess
home = {home!r}
found = {{}}
for name in {secrets!r}:
    try:
        found[name] = open(os.path.join(home, name)).read()
    except OSError as error:
        found[name] = type(error).__name__
    for through in ("/proc/self/root", "/proc/self/cwd/../../../../.."):
        try:
            found[through + name] = open(through + os.path.join(home, name)).read()
        except OSError:
            pass
child = subprocess.run([sys.executable, "-c", "import ssl; print('child')"], capture_output=True, text=True)
print(json.dumps({{"secrets": found, "child": child.stdout.strip(), "ssl": ssl.OPENSSL_VERSION,
    "stdlib": sysconfig.get_path("stdlib")}}))
"""


@dataclass(frozen=True)
class Layout:
    """A home with a Python in it."""

    home: Path
    python: Path


def copy_of_python(target: Path) -> Path:
    """A whole interpreter at another place, without what takes long to copy; its executable."""
    left_out = shutil.ignore_patterns("test", "tests", "__pycache__", "site-packages", "idlelib", "config-*")
    library = PREFIX / "lib" / MINOR
    shutil.copytree(library, target / "lib" / MINOR, ignore=left_out, symlinks=True)
    (target / "lib" / MINOR / "site-packages").mkdir()
    (target / "bin").mkdir(exist_ok=True)
    shutil.copy2(BASE, target / "bin" / MINOR)
    (target / "bin" / "python3").symlink_to(MINOR)
    return target / "bin" / MINOR


def uv_layout(home: Path) -> Path:
    real = copy_of_python(home / ".local/share/uv/python/cpython-3-linux-x86_64-gnu")
    (home / ".local/share/uv/python/cpython-3").symlink_to("cpython-3-linux-x86_64-gnu")
    link = home / ".local/bin" / MINOR
    link.symlink_to(home / ".local/share/uv/python/cpython-3/bin" / real.name)
    return link


def installed_into_local(home: Path) -> Path:
    return copy_of_python(home / ".local")


def linked_to_pyenv(home: Path) -> Path:
    link = home / ".local/bin" / MINOR
    link.symlink_to(BASE)
    return link


def moved(home: Path) -> Path:
    real = copy_of_python(home / "python/versions/3")
    (home / "current").symlink_to("python/versions/3")
    return home / "current/bin" / real.name


def debian(home: Path) -> Path:
    system = shutil.which("python3", path="/usr/bin")
    if system is None:
        pytest.skip("the system has no Python of its own")
    link = home / ".local/bin/python3"
    link.symlink_to(system)
    return link


LAYOUTS: list[Callable[[Path], Path]] = [uv_layout, installed_into_local, linked_to_pyenv, moved, debian]


@pytest.fixture(scope="module", params=LAYOUTS, ids=lambda make: str(make.__name__))
def layout(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Layout:
    home = tmp_path_factory.mktemp("home")
    for each in (home, *home.parents):
        if each.name.startswith("pytest-"):
            each.chmod(0o755)
    home.chmod(0o755)
    (home / ".local/bin").mkdir(parents=True)
    python = request.param(home)
    for name in SECRETS:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        # Of the same user as everything: only the sandbox is in the way.
        (home / name).write_text("SECRET")
        (home / name).chmod(0o600 if "keyring" in name or "credentials" in name else 0o644)
    return Layout(home, python)


@pytest.fixture(params=HELD)
def held(request: pytest.FixtureRequest) -> Choice:
    if probed(request.param).files == "none":
        pytest.skip("this machine holds no files in")
    return choice(request.param)


@dataclass(frozen=True)
class Of(Environment):
    """An environment of a layout's Python."""

    @property
    def site_packages(self) -> Path:
        return next((self.prefix / "lib").glob("python3.*")) / "site-packages"


@pytest.mark.parametrize("maker", ["venv", "uv"])
def test_a_python_wherever_it_lives_runs_and_nothing_beside_it_is_read(
    layout: Layout, held: Choice, maker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(layout.home))
    for each in (tmp_path, *tmp_path.parents):
        if each.name.startswith("pytest-"):
            each.chmod(0o755)
    prefix = tmp_path / "venv"
    if maker == "venv":
        command = [str(layout.python), "-m", "venv", "--without-pip", "--symlinks", str(prefix)]
    else:
        uv = Path(sys.executable).with_name("uv")
        command = [str(uv), "venv", "--quiet", "--no-project", "--python", str(layout.python), str(prefix)]
    subprocess.run(
        command, check=True, capture_output=True, env={"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}
    )
    environment = Of(prefix)
    environment.pycache_prefix.mkdir()
    source = LOOK.format(home=str(layout.home), secrets=list(SECRETS))
    run = run_script(source, environment, tmp_path / "case", isolation=held)
    assert run.repeats[0]["as-written"].outcome == "ended", said(run)
    found = json.loads(run.repeats[0]["as-written"].stdout.data)
    assert set(found["secrets"]) == set(SECRETS)
    assert set(found["secrets"].values()) <= {"FileNotFoundError", "PermissionError"}
    assert found["child"] == "child"
