"""Build a target wheel from a git checkout: a commit, or the working tree as it stands.

Rules:
1. A commit's files come out of git as raw objects (`git`): nothing of the checkout's configuration has
   a say in what is built.
2. The wheel is built by the project's own build backend, by uv, from a copy that is thrown away, with
   SOURCE_DATE_EPOCH at the commit's time, so that one commit gives one wheel where the backend allows.
   A backend is code of the checkout: it runs as the user, like `uv build` does.
3. The built wheel's files are the tree's, byte for byte: a file that the build changed, left out or took
   from elsewhere stops it. What the build adds of its own (a version file) is let through; a recording
   that loads it is not called the checkout's by `check --source`.
4. Changes that are not committed are never built unasked.
5. A wheel of a commit is kept, sealed, in the cache; a changed working tree is built each time.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from ..check.trees import Tree, compare_tree, directory_tree, git_tree
from ..errors import BundleError, CannotDoError, UsageError
from ..models.manifest import Origin
from ..models.wire import bounded
from ..system import temporary
from ..trust import seal as _seal
from . import git, index, uv
from .git import Commit
from .interpreters import Interpreter
from .wheel_store import WheelStore

_BUILD_SECONDS: Final = 600


@dataclass(frozen=True)
class BuiltWheel:
    """A wheel that was built from a checkout; it lies there as long as the block that made it."""

    wheel: Path
    origin: Origin


def is_ancestor(directory: Path, old: Commit, new: Commit) -> bool:
    """Whether `old` is in the history of `new`.

    Raises:
        UsageError: neither is in the history of the other one.
    """
    base = git.run(directory, "merge-base", old.id, new.id).decode("ascii").strip()
    if base not in (old.id, new.id):
        raise UsageError(
            f"{directory}: neither of {old.id[:10]} and {new.id[:10]} comes after the other",
            hint="name two commits of one branch",
        )
    return base == old.id


def first_parents(directory: Path, old: Commit, new: Commit) -> tuple[Commit, ...]:
    """The commits after `old` up to `new` along first parents, oldest first, led by `old` itself.

    Raises:
        UsageError: `old` is no ancestor of `new` along first parents.
    """
    listed = git.run(directory, "rev-list", "--first-parent", "--reverse", f"{old.id}..{new.id}", "--")
    identities = listed.decode("ascii").split()
    found = (old, *(git.read_commit(directory, identity) for identity in identities))
    for before, after in pairwise(found):
        if after.parents[:1] != (before.id,):
            raise UsageError(
                f"{directory}: {old.id[:10]} is not on the line of first parents of {new.id[:10]}",
                hint="name two commits of one branch",
            )
    return found


def look(directory: Path, revision: str | None, *, dirty: bool = False) -> tuple[Commit, bool]:
    """The commit to build, and whether what is not committed belongs to it; nothing is built.

    Raises:
        UsageError: there is no such checkout or commit, or it has changes and `dirty` was not given.
    """
    commit = git.resolve(directory, revision or "HEAD")
    changed = git.changes(directory, commit) if revision is None else ()
    if changed and not dirty:
        raise UsageError(
            f"{directory} has changes that are not committed: {_some(changed)}",
            hint=f"commit them, name a commit ({directory.name}@HEAD), or give --dirty",
        )
    return commit, bool(changed)


@contextmanager
def built(
    directory: Path,
    revision: str | None,
    *,
    dirty: bool = False,
    offline: bool = False,
    interpreter: Interpreter,
    store: WheelStore,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[BuiltWheel]:
    """The wheel of a commit; without `revision` of HEAD, or with `dirty` of the working tree as it stands.

    Raises:
        UsageError: there is no such checkout or commit, or it has changes and `dirty` was not given.
        CannotDoError: it cannot be built, or what is built is not what the tree holds.
    """
    commit, dirty = look(directory, revision, dirty=dirty)
    asked = revision if revision is not None else git.branch(directory)
    origin = Origin(
        kind="checkout",
        commit=commit.id,
        tree=commit.tree,
        dirty=True if dirty else None,
        # An id, or the start of one, says nothing that the commit does not.
        revision=None if asked is None or commit.id.startswith(asked.lower()) else bounded(asked),
    )
    with temporary.directory("build") as base:
        kept = store.cache / "built" / f"{commit.id}-{interpreter.minor}"
        if not dirty and (found := _kept(kept, base / "kept")):
            yield BuiltWheel(found, origin)
            return
        progress(f"building {directory.name}@{commit.id[:10]}{' with its changes' if dirty else ''}")
        source = base / "source"
        if dirty:
            for path, place in git.working_files(directory).items():
                (source / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(place, source / path)
            tree = directory_tree(source, label=directory.name)
            # Read now: the backend may write into its copy.
            tree = replace(tree, identity={path: tree.identity(path) for path in tree.paths}.get)
        else:
            tree = git_tree(directory.name, git.export(directory, commit, source))
        wheel = build_wheel(
            source,
            base / "dist",
            what=f"commit {commit.id[:10]}",
            epoch=commit.time,
            interpreter=interpreter,
            cache=store.cache,
            offline=offline,
        )
        _check_to_tree(wheel, tree)
        if not dirty:
            _keep(kept, wheel)
        yield BuiltWheel(wheel, origin)


def _check_to_tree(wheel: Path, tree: Tree) -> None:
    """Refuse a wheel with other files than the tree's."""
    try:
        compared = compare_tree(wheel.read_bytes(), wheel.name, tree, loaded=())
    except BundleError as error:
        raise CannotDoError(f"what was built is no sound wheel: {error}") from error
    if compared.differing or not compared.same:
        raise CannotDoError(
            f"{wheel.name} is not what {tree.label} holds: {_some(compared.differing) or 'no file of it'}",
            hint="build the wheel yourself and give it with --wheel",
        )


