"""The target wheel against a checkout, a revision and an installed package of the reader's."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from agentproof.bundle.git_objects import Blob, object_id
from agentproof.check.bundle import Reader, check_bundle, exit_code
from agentproof.check.trees import Tree, compare_tree, directory_tree, git_tree
from agentproof.errors import Exit, UsageError
from tests import forge

LOADED = {"agents/__init__.py", "agents/run.py"}
TRUST = forge.trust_in(forge.REPORTER)
BUNDLE = forge.draft().seal()


def _revision(
    base: str = "src/", like: str = "0" * 40, changes: Mapping[str, bytes | None] | None = None
) -> Tree:
    files: dict[str, bytes | None] = {**forge.WHEEL_FILES, **(changes or {})}
    blobs = {
        base + path: Blob("100644", object_id("blob", data, like=like))
        for path, data in files.items()
        if data is not None
    }
    blobs["README.md"] = Blob("100644", object_id("blob", b"read me", like=like))
    return git_tree("checkout@v0.20.0", blobs, commit="c" * 40, tree="d" * 40)


def _compare(tree: Tree) -> tuple[str, ...]:
    return compare_tree(forge.WHEEL, forge.WHEEL_NAME, tree, loaded=LOADED).differing


@pytest.mark.parametrize("base", ["", "src/", "python/lib/"])
@pytest.mark.parametrize("like", ["0" * 40, "0" * 64])
def test_the_files_of_a_revision_are_found_wherever_they_lie(base: str, like: str) -> None:
    found = compare_tree(forge.WHEEL, forge.WHEEL_NAME, _revision(base, like), loaded=LOADED)
    assert (found.same, found.differing, found.built) == (3, (), 0)


@pytest.mark.parametrize(
    ("changes", "differing"),
    [
        ({"agents/run.py": b"other"}, ("agents/run.py",)),
        ({"agents/run.py": None}, ("agents/run.py (only in the wheel)",)),
        ({"agents/models/__init__.py": None}, ()),
        ({"agents/new.py": b""}, ("agents/new.py (not in the wheel)",)),
        ({"agents/notes.md": b""}, ()),
        ({"tests/test_run.py": b""}, ()),
    ],
)
def test_what_differs_from_a_revision_is_listed(
    changes: dict[str, bytes | None], differing: tuple[str, ...]
) -> None:
    assert _compare(_revision(changes=changes)) == differing


def test_a_link_in_a_revision_is_no_file() -> None:
    tree = git_tree("x", {path: Blob("120000", "0" * 40) for path in forge.WHEEL_FILES})
    assert len(_compare(tree)) == 2


def _write(root: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def test_a_directory_is_compared_as_it_stands(tmp_path: Path) -> None:
    root = _write(tmp_path / "checkout" / "src", forge.WHEEL_FILES).parent
    _write(root / "src" / "agents" / "__pycache__", {"run.cpython-312.pyc": b"x"})
    _write(root / ".venv" / "agents", {"evil.py": b"x"})
    assert _compare(directory_tree(root)) == ()
    (root / "src" / "agents" / "run.py").write_bytes(b"class Runner: ...\r\n")
    assert _compare(directory_tree(root)) == ("agents/run.py",)


def test_a_link_in_a_directory_is_not_followed(tmp_path: Path) -> None:
    root = _write(tmp_path / "checkout", forge.WHEEL_FILES)
    (tmp_path / "run.py").write_bytes(forge.WHEEL_FILES["agents/run.py"])
    (root / "agents" / "run.py").unlink()
    (root / "agents" / "run.py").symlink_to(tmp_path / "run.py")
    assert _compare(directory_tree(root)) == ("agents/run.py",)


def test_a_directory_that_is_none_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such directory"):
        directory_tree(tmp_path / "absent")


def test_a_checkout_with_the_same_files_is_a_source_of_the_readers(tmp_path: Path) -> None:
    reader = Reader(trust=TRUST, checkouts=(_revision(),))
    checked = check_bundle(BUNDLE, reader=reader)
    assert checked.status == "CURRENT"
    details = {check.name: check for check in checked.report.checks}
    assert details["checkout"].status == "passed"
    assert "commit cccccccccccc" in details["checkout"].detail
    assert details["installed"].status == "not_made"
    installed = directory_tree(_write(tmp_path / "site", forge.WHEEL_FILES))
    both = check_bundle(BUNDLE, reader=replace(reader, installed=(installed,)))
    assert [check.status for check in both.report.checks] == ["passed"] * 8 + ["not_made"]


def test_a_checkout_with_other_files_makes_it_stale_even_where_the_wheel_is_held() -> None:
    reader = Reader(
        trust=TRUST, sources=forge.sources(), checkouts=(_revision(changes={"agents/run.py": b"mine"}),)
    )
    report = check_bundle(BUNDLE, reader=reader).report
    assert (report.status, exit_code(report)) == ("STALE", Exit.STALE)
    assert "agents/run.py" in report.differences[0].yours
    assert [check.status for check in report.checks][:6] == ["passed"] * 6


def test_a_checkout_of_something_else_is_no_source() -> None:
    tree = git_tree("other", {"README.md": Blob("100644", "0" * 40)})
    assert check_bundle(BUNDLE, reader=Reader(trust=TRUST, checkouts=(tree,))).status == "STALE"


def test_without_the_wheel_a_checkout_is_not_compared() -> None:
    members = {path: data for path, data in BUNDLE.members.items() if not path.startswith("wheels/")}
    report = check_bundle(replace(BUNDLE, members=members), reader=Reader(checkouts=(_revision(),))).report
    assert next(check.reason for check in report.checks if check.name == "checkout") == "wheel_absent"
    assert report.status == "INTACT"


def test_a_commit_that_the_recorder_states_otherwise_is_said() -> None:
    draft = forge.draft()
    draft.manifest["target"]["origin"] = {"kind": "checkout", "commit": "e" * 40}
    report = check_bundle(draft.seal(), reader=Reader(trust=TRUST, checkouts=(_revision(),))).report
    assert "the recorder says eeeeeeeeeeee" in next(c.detail for c in report.checks if c.name == "checkout")


def test_a_directory_that_holds_nothing_of_the_wheel_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    reader = Reader(checkouts=(directory_tree(tmp_path, label="there"),))
    report = check_bundle(forge.draft().seal(), reader=reader).report
    assert report.status == "STALE"
    assert report.differences[0].yours == "holds none of its files: does openai-agents lie there?"
