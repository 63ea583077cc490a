"""Read a git repository that may be anybody's: commits, trees and files, nothing executed.

Rules:
1. A repository is data. Its configuration can name programs (hooks, filters, fsmonitor, pagers,
   transports, signature checkers); each way to one is closed, and only plumbing that needs none is used.
   Nothing is ever fetched: a partial clone that lacks an object is an error.
2. Contents are raw objects: no attribute, filter, line-ending rule, replacement or graft has a say.
3. What git answers is recomputed: each blob by its id, the whole tree by the commit's.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..bundle.git_objects import EXECUTABLE, FILE, LINK, SUBMODULE, Blob, object_id, tree_id
from ..errors import CannotDoError, UsageError

_SECONDS: Final = 120
_MAX_FILES: Final = 50_000
_MAX_BYTES: Final = 2**30

_OFF: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.sshCommand=false",
    "gpg.program=false",
    "log.showSignature=false",
    "protocol.allow=never",
    # Whoever owns the repository: nothing of it is executed.
    "safe.directory=*",
)

_ENVIRONMENT: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    # GIT_NO_LAZY_FETCH came with git 2.45; before, an allow-list without any transport does the same,
    # and unlike protocol.allow no setting of the repository can widen it.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}


@dataclass(frozen=True)
class Commit:
    """A commit."""

    id: str
    tree: str
    time: int
    """When it was committed (seconds since the epoch)."""
    parents: tuple[str, ...]
    subject: str
    """The first line of its message."""


def run(directory: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run one plumbing command of git in `directory` and return what it wrote.

    Raises:
        UsageError: there is no such repository or object.
        CannotDoError: git is not there, or does not end in time.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such directory")
    git = shutil.which("git")
    if git is None:
        raise CannotDoError("git is not installed", hint="install git, or give a wheel")
    options = [part for setting in _OFF for part in ("-c", setting)]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.devnull, **_ENVIRONMENT}
    try:
        done = subprocess.run(
            [git, "-C", str(directory), "--no-pager", *options, *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env=environment,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotDoError(f"git {arguments[0]} in {directory}: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(
            f"{directory}: {said[-1] if said else f'git {arguments[0]} failed'}",
            hint="give DIR or DIR@REV, with DIR a git checkout that has this commit",
        )
    return done.stdout


def resolve(directory: Path, revision: str = "HEAD") -> Commit:
    """The commit that `revision` names.

    Raises:
        UsageError: there is no such repository or commit.
    """
    if revision.startswith("-") or "\0" in revision:
        raise UsageError(f"{directory}@{revision}: not a revision")
    run(directory, "rev-parse", "--git-dir")  # so that a directory that is no checkout is called that
    try:
        found = run(directory, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except UsageError as error:
        raise UsageError(
            f"{directory} has no commit {revision}",
            hint="name a commit, tag or branch that it has",
        ) from error
    return read_commit(directory, found.decode("ascii").strip())


def branch(directory: Path) -> str | None:
    """The branch that is checked out; None where there is none.

    Raises:
        UsageError: there is no such repository.
        CannotDoError: git is not there, or does not end in time.
    """
    name = run(directory, "rev-parse", "--abbrev-ref", "HEAD").decode("utf-8", "replace").strip()
    return None if name == "HEAD" else name


def read_commit(directory: Path, identity: str) -> Commit:
    """The commit with that id, read from its own bytes.

    Raises:
        UsageError: there is none.
        CannotDoError: what git has under that id is another object.
    """
    ((raw, _),) = read_objects(directory, [(identity, "commit")])
    head, _, message = raw.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, []).append(value)
    return Commit(
        id=identity,
        tree=fields[b"tree"][0].decode("ascii"),
        time=int(fields[b"committer"][0].rsplit(b" ", 2)[1]),
        parents=tuple(parent.decode("ascii") for parent in fields.get(b"parent", [])),
        subject=message.split(b"\n", 1)[0].decode("utf-8", "replace"),
    )


def read_objects(directory: Path, wanted: Sequence[tuple[str, str]]) -> Iterator[tuple[bytes, str]]:
    """The bytes of objects, given as (id, kind), in order; each is held to its id.

    Raises:
        CannotDoError: an object is missing, or is not what its id says.
    """
    answer = memoryview(
        run(
            directory,
            "cat-file",
            "--batch",
            stdin="".join(f"{identity}\n" for identity, _ in wanted).encode(),
        )
    )
    at = 0
    for identity, kind in wanted:
        end = bytes(answer[at : at + 200]).find(b"\n")
        facts = bytes(answer[at : at + end]).decode("ascii", "replace").split(" ")
        if len(facts) != 3 or facts[:2] != [identity, kind]:
            raise CannotDoError(
                f"{directory}: git does not have the {kind} {identity}",
                hint="a partial or shallow clone lacks objects: fetch them first",
            )
        begin = at + end + 1
        data = bytes(answer[begin : begin + int(facts[2])])
        if object_id(kind, data, like=identity) != identity:
            raise CannotDoError(f"{directory}: the {kind} {identity} is damaged (`git fsck` says more)")
        yield data, identity
        at = begin + len(data) + 1


def files(directory: Path, commit: Commit) -> Mapping[str, Blob]:
    """Every file of a commit, path → blob; together they are the commit's tree.

    Raises:
        CannotDoError: there are too many, or they are not the tree's.
    """
    found: dict[str, Blob] = {}
    for line in run(directory, "ls-tree", "-r", "-z", "--full-tree", commit.tree).split(b"\0"):
        if line:
            facts, _, path = line.decode("utf-8", "surrogateescape").partition("\t")
            mode, _, identity = facts.split(" ")
            found[path] = Blob(mode=mode, id=identity)
    if len(found) > _MAX_FILES:
        raise CannotDoError(f"{directory}@{commit.id[:10]} has more than {_MAX_FILES} files")
    if tree_id(found, like=commit.tree) != commit.tree:
        raise CannotDoError(
            f"{directory}: the files of {commit.id[:10]} are not its tree's", hint="`git fsck` says more"
        )
    return found


def export(directory: Path, commit: Commit, target: Path) -> Mapping[str, Blob]:
    """Write the files of a commit into the new directory `target`; what was written.

    Raises:
        CannotDoError: a submodule, a link or name that leads out of the tree, or too much of it.
    """
    tree = files(directory, commit)
    target.mkdir(parents=True)
    for path, blob in tree.items():
        if blob.mode == SUBMODULE:
            raise CannotDoError(
                f"{directory}@{commit.id[:10]}: {path} is a submodule, which an export does not have",
                hint="build the wheel yourself and give it with --wheel",
            )
        _check_inside(path, directory)
    wanted = [(blob.id, "blob") for blob in tree.values()]
    total = 0
    for (path, blob), (data, _) in zip(tree.items(), read_objects(directory, wanted), strict=True):
        total += len(data)
        if total > _MAX_BYTES:
            raise CannotDoError(f"{directory}@{commit.id[:10]} has more than {_MAX_BYTES} bytes")
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if blob.mode == LINK:
            _check_inside(os.path.join(os.path.dirname(path), os.fsdecode(data)), directory)
            continue  # written last, so that nothing is ever written through one
        place.write_bytes(data)
        if blob.mode == EXECUTABLE:
            place.chmod(0o755)
    links = [(path, blob) for path, blob in tree.items() if blob.mode == LINK]
    contents = read_objects(directory, [(blob.id, "blob") for _, blob in links])
    for (path, _), (data, _) in zip(links, contents, strict=True):
        (target / path).symlink_to(os.fsdecode(data))
    return tree


def _check_inside(path: str, directory: Path) -> None:
    """Refuse a path that leaves the tree, or goes into what git itself keeps."""
    normal = os.path.normpath(path)
    parts = normal.split(os.sep)
    if os.path.isabs(path) or "\\" in path or parts[0] == ".." or ".git" in (part.lower() for part in parts):
        raise CannotDoError(f"{directory}: {path!r} leads out of the checkout")


def working_files(directory: Path) -> Mapping[str, Path]:
    """The regular files of the working tree that git tracks or would add, by their path in the tree.

    Raises:
        UsageError: there is no working tree.
        CannotDoError: there are too many.
    """
    top = Path(os.fsdecode(run(directory, "rev-parse", "--show-toplevel").rstrip(b"\n")))
    listed = run(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = sorted({os.fsdecode(name) for name in listed.split(b"\0") if name})
    if len(names) > _MAX_FILES:
        raise CannotDoError(f"{directory} has more than {_MAX_FILES} files")
    return {name: top / name for name in names if (top / name).is_file() and not (top / name).is_symlink()}


def changes(directory: Path, commit: Commit) -> tuple[str, ...]:
    """What the working tree has otherwise than `commit`: changed, added and missing files.

    Bytes are compared, not git's notion of them: `git status` would run the repository's filters.
    """
    tree = {path: blob for path, blob in files(directory, commit).items() if blob.mode in (FILE, EXECUTABLE)}
    working = working_files(directory)
    found = set(tree) ^ set(working)
    for path, place in working.items():
        blob = tree.get(path)
        if blob is not None and object_id("blob", place.read_bytes(), like=blob.id) != blob.id:
            found.add(path)
    return tuple(sorted(found))


def show(directory: Path, revision: str, path: str) -> bytes:
    """The bytes of one file of a commit.

    Raises:
        UsageError: there is no such commit or file.
    """
    commit = resolve(directory, revision)
    blob = files(directory, commit).get(path)
    if blob is None or blob.mode not in (FILE, EXECUTABLE):
        raise UsageError(
            f"{directory}@{revision} has no file {path}", hint="check the path: it is the tree's"
        )
    ((data, _),) = read_objects(directory, [(blob.id, "blob")])
    return data
