"""What the reader names on the command line for a check: checkouts, environments, trust in a revision.

Nothing of them is executed or imported: a revision is read as git objects, a virtual environment is
found by its own layout, and another interpreter is asked for its directories without its site module.
"""

import os
import shutil
import subprocess
from pathlib import Path

from ..check.trees import Tree, directory_tree, git_tree
from ..errors import CannotDoError, UsageError
from ..trust.allowed_signers import Trust, parse_trust, read_trust
from . import git

_SECONDS = 30


def checkout_tree(text: str) -> Tree:
    """The files that `DIR` holds as it stands, or those of the commit in `DIR@REV`.

    Raises:
        UsageError: there is no such directory, repository or commit, or it may be both.
        CannotDoError: git is missing, or the objects are not what their ids say.
    """
    directory, at, revision = text.rpartition("@")
    if not at or revision.endswith("/") or not Path(directory).is_dir():
        if not Path(text).is_dir():
            raise UsageError(f"--source {text}: no such directory", hint="give a checkout: DIR or DIR@REV")
        tree = directory_tree(Path(text))
        if not any(path.endswith(".py") for path in tree.paths):
            raise UsageError(
                f"--source {text}: there is no Python file in it", hint="give a checkout: DIR or DIR@REV"
            )
        return tree
    if Path(text).is_dir():
        # Whoever can add a directory to a checkout must not take the place of a revision.
        raise UsageError(
            f"{text} is a directory, and {revision} may be a revision of {directory}",
            hint=f"write {text}/ for the directory; rename it for the revision",
        )
    commit = git.resolve(Path(directory), revision)
    files = git.files(Path(directory), commit)
    return git_tree(text, files, commit=commit.id, tree=commit.tree)


def installed_tree(python: str) -> Tree:
    """The site-packages of the interpreter (or virtual environment) that `python` names.

    Raises:
        UsageError: there is no such interpreter.
        CannotDoError: it does not say where its packages are.
    """
    return directory_tree(_site_packages(python), label=python)


def trust_argument(text: str, *, principal: str | None = None) -> Trust:
    """The trust in a file, or in `REV:PATH` of the repository in the working directory.

    A pull request can change the files that it brings, but not those of its base branch.

    Raises:
        UsageError: there is no such file, commit or repository, or it may be both.
        TrustError: it holds no trust.
    """
    revision, colon, path = text.partition(":")
    if not colon or text.startswith((".", "/")) or Path(text).is_absolute():
        return read_trust(Path(text), principal=principal)
    if os.path.lexists(text):
        # A pull request may bring a file of the very name, `main:signers`, to take the place of the revision.
        raise UsageError(
            f"{text} is a file here, and may be {path} of the revision {revision}",
            hint=f"write ./{text} for the file; take it away for the revision",
        )
    return parse_trust(git.show(Path(), revision, path), source=text, principal=principal)


def _site_packages(python: str) -> Path:
    named = Path(python)
    path = named / "bin" / "python" if named.is_dir() else Path(shutil.which(python) or python)
    # Not resolved: the link's own place is the environment, its target is the base interpreter's.
    environment = path.absolute().parent.parent
    if (environment / "pyvenv.cfg").is_file():
        found = [*environment.glob("lib/python3.*/site-packages"), *environment.glob("Lib/site-packages")]
        if len(found) == 1:
            return found[0]
        raise CannotDoError(f"{environment} has {len(found)} site-packages directories")
    hint = "name a python, or a virtual environment"
    if not path.is_file():
        raise UsageError(f"--installed {python}: no such interpreter", hint=hint)
    if not os.access(path, os.X_OK):
        raise UsageError(f"--installed {python}: no interpreter", hint=hint)
    command = [
        str(path.absolute()),
        "-I",
        "-S",
        "-c",
        "import sysconfig; print(sysconfig.get_path('purelib'))",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_SECONDS, env={})
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotDoError(
            f"--installed {python} does not say where its packages are: {error}", hint=hint
        ) from error
    return Path(done.stdout.strip())
