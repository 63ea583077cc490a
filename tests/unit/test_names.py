"""What a bundle can name: scripts of any name are recorded, and the rest is refused before anything runs."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from agentproof.bundle.folder import is_safe_path
from agentproof.errors import UsageError
from agentproof.record.names import entry_name
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import Selection

DEEP = "a/b/c/d/e/f/g/h"
SOURCE = b"from agents import Agent\n"


@pytest.mark.parametrize(
    ("name", "in_bundle"),
    [
        ("reproduction.py", "reproduction.py"),
        ("mein repro.py", "mein repro.py"),
        ("répro.py", "repro.py"),
        ("re\u0301pro.py", "repro.py"),
        ("mein répro.py", "mein repro.py"),
        ("🐛.py", "reproduction.py"),
        ('it\'s "x".py', "it s x.py"),
        ("two\nlines.py", "two lines.py"),
        ("r\udce9pro.py", "rpro.py"),
        ("aux.py", "reproduction.py"),
        ("MANIFE~1.py", "reproduction.py"),
        ("ends in dot..py", "ends in dot..py"),
        ("a" * 251 + ".py", "a" * 100 + ".py"),
        ("no suffix", "no suffix"),
        ("<run>", "run.py"),
        ("traces", "traces.py"),
        ("バグ.py", "reproduction.py"),
    ],
)
def test_a_script_of_any_name_gets_one_that_every_system_can_hold(name: str, in_bundle: str) -> None:
    assert entry_name(name, [name]) == in_bundle
    assert is_safe_path(in_bundle)


def test_no_other_file_gives_up_its_name() -> None:
    taken = ["répro.py", "repro.py", "Reproduction.py", "reproduction-2.py/x"]
    assert entry_name("répro.py", taken) == "reproduction-3.py"


def _written(root: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def test_a_script_is_read_under_its_new_name_and_not_under_the_old_one(tmp_path: Path) -> None:
    root = _written(tmp_path / "mein ördner 🐛", {"mein répro.py": SOURCE, "Rechnung März.pdf": b""})
    read = read_reproduction(Selection(root / "mein répro.py"))
    assert read.script.name == "mein répro.py"
    assert read.entry == "mein repro.py"
    assert read.files == {"mein repro.py": SOURCE}


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"x.py": "import données\n", "données.py": ""}, "données.py"),
        ({"x.py": "from données.alt import y\n", "données/alt.py": ""}, "données/alt.py"),
        ({"x.py": "open('März.json')\n", "März.json": ""}, "März.json"),
        ({"x.py": "import aux\n", "aux.py": ""}, "aux.py"),
        ({"x.py": "open('traces/a.json')\n", "traces/a.json": ""}, "traces/a.json"),
        (
            {"x.py": "from a.b.c.d.e.f.g.h import deep\n", "a/b/c/d/e/f/g/h/deep.py": ""},
            "a/b/c/d/e/f/g/h/deep.py",
        ),
        ({"x.py": f"import {'m' * 241}\n", f"{'m' * 241}.py": ""}, f"{'m' * 241}.py"),
    ],
)
def test_a_file_that_the_script_names_and_no_bundle_can_is_refused_by_name(
    tmp_path: Path, files: dict[str, str], named: str
) -> None:
    project = {"pyproject.toml": ""}
    _written(tmp_path, {name: text.encode() for name, text in (files | project).items()})
    with pytest.raises(UsageError, match="a name that no bundle can hold") as caught:
        read_reproduction(Selection(tmp_path / "x.py"))
    assert repr(named) in caught.value.message
    assert "rename it" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("entry", "tests"),
    [
        ("tests/prüf/x.py", ()),
        ("test_é.py", ("test_é.py::test_a",)),
        ("traces/x.py", ()),
        (f"{DEEP}/x.py", ()),
    ],
)
def test_what_cannot_be_renamed_is_refused(tmp_path: Path, entry: str, tests: tuple[str, ...]) -> None:
    _written(tmp_path, {entry: SOURCE})
    with pytest.raises(UsageError, match="a name that no bundle can hold"):
        read_reproduction(Selection(tmp_path / entry, root=tmp_path, tests=tests))


def test_in_a_repository_store_the_name_is_the_one_that_a_check_looks_for(tmp_path: Path) -> None:
    _written(tmp_path, {"bundles/case/répro.py": SOURCE})
    with pytest.raises(UsageError, match=r"'répro\.py' is a name that no bundle can hold") as caught:
        read_reproduction(Selection(tmp_path / "bundles" / "case" / "répro.py"))
    assert caught.value.hint == "rename it, to repro.py"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("x" * 4097,), "has 4097 letters, over the limit of 4096"),
        (("\udce9",), "is no UTF-8"),
    ],
)
def test_an_argument_that_a_manifest_cannot_hold_is_refused(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    _written(tmp_path, {"x.py": SOURCE})
    with pytest.raises(UsageError, match=said):
        read_reproduction(Selection(tmp_path / "x.py", arguments=arguments))


def test_a_header_that_a_manifest_cannot_hold_is_refused(tmp_path: Path) -> None:
    header = f'# /// script\n# [tool.agentproof]\n# title = "{"x" * 4097}"\n# ///\n'
    _written(tmp_path, {"x.py": header.encode() + SOURCE})
    with pytest.raises(UsageError, match=r"in the header 'xxx.* has 4097 letters"):
        read_reproduction(Selection(tmp_path / "x.py"))
