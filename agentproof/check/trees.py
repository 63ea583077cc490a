"""The target wheel against files that the reader has: a checkout, a revision, an installed package.

1. The wheel's own files (all but its .dist-info) are looked for below one directory of the tree, the
   one where the most of them are: `src/` in many checkouts, the top in site-packages.
2. A file with other bytes differs. Git's blob ids are computed from the wheel's bytes, so nobody's
   word is taken for them.
3. A Python file that the tree has beside the wheel's own, in one of its packages, differs too.
4. A file that the wheel alone has differs where it was loaded; else it was made by the build, and is
   counted.
"""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..bundle.git_objects import EXECUTABLE, FILE, Blob, object_id
from ..bundle.wheel import Archive
from ..errors import CannotDoError, UsageError
from ..limits import MAX_TREE_FILES, MAX_WHEEL_UNPACKED
from ..system.files import shown

_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})
_CODE = (".py", ".pyi", ".so", ".pyd")


@dataclass(frozen=True)
class Tree:
    """Files that the reader has."""

    label: str
    """For people: a path, `DIR@REV`, an interpreter."""
    paths: Collection[str]
    """Every file, relative, with POSIX separators."""
    identity: Callable[[str], str | None]
    """What names the bytes of one of them; None where it cannot be read as a file."""
    of: Callable[[bytes], str]
    """What names some bytes in the same way."""
    commit: str | None = None
    tree: str | None = None


@dataclass(frozen=True)
class TreeComparison:
    """How the files of a wheel compare with a tree."""

    label: str
    same: int
    differing: tuple[str, ...]
    """Paths in the wheel whose bytes differ, and those that only one side has."""
    built: int
    """Files of the wheel alone that were not loaded: made by the build."""
    commit: str | None
    tree: str | None


def git_tree(
    label: str, files: Mapping[str, Blob], *, commit: str | None = None, tree: str | None = None
) -> Tree:
    """A revision, as `environment.git.files` gives it."""
    blobs = {path: blob.id for path, blob in files.items() if blob.mode in (FILE, EXECUTABLE)}
    like = next(iter(blobs.values()), "0" * 40)
    return Tree(label, blobs.keys(), blobs.get, lambda data: object_id("blob", data, like=like), commit, tree)


def directory_tree(root: Path, *, label: str | None = None) -> Tree:
    """A directory as it stands: raw bytes, no git, nothing imported, links not followed.

    Raises:
        UsageError: it is no directory, or holds more files than a checkout does.
        CannotDoError: the operating system refuses to list it.
    """
    if not root.is_dir():
        raise UsageError(f"{root}: no such directory")
    paths = frozenset(_files_below(root))

    def identity(path: str) -> str | None:
        data = _read(root / path)
        return None if data is None else _sha256(data)

    return Tree(shown(label or root), paths, identity, _sha256)


def compare_tree(wheel: bytes, file_name: str, tree: Tree, *, loaded: Collection[str]) -> TreeComparison:
    """Compare the target wheel with a tree; `loaded` are the paths that the recording loaded."""
    archive = Archive(wheel, path=file_name)
    own = [name for name in archive.names if not name.partition("/")[0].endswith((".dist-info", ".data"))]
    base = _base(own, tree.paths)
    differing: list[str] = []
    same = built = 0
    for name in own:
        if base + name not in tree.paths:
            if name in loaded:
                differing.append(f"{name} (only in the wheel)")
            else:
                built += 1
        elif tree.identity(base + name) == tree.of(archive.read(name)):
            same += 1
        else:
            differing.append(name)
    differing += [f"{path} (not in the wheel)" for path in _beside(own, base, tree.paths)]
    return TreeComparison(tree.label, same, tuple(differing), built, tree.commit, tree.tree)


def _base(own: Collection[str], paths: Collection[str]) -> str:
    """The directory of the tree below which the most of these files are."""
    tops = {name for name in own if name.endswith("/__init__.py") and name.count("/") == 1} or set(own)
    found: Counter[str] = Counter()
    for path in paths:
        for top in tops:
            if path == top or path.endswith(f"/{top}"):
                found[path.removesuffix(top)] += 1
    candidates = sorted(found, key=lambda base: (base.count("/"), base))
    known = set(paths)
    return max(candidates, key=lambda base: sum(base + name in known for name in own), default="")


def _beside(own: Collection[str], base: str, paths: Collection[str]) -> Iterator[str]:
    """Code in the wheel's packages that the wheel does not have."""
    packages = tuple(f"{base}{name.partition('/')[0]}/" for name in own if name.count("/") == 1)
    mine = {base + name for name in own}
    for path in sorted(paths):
        if path.startswith(packages) and path.endswith(_CODE) and path not in mine:
            yield path.removeprefix(base)


def _files_below(root: Path) -> Iterator[str]:
    left = MAX_TREE_FILES
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            with os.scandir(root / prefix) as found:
                entries = list(found)
        except OSError as error:
            raise CannotDoError(f"{root / prefix}: {error.strerror}") from error
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _SKIPPED:
                    waiting.append(f"{prefix}{entry.name}/")
            else:
                left -= 1
                yield f"{prefix}{entry.name}"
        if left < 0:
            raise UsageError(f"{root}: more than {MAX_TREE_FILES} files", hint="name the checkout itself")


def _read(path: Path) -> bytes | None:
    """The raw bytes of a regular file; None for anything else."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as stream:
            return stream.read(MAX_WHEEL_UNPACKED)
    except OSError:
        return None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
