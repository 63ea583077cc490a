"""What lies beside a script: what goes in, what is left out and named, what children of any kind read."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentproof.errors import UsageError
from agentproof.isolation import runner
from agentproof.isolation.imports import imported_files
from agentproof.isolation.watching import FileWatch
from agentproof.record.beside import tell_files
from agentproof.record.reproduction import Reproduction, read_reproduction
from agentproof.record.selection import Selection, is_in_project, select
from tests.sandboxed import Environment, best, make_environment


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return make_environment(tmp_path_factory.mktemp("environment"))


def lay(folder: Path, **files: str) -> Path:
    """A folder with these files; `__` in a name stands for a slash, `_py` for the ending."""
    for name, text in files.items():
        path = folder / (
            name.replace("__", "/").removesuffix("_py") + (".py" if name.endswith("_py") else "")
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


# ---- which files


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import helper", {"helper.py"}),
        ("def f():\n    if x:\n        import helper", {"helper.py"}),
        ("from helper import name", {"helper.py"}),
        ("import pack.inner", {"pack/__init__.py", "pack/inner.py", "pack/sibling.py"}),
        ("from pack import inner", {"pack/__init__.py", "pack/inner.py", "pack/sibling.py"}),
        ("import pack", {"pack/__init__.py"}),
        ("import chain", {"chain.py", "helper.py"}),
        ("import importlib\nimportlib.import_module('helper')", {"helper.py"}),
        ("__import__('helper')", {"helper.py"}),
        ("import space.deep", {"space/deep.py"}),
        ("import json, agents, helpers", set()),
        ("open('bank.txt')", set()),
        ("import outside", set()),
        ("from .. import secret", set()),
        ("importlib.import_module('../secret')", set()),
        ("importlib.import_module('bank.txt')", set()),
    ],
)
def test_modules_are_found_by_reading(tmp_path: Path, text: str, found: set[str]) -> None:
    (tmp_path / "secret.py").write_text("")
    lay(
        tmp_path / "case",
        script_py=text,
        helper_py="",
        chain_py="import helper",
        pack____init___py="",
        pack__inner_py="from . import sibling",
        pack__sibling_py="from .. import more",
        space__deep_py="",
        other_py="",
    )
    (tmp_path / "case" / "pack" / "__init__.py").write_text("")
    (tmp_path / "case" / "bank.txt").write_text("IBAN")
    (tmp_path / "case" / "outside.py").symlink_to(tmp_path / "secret.py")
    assert {name for name, _ in imported_files(tmp_path / "case", ["script.py"])} == found


def test_a_project_is_marked_and_a_home_under_version_control_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / ".git").mkdir(parents=True)
    (tmp_path / "home" / "pyproject.toml").write_text("")
    for name in ("Downloads/sub", "work/shop/src", "work/sdk/examples", "bundles/case"):
        (tmp_path / "home" / name).mkdir(parents=True)
    (tmp_path / "home/work/shop/pyproject.toml").write_text("")
    (tmp_path / "home/work/sdk/.git").write_text("gitdir: elsewhere")
    inside = {
        name: is_in_project(tmp_path / "home" / name)
        for name in ("", "Downloads", "Downloads/sub", "work", "work/shop", "work/shop/src")
    }
    assert inside == {
        "": False,
        "Downloads": False,
        "Downloads/sub": False,
        "work": False,
        "work/shop": True,
        "work/shop/src": True,
    }
    assert is_in_project(tmp_path / "home/work/sdk/examples")
    assert is_in_project(tmp_path / "home/bundles/case")
    assert not is_in_project(tmp_path / "home/bundles/case/deeper")


def names(script: Path, *, added: tuple[Path, ...] = (), root: Path | None = None) -> set[str]:
    return set(read_reproduction(Selection(script, root, added=added)).files)


def test_in_a_folder_of_downloads_only_what_belongs_to_the_script_goes_in(tmp_path: Path) -> None:
    case = lay(tmp_path / "case", script_py="import helper", helper_py="", bank="IBAN", sub__more="deep")
    assert names(case / "script.py") == {"script.py", "helper.py"}
    assert names(case / "script.py", added=(case / "bank",)) == {"script.py", "helper.py", "bank"}
    assert names(case / "script.py", added=(case / "sub",)) == {"script.py", "helper.py", "sub/more"}
    assert names(case / "script.py", root=case) == {"script.py", "helper.py", "bank", "sub/more"}
    (case / "pyproject.toml").write_text("")
    assert names(case / "script.py") == {"script.py", "helper.py", "bank", "sub/more", "pyproject.toml"}


def test_what_is_added_must_lie_below_the_script(tmp_path: Path) -> None:
    case = lay(tmp_path / "case", script_py="pass")
    (tmp_path / "elsewhere").write_text("")
    (case / "link").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(case / "pipe")
    for path in (tmp_path / "elsewhere", case / "link", case / "absent", case / "pipe"):
        with pytest.raises(UsageError, match=r"--file"):
            names(case / "script.py", added=(path,))


def test_root_names_the_folder(tmp_path: Path) -> None:
    lay(tmp_path / "case", sub__script_py="pass", data="1")
    named = select(str(tmp_path / "case/sub/script.py"), root=tmp_path / "case")
    assert named == Selection(tmp_path / "case/sub/script.py", tmp_path / "case")
    assert set(read_reproduction(named).files) == {"sub/script.py", "data"}
    for first, root in (("case/sub/script.py", "absent"), ("case", "case"), ("case/data", "case/sub")):
        with pytest.raises(UsageError):
            select(str(tmp_path / first), root=tmp_path / root)


def test_tests_outside_of_a_project_bring_pytests_files_and_no_others(tmp_path: Path) -> None:
    lay(tmp_path / "case", a__test_x_py="import helper\ndef test_x(): ...", a__helper_py="", a__bank="IBAN")
    lay(tmp_path / "case", a__conftest_py="", conftest_py="import shared", shared_py="", other__test_y_py="")
    (tmp_path / "case/pytest.ini").write_text("[pytest]\n")
    tests = ("a/test_x.py::test_x",)
    read = read_reproduction(Selection(tmp_path / "case/a/test_x.py", root=tmp_path / "case", tests=tests))
    taken = {"a/test_x.py", "a/helper.py", "a/conftest.py", "conftest.py", "shared.py", "pytest.ini"}
    assert set(read.files) == taken


def test_a_hostile_folder_costs_little_and_no_traceback(tmp_path: Path) -> None:
    case = lay(tmp_path / "case", script_py="import loop, huge, deep, pipe, shut, a, b")
    (case / "loop.py").symlink_to("loop.py")
    (case / "huge.py").write_bytes(b"import helper\n" * 2**20)
    (case / "deep.py").write_text("(" * 5000)
    os.mkfifo(case / "pipe.py")
    (case / "shut.py").mkdir()
    (case / "a.py").write_text("import b")
    (case / "b.py").write_text("import a")
    (case / "helper.py").write_text("")
    begun = time.monotonic()
    assert names(case / "script.py") == {"script.py", "huge.py", "deep.py", "a.py", "b.py"}
    assert time.monotonic() - begun < 10


def test_forged_names_of_what_was_missed_are_nobodys_business(tmp_path: Path) -> None:
    case = lay(tmp_path / "case", script_py="", there="1")
    (tmp_path / "above").write_text("")
    (case / "loop").symlink_to("loop")
    read = read_reproduction(Selection(case / "script.py"))
    forged = ("x" * 5000, "a\0b", "../above", "/etc/passwd", "loop", "", "..", "sub\u202e", "there")
    raw = SimpleNamespace(missed=forged, events=({"kind": "script.ended", "error": {"message": 5}},))
    told = Told()
    tell_files([], read, SimpleNamespace(repeats=({"as-written": raw},), is_blind=True), told)  # type: ignore[arg-type]  # what it reads of one
    assert [label for label, _ in told.lines] == ["not seen", "left out"]
    assert told.lines[1][1].startswith("script.py asks for there beside it")


# ---- which of them anybody opened


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_what_any_program_opened_is_known(tmp_path: Path) -> None:
    lay(tmp_path, a="1", sub__b="2", c="3")
    with FileWatch(["a", "sub/b", "c"]) as watch:
        watch.add(tmp_path, writable=False)
        subprocess.run(["/bin/cat", str(tmp_path / "sub" / "b")], check=True, capture_output=True)
        os.listdir(tmp_path)
        assert watch.opened() == frozenset({"sub/b"})


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_where_the_script_can_write_only_reading_counts(tmp_path: Path) -> None:
    lay(tmp_path, a="1", b="2")
    with FileWatch(["a", "b"]) as watch:
        watch.add(tmp_path, writable=True)
        (tmp_path / "a").write_text("new")
        (tmp_path / "b").read_text()
        assert watch.opened() == frozenset({"b"})


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_more_than_the_kernel_can_tell_counts_as_all(tmp_path: Path) -> None:
    lay(tmp_path, a="1", b="2", c="3")
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 10**5:
        pytest.skip("this kernel can tell very much")
    with FileWatch(["a", "b", "c"]) as watch:
        watch.add(tmp_path, writable=False)
        for number in range(most + 10):
            os.close(os.open(tmp_path / "ab"[number % 2], os.O_RDONLY))
        assert watch.opened() == frozenset({"a", "b", "c"})


# ---- what a run makes of it


class Told:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def working(self, text: str) -> None:
        pass

    def done(self, label: str, text: str) -> None:
        self.lines.append((label, text))


def record(
    environment: Environment, script: Path, *, added: tuple[Path, ...] = ()
) -> tuple[runner.Observation, set[str], str]:
    """Run under the real recorder: what was seen, the files that count as used, what is said of others."""
    read: Reproduction = read_reproduction(Selection(script, added=added))
    limits = runner.Limits(seconds=60)
    run = runner.run_recordings(environment, read, isolation=best(), limits=limits, repeats=1)
    used = {name for repeat in run.repeats for raw in repeat.values() for name in raw.files}
    told = Told()
    tell_files(sorted(used), read, run, told)
    return run, used, " | ".join(f"{label}: {text}" for label, text in told.lines)


def printed(run: runner.Observation) -> str:
    raw = run.repeats[0]["as-written"]
    return (raw.stdout.data + raw.stderr.data).decode()


@pytest.mark.real
def test_what_the_script_misses_is_named_with_the_option_that_adds_it(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = """
import os, subprocess, sys
here = os.path.dirname(os.path.abspath(__file__))
def attempt(function, *arguments):
    try:
        function(*arguments)
    except OSError:
        pass
