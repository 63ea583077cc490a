"""Tests that pytest runs inside of the recorder, without an SDK: outcomes, refusals, what is left alone."""

from pathlib import Path
from typing import Any

import pytest

from agentproof.errors import CannotDoError
from agentproof.isolation import control
from agentproof.isolation.control import read_reproduction_files
from tests.unit.recorder.driver import Recorded, record

CONFIGURATION = "[pytest]\naddopts = -ra -q --strict-markers --strict-config\ncache_dir = .cache\n"


def run(tmp_path: Path, files: dict[str, str], *tests: str) -> Recorded:
    """Record these tests of a project of these files."""
    root = tmp_path / "root"
    for name, text in {"pytest.ini": CONFIGURATION, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    before = sorted(path for path in root.rglob("*"))
    entry = root / tests[0].partition("::")[0]
    if entry.parent != root:
        (root / entry.name).touch()  # the driver knows scripts at the root alone
        before.append(root / entry.name)
    (recorded,) = record(root / entry.name, tmp_path, tests=tests).values()
    assert sorted(path for path in root.rglob("*")) == sorted(before)
    return recorded


def ends(recorded: Recorded) -> dict[str, dict[str, Any]]:
    """The ends of the tests by the last part of their names."""
    assert recorded.of("recorder.failed") == []
    return {str(event["test"]).rpartition("::")[2]: event for event in recorded.of("test.ended")}


EVERY = """
import unittest
import pytest

@pytest.fixture
def bad_start():
    raise KeyError("start")

@pytest.fixture
def bad_end():
    yield
    raise KeyError("end")

def test_passes(): pass
def test_fails(): assert {"a": 1} == {"a": 2}
def test_raises(): {}["k"]
def test_refuses():
    with pytest.raises(ValueError): pass
def test_says_so(): pytest.fail("said so")
def test_bad_start(bad_start): pass
def test_bad_end(bad_end): pass
def test_both_bad(bad_end): assert False
def test_skips(): pytest.skip("at once")
@pytest.mark.skip(reason="by its mark")
def test_marked(): pass
@pytest.mark.xfail(reason="known")
def test_known(): assert False
@pytest.mark.xfail(reason="known")
def test_better(): pass
@pytest.mark.xfail(strict=True, reason="known")
def test_too_good(): pass
def test_gives_up(): pytest.xfail("cannot be yet")

class TestCase(unittest.TestCase):
    def test_unit(self): self.assertEqual(1, 2)
    @unittest.skip("a unit's")
    def test_unit_skips(self): pass
"""


def test_every_outcome_is_told(tmp_path: Path) -> None:
    found = ends(run(tmp_path, {"test_x.py": EVERY}, "test_x.py"))
    told = {
        name: (event["outcome"], (event.get("error") or {}).get("type"), event.get("reason"))
        for name, event in found.items()
    }
    failed = "builtins:Failed"  # so pytest calls its own exception
    assert told == {
        "test_passes": ("passed", None, None),
        "test_fails": ("failed", "builtins:AssertionError", None),
        "test_raises": ("failed", "builtins:KeyError", None),
        "test_refuses": ("failed", failed, None),
        "test_says_so": ("failed", failed, None),
        "test_bad_start": ("error", "builtins:KeyError", None),
        "test_bad_end": ("error", "builtins:KeyError", None),
        "test_both_bad": ("failed", "builtins:AssertionError", None),
        "test_skips": ("skipped", None, "at once"),
        "test_marked": ("skipped", None, "by its mark"),
        "test_known": ("xfailed", None, "known"),
        "test_better": ("xpassed", None, None),
        "test_too_good": ("failed", None, "[XPASS(strict)] known"),
        "test_gives_up": ("xfailed", None, "cannot be yet"),
        "test_unit": ("failed", "builtins:AssertionError", None),
        "test_unit_skips": ("skipped", None, "a unit's"),
    }
    assert found["test_fails"]["error"]["message"].startswith("assert {'a': 1} == {'a': 2}")
    assert [frame["function"] for frame in found["test_bad_end"]["frames"]] == ["bad_end"]


def test_what_pytest_prints_is_left_out_and_what_the_tests_print_is_not(tmp_path: Path) -> None:
    source = """
import logging, os, sys, time
from pathlib import Path

print("imported")

def test_prints(tmp_path, capsys):
    print("captured by the test itself")
    assert capsys.readouterr().out
    with capsys.disabled():
        print("printed", tmp_path.name, "pytest-of-nobody" in str(tmp_path))
    print("to stderr", file=sys.stderr)
    logging.getLogger("x").warning("logged")

def test_stands_in_the_root():
    print(Path("pytest.ini").exists(), sys.argv[0], Path(os.environ["TMPDIR"]).exists())
"""
    recorded = run(tmp_path, {"test_x.py": source}, "test_x.py")
    assert [end["outcome"] for end in ends(recorded).values()] == ["passed", "passed"]
    assert recorded.stream("stdout").decode().splitlines() == [
        "imported",
        "printed test_prints0 True",
        "True pytest True",
    ]
    assert recorded.stream("stderr") == b"to stderr\n"


def test_tests_are_run_in_the_order_in_which_they_are_named(tmp_path: Path) -> None:
    source = "def test_a(): pass\ndef test_b(): pass\n"
    recorded = run(tmp_path, {"test_x.py": source}, "test_x.py::test_b", "test_x.py::test_a")
    assert list(ends(recorded)) == ["test_b", "test_a"]
    assert recorded.of("script.started")[0]["tests"] == ["test_x.py::test_b", "test_x.py::test_a"]


@pytest.mark.parametrize("package", [True, False])
def test_two_files_of_one_name_are_two_files(tmp_path: Path, package: bool) -> None:
    files = {f"{name}/test_x.py": f"def test_{name}(): pass\n" for name in ("a", "b")}
    if package:
        files |= {"a/__init__.py": "", "b/__init__.py": ""}
    recorded = run(tmp_path, files, "a/test_x.py", "b/test_x.py")
    assert [end["outcome"] for end in ends(recorded).values()] == ["passed", "passed"]


def test_helpers_are_found_beside_the_tests_and_at_the_root(tmp_path: Path) -> None:
    files = {
        "top.py": "V = 1\n",
        "tests/conftest.py": "import pytest\n\n@pytest.fixture\ndef one(): return 1\n",
        "tests/beside.py": "V = 1\n",
        "tests/test_x.py": "import beside, top\n\ndef test_v(one): assert beside.V == top.V == one\n",
    }
    recorded = run(tmp_path, files, "tests/test_x.py")
    assert ends(recorded)["test_v"]["outcome"] == "passed"
    assert set(files) <= set(recorded.end["files"])


@pytest.mark.parametrize(
    ("files", "name", "kind", "message"),
    [
        ({"test_x.py": "import gone\n"}, "test_x.py", "ModuleNotFoundError", "No module named 'gone'"),
        ({"test_x.py": "1 / 0\n"}, "test_x.py", "ZeroDivisionError", "division by zero"),
        ({"conftest.py": "import gone\n"}, "conftest.py", "ModuleNotFoundError", "No module named 'gone'"),
    ],
)
def test_what_cannot_be_imported_is_an_error_under_its_file(
    tmp_path: Path, files: dict[str, str], name: str, kind: str, message: str
) -> None:
    recorded = run(tmp_path, {"test_x.py": "def test_a(): pass\n", **files}, "test_x.py")
    (end,) = recorded.of("test.ended")
    assert (end["test"], end["outcome"]) == (name, "error")
    assert (end["error"]["type"], end["error"]["message"]) == (f"builtins:{kind}", message)
    assert end["frames"][-1] == {"file": name, "line": 1, "function": "<module>"}
    assert recorded.of("tests.refused") == []


def test_a_file_that_is_skipped_as_a_whole_is_told(tmp_path: Path) -> None:
    source = "import pytest\npytest.importorskip('gone')\n\ndef test_a(): pass\n"
    recorded = run(tmp_path, {"test_x.py": source}, "test_x.py::test_a")
    (end,) = recorded.of("test.ended")
    assert (end["test"], end["outcome"]) == ("test_x.py", "skipped")
    assert "gone" in end["reason"]
    assert recorded.of("tests.refused") == []


ONE = "import pytest\n\n@pytest.mark.parametrize('n', [1])\ndef test_a(n): pass\n"


@pytest.mark.parametrize(
    ("files", "test", "why", "detail"),
    [
        ({}, "test_x.py::test_b", "not_found", "not found: test_x.py::test_b"),
        ({}, "test_x.py::test_a[2]", "not_found", "not found: test_x.py::test_a"),
        (
            {"pytest.ini": "[pytest]\naddopts = --nothing-knows-this\n"},
            "test_x.py",
            "usage",
            "--nothing-knows",
        ),
        ({"pytest.ini": "[pytest]\naddopts = -k other\n"}, "test_x.py", "deselected", "1"),
        ({"test_x.py": "V = 1\n"}, "test_x.py", "none", "0"),
        (
            {"conftest.py": "def pytest_collection_finish(session): raise KeyError('plugin')\n"},
            "test_x.py",
            "internal",
            "KeyError: 'plugin'",
        ),
    ],
)
def test_why_no_test_could_begin_is_told(
    tmp_path: Path, files: dict[str, str], test: str, why: str, detail: str
) -> None:
    recorded = run(tmp_path, {"test_x.py": ONE, **files}, test)
    (refused,) = recorded.of("tests.refused")
    assert refused["why"] == why
    assert detail in refused["detail"]
    assert str(tmp_path) not in refused["detail"]
    assert recorded.of("test.ended") == []


def test_a_plugin_that_fails_after_the_tests_takes_none_of_them_back(tmp_path: Path) -> None:
    files = {
        "test_x.py": ONE,
        "conftest.py": "def pytest_sessionfinish(session): raise KeyError('late')\n",
    }
    recorded = run(tmp_path, files, "test_x.py")
    assert ends(recorded)["test_a[1]"]["outcome"] == "passed"
    assert recorded.of("tests.refused") == []


def test_a_process_that_a_test_starts_runs_what_it_is_told(tmp_path: Path) -> None:
    source = """
import subprocess, sys

def test_child():
    done = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True)
    assert done.stdout == "42\\n"
"""
    recorded = run(tmp_path, {"test_x.py": source}, "test_x.py")
    assert ends(recorded)["test_child"]["outcome"] == "passed"
    assert [event["observed"] for event in recorded.of("process.started")] == [True]


# What is copied of a project


def project(root: Path) -> Path:
    for name in (
        "pyproject.toml",
        ".pytest.ini",
        ".secret",
        "conftest.py",
        "docs/large.txt",
        "tests/test_x.py",
        "tests/deep/helper.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def test_a_small_project_is_copied_whole_with_pytests_hidden_files(tmp_path: Path) -> None:
    files, narrowed = read_reproduction_files(project(tmp_path), "tests/test_x.py", tests=["tests/test_x.py"])
    assert not narrowed
    assert sorted(files) == [
        ".pytest.ini",
        "conftest.py",
        "docs/large.txt",
        "pyproject.toml",
        "tests/deep/helper.py",
        "tests/test_x.py",
    ]


def test_of_a_large_project_the_folders_of_the_tests_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "MAX_ROOT_FILES", 5)
    tests = ["tests/test_x.py::test_a[docs/x]"]
    files, narrowed = read_reproduction_files(project(tmp_path), "tests/test_x.py", tests=tests)
    assert narrowed
    assert sorted(files) == [
        ".pytest.ini",
        "conftest.py",
        "pyproject.toml",
        "tests/deep/helper.py",
        "tests/test_x.py",
    ]


def test_tests_that_are_too_large_themselves_are_an_error_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "MAX_ROOT_FILES", 2)
    with pytest.raises(CannotDoError, match=r"tests in .* is over 2 files") as raised:
        read_reproduction_files(project(tmp_path), "tests/test_x.py", tests=["tests/test_x.py"])
    assert raised.value.hint is not None
    assert "folder of their own" in raised.value.hint


@pytest.mark.parametrize("where", ["conftest.py", "test_x.py"])
def test_the_process_forks_at_the_import_of_the_sdk(tmp_path: Path, where: str) -> None:
    root = tmp_path / "root"
    (root / "agents").mkdir(parents=True)
    (root / "agents" / "__init__.py").write_text("")
    (root / "test_x.py").write_text("def test_a(tmp_path): print(tmp_path)\n")
    (root / "pytest.ini").write_text(CONFIGURATION)
    with (root / where).open("a") as file:
        file.write("import agents\n")
    modes = ("as-written", "streamed")
    recorded = record(root / "test_x.py", tmp_path, tests=["test_x.py"], modes=modes)
    assert not (tmp_path / "control" / "unforked.json").exists()
    for mode in modes:
        assert [event["outcome"] for event in recorded[mode].of("test.ended")] == ["passed"]
        assert recorded[mode].stream("stdout").decode() == (
            f"{tmp_path / f'work-{mode}' / 'tmp' / 'pytest-of-nobody' / 'pytest-0' / 'test_a0'}\n"
        )
