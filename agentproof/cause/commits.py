"""Commits between two releases that changed a named function, from a checkout or mirror that the user names.

A commit counts where a function's syntax differs between it and its first parent, as for two releases.
Nothing is fetched.
"""

from pathlib import Path
from typing import Final

from ..environment import git
from ..errors import CannotDoError, UsageError
from ..models.explanation import Commit, Explanation
from .source import SourceFile

_MOST: Final = 8
_MOST_LOOKED_AT: Final = 400


def commits_between(directory: Path, explanation: Explanation) -> tuple[tuple[Commit, ...], tuple[str, ...]]:
    """The commits between the releases' tags by the functions that they changed, the first named first; and
    what could not be looked up.

    Raises:
        UsageError: `directory` is no repository.
        CannotDoError: git is not here.
    """
    versions = [wheel.version for wheel in explanation.wheels]
    if len(versions) != 2:
        return (), ()
    ends: list[git.Commit] = []
    for version in versions:
        try:
            ends.append(git.resolve(directory, f"v{version}"))
        except (UsageError, CannotDoError) as error:
            return (), (f"no commits are named: v{version}: {error.message}",)
    older, newer = sorted(ends, key=lambda end: end.time)
    weights: dict[str, float] = {}
    files: dict[str, set[str]] = {}
    looked_at = 0
    for rank, each in enumerate(explanation.functions, start=1):
        path = f"src/{each.file}"
        span = f"{older.id}..{newer.id}"
        for commit in git.run(directory, "rev-list", "--no-merges", span, "--", path).decode().split():
            looked_at += 1
            if looked_at <= _MOST_LOOKED_AT and _changes(directory, commit, path, each.function):
                weights[commit] = weights.get(commit, 0.0) + 1 / rank
                files.setdefault(commit, set()).add(each.file)
    order = sorted(weights, key=lambda commit: (-weights[commit], commit))[:_MOST]
    found = tuple(
        Commit(
            id=commit,
            subject=git.read_commit(directory, commit).subject[:300],
            files=tuple(sorted(files[commit])),
        )
        for commit in order
    )
    more = looked_at > _MOST_LOOKED_AT
    return found, ((f"only {_MOST_LOOKED_AT} commits between the releases were looked at",) if more else ())


def _changes(directory: Path, commit: str, path: str, function: str) -> bool:
    shapes: list[str | None] = []
    for revision in (f"{commit}^", commit):
        try:
            found = SourceFile(path, git.show(directory, revision, path)).functions.get(function)
        except (UsageError, CannotDoError):
            found = None
        shapes.append(found.shape if found is not None else None)
    return shapes[0] != shapes[1]
