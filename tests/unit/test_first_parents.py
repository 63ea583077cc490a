"""The commits that a bisection of a checkout searches: one line of first parents, oldest first."""

import os
import subprocess
from pathlib import Path

import pytest

from agentproof.environment import checkout
from agentproof.environment import git as _git
from agentproof.errors import UsageError

_WHO = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "PATH": os.environ.get("PATH", os.defpath),
}


def git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments],  # noqa: S607 - the git of whoever runs the tests
        check=True,
        capture_output=True,
        text=True,
        env=_WHO,
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """one - two - merge - four on the main line; side leaves at one and is merged."""
    directory = tmp_path_factory.mktemp("repository")
    git(directory, "init", "--quiet")
    tree = git(directory, "write-tree")
    commits: dict[str, str] = {}

    def commit(name: str, *parents: str) -> None:
        options = [part for parent in parents for part in ("-p", commits[parent])]
        commits[name] = git(directory, "commit-tree", tree, *options, "-m", name)

    commit("one")
    commit("two", "one")
    commit("side", "one")
    commit("merge", "two", "side")
    commit("four", "merge")
    return directory, commits


def _names(repository: tuple[Path, dict[str, str]], old: str, new: str) -> list[str]:
    directory, commits = repository
    first, last = (_git.resolve(directory, commits[name]) for name in (old, new))
    return [commit.subject for commit in checkout.first_parents(directory, first, last)]


def test_the_line_is_that_of_first_parents_and_begins_with_the_old_end(
    repository: tuple[Path, dict[str, str]],
) -> None:
    assert _names(repository, "one", "four") == ["one", "two", "merge", "four"]


def test_a_commit_beside_the_line_is_refused(repository: tuple[Path, dict[str, str]]) -> None:
    with pytest.raises(UsageError, match="not on the line of first parents"):
        _names(repository, "side", "four")


def test_which_end_is_older_is_told_from_history(repository: tuple[Path, dict[str, str]]) -> None:
    directory, commits = repository
    one, two, side = (_git.resolve(directory, commits[name]) for name in ("one", "two", "side"))
    assert checkout.is_ancestor(directory, one, two)
    assert not checkout.is_ancestor(directory, two, one)
    with pytest.raises(UsageError, match="neither of"):
        checkout.is_ancestor(directory, two, side)
