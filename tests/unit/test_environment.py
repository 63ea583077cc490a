"""An installed environment is compared with its wheels; bytecode goes through one archive."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agentproof.bundle.wheel import Distribution, read_dependency
from agentproof.environment import bytecode
from agentproof.environment.installed import DiffersError, settle
from tests.wheels import make_wheel

SITE = "lib/python3.12/site-packages"
FILES = {"demo/__init__.py": b"VALUE = 1\n", "demo/deep/data.json": b"{}"}


class _Venv:
    """A venv as an installer leaves it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.site = top / SITE
        self.site.mkdir(parents=True)
        (top / "bin").mkdir()
        (top / "bin" / "python3.12").symlink_to("/usr/bin/python3.12")
        for name in ("activate", "python-startup.py"):
            (top / "bin" / name).write_bytes(b"")
        (top / "lib64").symlink_to("lib")
        for name in ("pyvenv.cfg", ".gitignore", "CACHEDIR.TAG"):
            (top / name).write_bytes(b"")
        self.wheels: list[Distribution] = []

    def install(self, name: str = "demo", **options: object) -> None:
        filename, data = make_wheel(name, **options)  # type: ignore[arg-type]  # passed on
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(self.site)
        wheel = read_dependency(data, filename)
        info = self.site / wheel.dist_info
        for note in ("INSTALLER", "direct_url.json", "REQUESTED"):
            (info / note).write_bytes(b"the installer's own")
        with (info / "RECORD").open("ab") as record:
            record.write(b"../../../bin/demo,sha256=x,1\n")
        self.wheels.append(wheel)

    def settle(self) -> int:
        return settle(self.top, self.site, self.wheels, configuration=b"")


@pytest.fixture
def venv(tmp_path: Path) -> _Venv:
    made = _Venv(tmp_path / "venv")
    made.install(files=FILES)
    return made


def test_every_file_of_the_wheel_is_compared(venv: _Venv) -> None:
    assert venv.settle() == len(FILES) + 2  # METADATA and WHEEL


def test_what_the_installer_added_is_taken_away(venv: _Venv) -> None:
    venv.settle()
    (info,) = venv.site.glob("*.dist-info")
    assert sorted(path.name for path in info.iterdir()) == ["METADATA", "RECORD", "WHEEL"]
    assert (info / "RECORD").read_bytes() == venv.wheels[0].record_bytes
    assert [path.name for path in (venv.top / "bin").iterdir()] == ["python3.12"]
    assert sorted(path.name for path in venv.top.iterdir()) == ["bin", "lib", "lib64", "pyvenv.cfg"]


def _write(place: str, data: bytes = b"import evil\n") -> Callable[[_Venv], None]:
    def fault(venv: _Venv) -> None:
        path = venv.top / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    return fault


def _link(place: str, target: str) -> Callable[[_Venv], None]:
    def fault(venv: _Venv) -> None:
        path = venv.top / place
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    return fault