attempt(open, "prices.json")
attempt(open, os.path.join(here, "sub", "rates.csv"))
attempt(open, "nowhere.txt")
subprocess.run(["cat", "bank.txt"], stderr=subprocess.DEVNULL)
subprocess.run("cat < 'wallet.txt'", shell=True, stderr=subprocess.DEVNULL)
subprocess.run([sys.executable, "worker.py"], stderr=subprocess.DEVNULL)
attempt(open, "/etc/shadow")
"""
    case = lay(tmp_path / "case", script_py=source, sub__rates="", worker_py="", unasked_py="")
    for name in ("prices.json", "sub/rates.csv", "bank.txt", "unasked.txt"):
        (case / name).write_text("x")
    _, used, said = record(environment, case / "script.py")
    assert used == {"script.py"}
    for name in ("prices.json", "sub/rates.csv", "bank.txt", "worker.py"):
        assert f"--file case/{name}" in said
    assert "unasked" not in said
    assert "nowhere" not in said
    assert "shadow" not in said


@pytest.mark.real
def test_a_script_that_walks_its_folder_takes_nothing_along(environment: Environment, tmp_path: Path) -> None:
    source = """
import glob, os
for folder, _, files in os.walk(os.path.dirname(os.path.abspath(__file__))):
    for name in files:
        open(os.path.join(folder, name)).read()
