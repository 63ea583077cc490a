"""Checkouts, environments and trust that the reader names, read without running anything of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentproof.check.trees import compare_tree
from agentproof.environment.reader import checkout_tree, installed_tree, trust_argument
from agentproof.errors import TrustError, UsageError
from tests import forge

GIT = shutil.which("git") or "git"


def _git(directory: Path, *arguments: str) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example",
    }
    subprocess.run([GIT, "-C", str(directory), *arguments], check=True, capture_output=True, env=environment)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    for path, data in forge.WHEEL_FILES.items():
        (root / "src" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "src" / path).write_bytes(data)
    (root / "signers").write_text(f"a@example {forge.REPORTER.public.line}\n")
    _git(root, "init", "-q", "-b", "main")
    _git(root, "add", ".")
    _git(root, "commit", "-q", "-m", "first")
    (root / "src" / "agents" / "run.py").write_bytes(b"changed")
    (root / "signers").write_text("a@example nonsense\n")
    return root


def _differing(name: str) -> tuple[str, ...]:
    return compare_tree(forge.WHEEL, forge.WHEEL_NAME, checkout_tree(name), loaded=set()).differing


def test_a_revision_is_read_from_its_objects_and_a_directory_as_it_stands(checkout: Path) -> None:
    assert _differing(f"{checkout}@main") == ()
    assert _differing(f"{checkout}@HEAD") == ()
    assert _differing(str(checkout)) == ("agents/run.py",)
    tree = checkout_tree(f"{checkout}@main")
    assert tree.commit is not None
    assert tree.tree is not None


def test_a_directory_with_an_at_sign_is_a_directory(checkout: Path, tmp_path: Path) -> None:
    odd = tmp_path / "sdk@work"
    shutil.copytree(checkout / "src", odd / "src")
    assert _differing(str(odd)) == ("agents/run.py",)


def test_a_revision_that_is_not_there_is_a_usage_error(checkout: Path) -> None:
    with pytest.raises(UsageError):
        checkout_tree(f"{checkout}@absent")


def test_trust_is_read_from_a_revision_and_not_from_the_working_tree(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    (line,) = trust_argument("main:signers").keys
    assert (line.principal, line.source) == ("a@example", "main:signers")
    with pytest.raises(TrustError):
        trust_argument("signers")
    with pytest.raises(UsageError):
        trust_argument("main:absent")


def test_a_file_that_is_called_like_a_revision_is_not_taken_for_it(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    shutil.copytree(checkout, work)
    (work / "main:signers").write_text(f"evil@example {forge.STRANGER.public.line}\n")
    monkeypatch.chdir(work)
    with pytest.raises(UsageError, match="may be signers of the revision main"):
        trust_argument("main:signers")
    (line,) = trust_argument("./main:signers").keys
    assert line.principal == "evil@example"
    (work / "main:signers").unlink()
    (work / "main:signers").symlink_to("absent")
    with pytest.raises(UsageError, match="may be signers"):
        trust_argument("main:signers")


def test_a_directory_that_is_called_like_a_revision_is_not_taken_for_it(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    shutil.copytree(checkout, work)
    shutil.copytree(checkout / "src", work / ".@main")
    monkeypatch.chdir(work)
    with pytest.raises(UsageError, match="main may be a revision"):
        checkout_tree(".@main")
    assert _differing(".@main/") == ("agents/run.py",)


def test_a_virtual_environment_is_found_by_its_layout_and_never_started(tmp_path: Path) -> None:
    site = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    for path, data in forge.WHEEL_FILES.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)
    (tmp_path / "venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    for name in (str(python), str(tmp_path / "venv")):
        tree = installed_tree(name)
        assert compare_tree(forge.WHEEL, forge.WHEEL_NAME, tree, loaded=set()).same == 3


def test_an_interpreter_without_an_environment_says_where_its_packages_are() -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    assert installed_tree(base).label == base


def test_an_interpreter_that_is_not_there_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no such interpreter"):
        installed_tree("python-that-is-not-there")


def test_a_file_that_is_no_interpreter_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("1\n")
    with pytest.raises(UsageError, match=r"--installed .*data\.txt: no interpreter"):
        installed_tree(str(tmp_path / "data.txt"))


@pytest.mark.parametrize(("name", "words"), [("nowhere", "no such directory"), ("empty", "no Python file")])
def test_a_directory_that_is_no_checkout_is_a_usage_error(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=f"--source .*{words}"):
        checkout_tree(str(tmp_path / name))