FAULTS = {
    "a changed file": (_write(f"{SITE}/demo/__init__.py", b"VALUE = 2\n"), "is not what the RECORD"),
    "a missing file": (lambda venv: (venv.site / "demo/__init__.py").unlink(), "is missing"),
    "a .pth file": (_write(f"{SITE}/evil.pth"), r"evil\.pth belongs to none"),
    "a sitecustomize": (_write(f"{SITE}/sitecustomize.py"), "sitecustomize.py belongs to none"),
    "a usercustomize": (_write(f"{SITE}/usercustomize.py"), "usercustomize.py belongs to none"),
    "a module inside a package": (_write(f"{SITE}/demo/evil.py"), r"demo/evil\.py belongs to none"),
    "a forged .pyc": (_write(f"{SITE}/demo/__pycache__/__init__.cpython-312.pyc"), "belongs to none"),
    "a module without its source": (_write(f"{SITE}/demo/evil.pyc"), r"demo/evil\.pyc belongs to none"),
    "a .pyc that is found before site-packages": (_write("lib/python3.12/json.pyc"), "belongs to none"),
    "a shared object": (_write(f"{SITE}/demo/__init__.cpython-312-x86_64-linux-gnu.so"), "belongs to none"),
    "a package of another name": (_write(f"{SITE}/agents/__init__.py"), "belongs to none"),
    "a file beside site-packages": (_write("lib/python3.12/os.py"), "belongs to none"),
    "a file for an interpreter": (_write("bin/python3"), r"bin/python3 belongs to none"),
    "another configuration": (_write("pyvenv.cfg", b"home = /elsewhere\n"), r"pyvenv\.cfg changed"),
    "a link for a file": (_link(f"{SITE}/demo/__init__.py", "/etc/passwd"), "no regular file"),
    "a linked directory": (_link(f"{SITE}/agents", "/tmp"), "no regular file"),
    "another lib64": (_link("lib64", "/tmp"), "no regular file"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(venv: _Venv, name: str) -> None:
    fault, words = FAULTS[name]
    fault(venv)
    with pytest.raises(DiffersError, match=words):
        venv.settle()


def test_a_member_that_record_does_not_list_is_found(tmp_path: Path) -> None:
    venv = _Venv(tmp_path / "venv")
    venv.install(unlisted={"demo/stowaway.py": b"import evil\n"})
    with pytest.raises(DiffersError, match=r"stowaway\.py belongs to none"):
        venv.settle()


def test_a_wheel_that_contradicts_its_record_is_found(tmp_path: Path) -> None:
    venv = _Venv(tmp_path / "venv")
    other = "sha256=" + "A" * 43
    venv.install(record={"demo/__init__.py": other})
    with pytest.raises(DiffersError, match="is not what the RECORD"):
        venv.settle()


def test_two_wheels_may_share_a_file_only_when_it_is_the_same(venv: _Venv) -> None:
    venv.install("other", files={"demo/__init__.py": b"VALUE = 1\n"})
    assert venv.settle() == len(FILES) + 4
    venv.install("third", files={"demo/__init__.py": b"VALUE = 3\n"})
    with pytest.raises(DiffersError, match="with different contents"):
        venv.settle()


def test_files_for_other_places_are_compared_there(venv: _Venv) -> None:
    venv.install(
        "spread",
        files={
            "spread-1.0.data/data/share/spread.txt": b"data",
            "spread-1.0.data/platlib/spread.py": b"code",
            "spread-1.0.data/scripts/spread": b"#!python",
        },
    )
    (venv.site / "spread-1.0.data" / "data" / "share").rename(venv.top / "share")
    (venv.site / "spread-1.0.data" / "platlib" / "spread.py").rename(venv.site / "spread.py")
    (venv.site / "spread-1.0.data" / "scripts" / "spread").rename(venv.top / "bin" / "spread")
    assert venv.settle() == len(FILES) + 6
    (venv.top / "share" / "spread.txt").write_bytes(b"changed")
    with pytest.raises(DiffersError, match=r"share/spread\.txt is not what"):
        venv.settle()


@pytest.mark.parametrize("name", ["pyvenv.cfg", "PyVenv.cfg"])
def test_no_wheel_says_where_the_interpreter_lives(venv: _Venv, name: str) -> None:
    """The sandbox lets the script read what `home` of that file names."""
    venv.install("evil", files={f"evil-1.0.data/data/{name}": b"home = /elsewhere\n"})
    (venv.site / "evil-1.0.data" / "data" / name).rename(venv.top / name)
    with pytest.raises(DiffersError, match=r"evil-1\.0.*brings a pyvenv\.cfg of its own"):
        venv.settle()


def test_no_wheel_brings_an_interpreter(venv: _Venv) -> None:
    venv.install("evil", files={"evil-1.0.data/data/bin/python3": b"#!/bin/sh\n"})
    (venv.site / "evil-1.0.data" / "data" / "bin" / "python3").rename(venv.top / "bin" / "python3")
    with pytest.raises(DiffersError, match="bin/python3 belongs to none"):
        venv.settle()


def test_an_archive_of_bytecode_gives_back_its_files(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    contents = {
        "a.cpython-312.pyc": b"\x00a",
        "deep/b.cpython-312.pyc": b"\nb" * 1000,
        "empty.cpython-312.pyc": b"",
    }
    for name, data in contents.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(data)
    bytecode._unpack(bytecode._packed(source), target)
    found = {path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*.pyc")}
    assert found == contents
    assert all(os.stat(target / name).st_mode & 0o444 == 0o444 for name in contents)
