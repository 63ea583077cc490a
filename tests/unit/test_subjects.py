"""What a comparison is about, and names that tell its rows apart."""

from pathlib import Path

import pytest

from agentproof.bundle.store import write_bundle, zip_bytes
from agentproof.compare.subjects import find_all
from agentproof.errors import UsageError
from tests import forge


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two reports with scripts of one name, and a store with one case on two releases; entered."""
    for script in ("a/repro.py", "b/repro.py", "c/other.py", "bundles/lost/reproduction.py"):
        (tmp_path / script).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / script).write_text("print(1)\n")
    bundle = forge.draft().seal()
    for version in ("0.20.0", "0.21.0"):
        write_bundle(bundle, tmp_path / "bundles" / "lost" / version)
    (tmp_path / "a" / "repro.agentproof.zip").write_bytes(zip_bytes(bundle))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _names(*paths: str) -> list[str]:
    return [subject.name for subject in find_all([Path(path) for path in paths])]


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/repro.py", "c/other.py"], ["repro", "other"]),
        (["a/repro.py", "b/repro.py", "c/other.py"], ["a/repro.py", "b/repro.py", "other"]),
        (["a/repro.py", "a/repro.agentproof.zip"], ["a/repro.py", "a/repro.agentproof.zip"]),
        (["bundles/lost/0.20.0"], ["lost"]),
        (["bundles/lost/0.20.0", "bundles/lost/0.21.0"], ["lost/0.20.0", "lost/0.21.0"]),
        (["bundles", "bundles/lost/0.20.0"], ["lost/reproduction.py", "lost/0.20.0"]),
    ],
    ids=" ".join,
)
def test_rows_are_named_by_their_case_and_where_that_is_shared_by_the_end_of_their_path(
    paths: list[str], names: list[str]
) -> None:
    assert _names(*paths) == names


@pytest.mark.usefixtures("place")
def test_a_reproduction_that_is_named_twice_is_one() -> None:
    assert _names("a/repro.py", "./a/repro.py", "b/../a/repro.py") == ["repro"]
    assert _names("bundles", "bundles/lost/reproduction.py") == ["lost"]


def test_folders_of_one_name_are_told_apart_by_those_above(place: Path) -> None:
    for above in ("one", "two"):
        (place / above / "a").mkdir(parents=True)
        (place / above / "a" / "repro.py").write_text("print(1)\n")
    assert _names("one/a/repro.py", "two/a/repro.py") == ["one/a/repro.py", "two/a/repro.py"]
    # Only as long as it takes: the third is told by its folder and file already.
    assert _names("one/a/repro.py", "two/a/repro.py", "b/repro.py")[2] == "b/repro.py"


def test_tests_of_one_name_keep_their_own_name_behind_their_path(place: Path) -> None:
    for folder in ("unit", "whole"):
        (place / folder).mkdir()
        (place / folder / "test_pay.py").write_text("def test_once():\n    assert True\n")
    names = _names("unit/test_pay.py::test_once", "whole/test_pay.py::test_once")
    assert names == ["unit/test_pay.py::test_once", "whole/test_pay.py::test_once"]


@pytest.mark.usefixtures("place")
def test_a_path_with_nothing_is_an_error_that_names_it() -> None:
    with pytest.raises(UsageError, match=r"nowhere\.py: no such file or directory"):
        _names("a/repro.py", "nowhere.py")


def test_a_name_that_is_no_utf_8_is_spelled_out(tmp_path: Path) -> None:
    (tmp_path / "r\udce9pro.py").write_text("print(1)\n")
    (subject,) = find_all([tmp_path / "r\udce9pro.py"])
    assert subject.name == "r\\udce9pro"