def _some(names: Sequence[str]) -> str:
    """The first few of them."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def build_wheel(
    source: Path,
    out: Path,
    *,
    what: str,
    epoch: int,
    interpreter: Interpreter,
    cache: Path,
    offline: bool,
) -> Path:
    """Build the wheel of the project in `source`, which its backend may write into.

    `what` names it in errors.

    Raises:
        CannotDoError: it cannot be built.
    """
    settings = index.index_settings()
    done = uv.run_uv(
        [
            *("build", "--wheel", "--no-sources", "--out-dir", str(out)),
            *(["--offline"] if offline else []),
            *("--python", str(interpreter.path), str(source)),
        ],
        environment={**settings.environment, "SOURCE_DATE_EPOCH": str(epoch)},
        cache=cache,
        seconds=_BUILD_SECONDS,
    )
    wheels = sorted(out.glob("*.whl")) if out.is_dir() else []
    if done.returncode != 0 or len(wheels) != 1:
        said = " ".join(done.stderr.split()).removeprefix("Building wheel... error: ")
        if len(said) > 600:
            said = f"… {said[-600:].partition(' ')[2]}"
        raise CannotDoError(
            f"{what} cannot be built: {said or f'{len(wheels)} wheels came out'}",
            hint="run once without --offline, for what the build needs"
            if offline and "network" in said
            else "try `uv build --wheel` there",
        )
    return wheels[0]


def _kept(place: Path, out: Path) -> Path | None:
    data = _seal.kept(place, what=f"built {place.name}")
    if data is None:
        return None
    name, _, content = data.partition(b"\n")
    out.mkdir()
    wheel = out / name.decode("ascii")
    wheel.write_bytes(content)
    return wheel


def _keep(place: Path, wheel: Path) -> None:
    data = wheel.name.encode("ascii") + b"\n" + wheel.read_bytes()
    _seal.keep(place, data, what=f"built {place.name}")
