"""Reading git repositories, hostile ones among them: nothing of theirs is executed."""

import os
import subprocess
from pathlib import Path

import pytest

from agentproof.bundle.git_objects import object_id
from agentproof.environment import git as _git
from agentproof.errors import CannotDoError, UsageError

pytestmark = pytest.mark.real

FILES = {
    "src/demo/__init__.py": b"VALUE = 1\r\n",
    "a.b": b"1",
    "a/c": b"2",
    "a0": b"3",
    "run.sh": b"#!/bin/sh\n",
}


PROGRAMS = (
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "core.alternateRefsCommand",
    "gpg.program",
    "diff.external",
    "diff.evil.textconv",
    "diff.evil.command",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "credential.helper",
    "uploadpack.packObjectsHook",
)
"""Settings of a repository that name a program."""


def git(directory: Path, *arguments: str) -> str:
    """Run git as an ordinary user would, but with no settings of this machine."""
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments],  # noqa: S607 - the user's git
        check=True,
        capture_output=True,
        text=True,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{who}_{what}": "x@example"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
            "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        },
    )
    return done.stdout.strip()


@pytest.fixture(params=["sha1", "sha256"])
def repository(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    top = tmp_path / "repository"
    top.mkdir()
    git(top, "init", "-q", f"--object-format={request.param}", "-b", "main")
    for path, data in FILES.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(data)
    (top / "run.sh").chmod(0o755)
    (top / "link").symlink_to("src/demo/__init__.py")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "First\n\nMore.")
    return top


def test_a_commit_is_read_from_its_own_bytes(repository: Path) -> None:
    commit = _git.resolve(repository)
    assert commit.id == git(repository, "rev-parse", "HEAD")
    assert commit.tree == git(repository, "rev-parse", "HEAD^{tree}")
    assert (commit.subject, commit.parents, commit.time) == ("First", (), 1767225600)


def test_an_export_is_the_tree_byte_for_byte(repository: Path, tmp_path: Path) -> None:
    # Attributes that `git archive` and a checkout would follow.
    (repository / ".gitattributes").write_text("*.py text eol=lf\na0 export-ignore\na.b export-subst\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "Attributes")
    tree = _git.export(repository, _git.resolve(repository), tmp_path / "out")
    assert "a0" in tree
    for path, data in FILES.items():
        stored = git(repository, "rev-parse", f"HEAD:{path}")
        assert object_id("blob", (tmp_path / "out" / path).read_bytes(), like=stored) == stored
        assert path.endswith(".py") or (tmp_path / "out" / path).read_bytes() == data
    assert os.access(tmp_path / "out" / "run.sh", os.X_OK)
    assert os.readlink(tmp_path / "out" / "link") == "src/demo/__init__.py"


def test_changes_are_seen_in_bytes(repository: Path) -> None:
    commit = _git.resolve(repository)
    assert _git.changes(repository, commit) == ()
    (repository / "a0").write_bytes(b"changed")
    (repository / "new.py").write_bytes(b"")
    (repository / "a" / "c").unlink()
    (repository / ".git" / "info" / "exclude").write_text("ignored\n")
    (repository / "ignored").write_bytes(b"")
    assert _git.changes(repository, commit) == ("a/c", "a0", "new.py")


def test_a_file_of_a_commit_can_be_shown(repository: Path) -> None:
    assert _git.show(repository, "main", "a.b") == b"1"
    with pytest.raises(UsageError, match="no file nothing"):
        _git.show(repository, "main", "nothing")


@pytest.mark.parametrize("revision", ["no-such-branch", "--exec=x", "HEAD~99", "a\0b"])
def test_a_revision_that_is_not_there_is_refused(repository: Path, revision: str) -> None:
    with pytest.raises(UsageError):
        _git.resolve(repository, revision)


def test_a_commit_that_is_not_there_is_named(repository: Path) -> None:
    with pytest.raises(UsageError, match=r"has no commit no-such-branch"):
        _git.resolve(repository, "no-such-branch")


def test_a_directory_without_a_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a git repository"):
        _git.resolve(tmp_path)


def test_nothing_that_a_repository_names_is_executed(repository: Path, tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {marker}\ncat\n')
    program.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in (
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "fsmonitor-watchman",
        "pre-commit",
    ):
        (hooks / hook).write_bytes(program.read_bytes())
        (hooks / hook).chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil\n")
    git(repository, "add", ".gitattributes")
    git(repository, "commit", "-q", "-m", "Attributes")
    for key in PROGRAMS:
        git(repository, "config", key, str(program))
    git(repository, "config", "core.hooksPath", str(hooks))
    git(repository, "config", "log.showSignature", "true")
    git(repository, "config", "alias.cat-file", f"!{program}")
    marker.unlink(missing_ok=True)  # setting the trap may have sprung it

    (repository / "a0").write_bytes(b"changed, so that git would look at it")
    commit = _git.resolve(repository)
    _git.export(repository, commit, tmp_path / "out")
    assert _git.changes(repository, commit) == ("a0",)
    assert _git.show(repository, "HEAD", "a.b") == b"1"
    assert not marker.exists(), marker.read_text()
    git(repository, "status")
    assert marker.exists(), "the trap does not spring for git itself"


def test_a_missing_object_is_not_fetched(repository: Path, tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    git(repository, "config", "remote.origin.url", f"ext::sh -c 'touch {marker}'")
    git(repository, "config", "remote.origin.promisor", "true")
    git(repository, "config", "protocol.ext.allow", "always")
    git(repository, "config", "core.repositoryFormatVersion", "1")
    git(repository, "config", "extensions.partialClone", "origin")
    blob = git(repository, "rev-parse", "HEAD:a.b")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises((CannotDoError, UsageError)):
        _git.export(repository, _git.resolve(repository), tmp_path / "out")
    assert not marker.exists()


def test_a_replaced_object_is_not_the_commits(repository: Path) -> None:
    first = _git.resolve(repository)
    (repository / "a0").write_bytes(b"evil")
    git(repository, "commit", "-q", "-am", "Evil")
    git(repository, "replace", first.id, "HEAD")
    assert _git.resolve(repository, first.id) == first


def test_a_link_out_of_the_tree_is_refused(repository: Path, tmp_path: Path) -> None:
    (repository / "out").symlink_to("../../etc/passwd")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "Link")
    with pytest.raises(CannotDoError, match="leads out"):
        _git.export(repository, _git.resolve(repository), tmp_path / "out")


def test_a_submodule_is_refused_by_name(repository: Path, tmp_path: Path) -> None:
    git(
        repository,
        "update-index",
        "--add",
        "--cacheinfo",
        f"160000,{git(repository, 'rev-parse', 'HEAD')},inner",
    )
    git(repository, "commit", "-q", "-m", "Submodule")
    with pytest.raises(CannotDoError, match="inner is a submodule"):
        _git.export(repository, _git.resolve(repository), tmp_path / "out")


def test_the_repository_is_left_as_it_was(repository: Path, tmp_path: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.stat().st_size)
            for path in sorted((repository / ".git").rglob("*"))
        }

    before = state()
    commit = _git.resolve(repository)
    _git.export(repository, commit, tmp_path / "out")
    _git.changes(repository, commit)
    assert state() == before
