"""What a user names as a reproduction, and which directory is then its root."""

import os
from pathlib import Path

import pytest

from agentproof.errors import UsageError
from agentproof.record.selection import Selection, find_root, is_test, select

TEST = "def test_x():\n    assert True\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with pytest's configuration, entered."""
    root = tmp_path / "project"
    write(root / "pytest.ini", "[pytest]\n")
    write(root / "tests" / "test_x.py", TEST)
    write(root / "tests" / "conftest.py")
    write(root / "tests" / "deep" / "test_y.py", TEST)
    write(root / "main.py", "print(1)\n")
    monkeypatch.chdir(root)
    return root


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_script_is_its_own_reproduction_with_its_arguments(project: Path) -> None:
    assert select("main.py", ["--x", "a::b"]) == Selection(Path("main.py"), None, ("--x", "a::b"))


def test_node_ids_are_relative_to_the_root_wherever_they_were_typed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "tests" / "deep")
    named = select("../test_x.py::test_x[a/b::c d]", ["./test_y.py", "test_y.py", "test_y.py::TestA::test_b"])
    assert named == Selection(
        script=project / "tests" / "test_x.py",
        root=project,
        tests=(
            "tests/test_x.py::test_x[a/b::c d]",
            "tests/deep/test_y.py",
            "tests/deep/test_y.py::TestA::test_b",
        ),
    )


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (["tests/gone.py::test_x"], "there is no file tests/gone.py"),
        (["tests::test_x"], "there is no file tests"),
        (["tests/test_x.py::"], "names no test"),
        (["tests/test_x.py", "main.py"], "main.py is no test, and tests take no arguments"),
        (["tests/test_x.py::test_x", "--verbose"], "--verbose is no test"),
        (["gone.py"], "gone.py: no such file"),
        (["tests"], "tests does not say what to run"),
    ],
)
def test_what_makes_no_sense_is_said(project: Path, given: list[str], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        select(given[0], given[1:])


def test_a_directory_of_tests_points_to_its_files(project: Path) -> None:
    with pytest.raises(UsageError) as raised:
        select("tests")
    assert raised.value.hint == f"for its tests name their files: {Path('tests/test_x.py')}"


@pytest.mark.parametrize(
    ("files", "entry"),
    [
        (["reproduction.py", "__main__.py", "a.py"], "reproduction.py"),
        (["__main__.py", "a.py"], "__main__.py"),
        (["only.py", "data.json"], "only.py"),
    ],
)
def test_a_directory_may_have_an_obvious_entry(tmp_path: Path, files: list[str], entry: str) -> None:
    for file in files:
        write(tmp_path / file)
    assert select(str(tmp_path), ["a"]) == Selection(tmp_path / entry, tmp_path, ("a",))


def test_a_directory_of_several_scripts_asks_for_the_entry(tmp_path: Path) -> None:
    for file in ("a.py", "b.py"):
        write(tmp_path / file)
    with pytest.raises(UsageError, match=r"it holds a\.py, b\.py"):
        select(str(tmp_path))
    assert select(str(tmp_path), entry="b.py") == Selection(tmp_path / "b.py", tmp_path)


def test_an_entry_lies_in_its_directory(project: Path) -> None:
    named = select("tests", ["deep/test_y.py"], entry="test_x.py::test_x")
    assert named.tests == ("test_x.py::test_x", "deep/test_y.py")
    assert named.root == project / "tests"
    with pytest.raises(UsageError, match="no such file in tests"):
        select("tests", entry="gone.py")
    with pytest.raises(UsageError, match="is not below"):
        select("tests", entry="../main.py")
    with pytest.raises(UsageError, match="is no directory"):
        select("main.py", entry="main.py")


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("test_a.py", "async def test_b(): ...\n", True),
        ("a_test.py", "class TestB:\n    def test_c(self): ...\n", True),
        ("test_a.py", "import unittest\nclass A(unittest.TestCase): ...\n", True),
        ("test_a.py", f"{TEST}if __name__ == '__main__':\n    pytest.main()\n", True),
        ("test_a.py", f"import pytest\npytest.importorskip('x')\n{TEST}", True),
        # Reporters call their scripts so, too.
        ("test_a.py", "import asyncio\nasync def test_b(): ...\nasyncio.run(test_b())\n", False),
        ("test_a.py", f"{TEST}if __name__ == '__main__':\n    test_x()\n", False),
        ("test_a.py", "print(1)\n", False),
        ("test_a.py", "def test_x(:\n", False),
        ("a.py", TEST, False),
    ],
)
def test_a_file_is_run_by_pytest_if_nothing_else_gives_it_something_to_do(
    tmp_path: Path, name: str, source: str, expected: bool
) -> None:
    assert is_test(str(write(tmp_path / name, source))) is expected


def test_any_file_can_be_named_as_one_of_tests(tmp_path: Path) -> None:
    assert is_test("checks.py::check_it")
    assert not is_test("script[a::b].py")


@pytest.mark.parametrize(
    ("files", "root"),
    [
        ({"pytest.ini": ""}, "."),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n", "a/setup.py": ""}, "."),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n", "a/tox.ini": "[pytest]\n"}, "a"),
        ({"setup.cfg": "[tool:pytest]\n", "a/pyproject.toml": "[project]\n"}, "."),
        ({"a/pyproject.toml": "[project]\n", "setup.py": ""}, "a"),
        ({"a/tests/pytest.ini": "", "a/tests/__init__.py": "", "a/__init__.py": ""}, "."),
        ({"a/pyproject.toml": "not TOML", "tox.ini": "not INI"}, "a"),
    ],
)
def test_the_root_is_where_pytest_finds_its_configuration_and_above_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], root: str
) -> None:
    test = write(tmp_path / "a" / "tests" / "test_x.py", TEST)
    for name, text in files.items():
        write(tmp_path / name, text)
    monkeypatch.chdir(test.parent)
    assert find_root([test]) == (tmp_path / root).resolve()


def test_without_configuration_the_root_is_the_working_directory_or_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (write(tmp_path / "a" / name / "test_x.py", TEST) for name in ("b", "c"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path.parent / "home"))
    assert find_root([one]) == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_root([one]) == one.parent
    assert find_root([one, two]) == tmp_path / "a"


def test_in_a_store_the_root_is_the_folder_of_the_case(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "[tool.pytest.ini_options]\n")
    test = write(tmp_path / "bundles" / "case" / "tests" / "test_x.py", TEST)
    assert find_root([test]) == tmp_path / "bundles" / "case"


def test_a_link_is_named_by_its_own_name(tmp_path: Path) -> None:
    write(tmp_path / "real.py", TEST)
    os.symlink(tmp_path / "real.py", tmp_path / "test_link.py")
    write(tmp_path / "pytest.ini")
    assert select(str(tmp_path / "test_link.py")).tests == ("test_link.py",)


def test_every_test_file_of_our_own_is_known_as_one() -> None:
    files = [path for path in Path(__file__).parent.rglob("test_*.py") if "def test" in path.read_text()]
    assert files
    for path in files:
        assert is_test(str(path)), path