print(glob.glob("*"))
"""
    case = lay(tmp_path / "case", script_py=source, bank="IBAN", sub__private="deep")
    run, used, said = record(environment, case / "script.py")
    assert used == {"script.py"}
    assert "IBAN" not in printed(run)
    assert "--root DIR" in said


@pytest.mark.real
def test_in_a_project_what_is_opened_relative_to_the_working_directory_is_there(
    environment: Environment, tmp_path: Path
) -> None:
    source = """
import os, sqlite3, subprocess, sys
print(open("prices.json").read(), os.path.exists("data/rows.csv"), sorted(os.listdir()))
print(subprocess.run(["cat", "child.txt"], capture_output=True, text=True).stdout)
print(subprocess.run(["xxd", "-p", os.path.join(os.path.dirname(__file__), "hex.txt")], capture_output=True))
print(subprocess.run([sys.executable, "worker.py"], capture_output=True, text=True).stdout)
open("out.txt", "w").write("new")
open("data/rows.csv", "a").write("more")
"""
    case = lay(tmp_path / "case", script_py=source, worker_py="print(open('of-worker.txt').read())")
    for name in (
        "pyproject.toml",
        "prices.json",
        "child.txt",
        "hex.txt",
        "of-worker.txt",
        "out.txt",
        "unread.txt",
    ):
        (case / name).write_text(f"in {name}")
    (case / "data").mkdir()
    (case / "data" / "rows.csv").write_text("rows")
    run, used, said = record(environment, case / "script.py")
    for name in ("prices.json", "child.txt", "of-worker.txt"):
        assert f"in {name}" in printed(run), printed(run)
    expected = {"script.py", "prices.json", "child.txt", "worker.py", "of-worker.txt", "data/rows.csv"}
    if sys.platform == "linux":
        expected.add("hex.txt")
    assert used == expected
    assert "prices.json" in said
    assert (case / "out.txt").read_text() == "in out.txt"


@pytest.mark.real
def test_what_is_left_out_of_a_project_is_named_too(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    case = lay(tmp_path / "case", script_py="open('.env').read()")
    (case / ".env").write_text("KEY=1")
    (case / "pyproject.toml").write_text("")
    _, used, said = record(environment, case / "script.py")
    assert used == {"script.py"}
    assert "--file case/.env" in said
    _, used, _ = record(environment, case / "script.py", added=(case / ".env",))
    assert used == {"script.py", ".env"}
