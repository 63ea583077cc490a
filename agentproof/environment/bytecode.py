"""Bytecode of an environment's verified sources: compiled once per lock, hash-checked on each use.

A forged `.pyc` runs while every source is clean, so none is ever taken from where it lies, neither
beside the environment's sources nor beside the standard library's. The interpreter compiles the
sources itself, running nothing of them. The result is kept as one archive; each use checks the
archive's seal and unpacks it below a fresh pycache prefix. The files are PEP 552 unchecked-hash
ones: valid whatever the time stamps of the new copies, and not judged again by Python.

    <cache>/bytecode/<key>   sealed: one line of JSON, [path relative to the sources, size], …; then the files
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..errors import CannotDoError
from ..models.manifest import Package
from ..system.children import dying_with_us
from ..trust import seal as _seal
from .interpreters import Interpreter

_SECONDS: Final = 600

_NOT_LIBRARY: Final = frozenset(
    (
        "site-packages",
        "dist-packages",
        "test",
        "tests",
        "idlelib",
        "lib2to3",
        "ensurepip",
        "turtledemo",
        "tkinter",
    )
)
"""Directories of the standard library that hold no library, or much that no agent imports."""


@dataclass(frozen=True)
class _Tree:
    """A directory of sources."""

    root: Path
    label: str
    """What the compiled files call `root`; the import system puts the real path in as it loads them."""
    key: str
    """SHA-256 of all that the compiled files depend on."""
    without: frozenset[str]
    """Directories that are not compiled."""


class Bytecode:
    """The bytecode of an environment and of its standard library, below a fresh directory `prefix`.

    The interpreter itself is taken as installed.
    """

    def __init__(
        self,
        *,
        prefix: Path,
        site_packages: Path,
        interpreter: Interpreter,
        packages: tuple[Package, ...],
        cache: Path,
    ) -> None:
        self._prefix = prefix
        self._python = interpreter.path
        self._cache = cache
        library = _library(interpreter)
        self._waiting = [library, _environment(interpreter, packages, site_packages)]

    def unpack(self) -> None:
        """Write what is kept. The sources need not be there yet."""
        self._waiting = [tree for tree in self._waiting if not self._unpacked(tree)]

    def compile(self, *, progress: Callable[[str], None]) -> bool:
        """Compile the rest, from sources that were verified just now; whether there was any."""
        for tree in self._waiting:
            sources = tuple(_sources(tree.root, tree.without))
            progress(f"compiling {len(sources)} files of {tree.label} (once)")
            _compile(self._python, tree, sources, self._prefix)
            archive = _packed(self._target(tree))
            if not _seal.keep(self._cache / tree.key, archive, what=f"bytecode {tree.key}"):
                progress("the bytecode cannot be kept: the cache is not writable")
        return bool(self._waiting)

    def _unpacked(self, tree: _Tree) -> bool:
        kept = _seal.kept(self._cache / tree.key, what=f"bytecode {tree.key}")
        if kept is not None:
            _unpack(kept, self._target(tree))
        return kept is not None

    def _target(self, tree: _Tree) -> Path:
        """What `importlib.util.cache_from_source` makes of a source's path below a pycache prefix."""
        return self._prefix / tree.root.relative_to(tree.root.anchor)


def _digest(facts: Iterable[object]) -> str:
    return hashlib.sha256("\n".join(str(fact) for fact in facts).encode()).hexdigest()


def _environment(interpreter: Interpreter, packages: tuple[Package, ...], site_packages: Path) -> _Tree:
    facts = [interpreter.version, interpreter.tags[0], *(package.sha256 for package in packages)]
    return _Tree(site_packages, "site-packages", _digest(facts), frozenset())


def _library(interpreter: Interpreter) -> _Tree:
    root = interpreter.library
    facts: list[object] = [interpreter.version, interpreter.tags[0]]
    for source in _sources(root, _NOT_LIBRARY):
        status = os.stat(os.path.join(root, source))
        facts.append((source, status.st_size, status.st_mtime_ns))
    return _Tree(root, "stdlib", _digest(facts), _NOT_LIBRARY)


def _sources(root: Path, without: frozenset[str]) -> Iterator[str]:
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in without and name != "__pycache__")
        base = os.path.relpath(directory, root)
        for name in sorted(files):
            if name.endswith(".py"):
                yield name if base == "." else os.path.join(base, name)


# Runs under the observed interpreter, without site-packages: standard library only, Python 3.10 and newer.
_COMPILER: Final = """
import importlib.util, os, py_compile, sys
root, label = sys.argv[1:]
for name in filter(None, sys.stdin.read().split("\\0")):
    path = os.path.join(root, name)
    try:
        py_compile.compile(path, importlib.util.cache_from_source(path), label + "/" + name, doraise=True,
                           invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    except (py_compile.PyCompileError, ValueError, RecursionError):
        pass  # a template, or of another Python: its importer would be told the same
"""


def _compile(python: Path, tree: _Tree, sources: tuple[str, ...], prefix: Path) -> None:
    command = [
        *(
            *dying_with_us(),
            str(python),
            "-I",
            "-S",
            "-W",
            "ignore",
            "-X",
            f"pycache_prefix={prefix}",
            "-c",
            _COMPILER,
        ),
        *(str(tree.root), tree.label),
    ]
    shards = os.cpu_count() or 1
    running = []
    try:
        for shard in range(shards):
            names = "\0".join(sources[shard::shards])
            child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={}
            )
            running.append(child)
            assert child.stdin is not None  # noqa: S101 - a pipe was asked for
            child.stdin.write(names.encode("utf-8", "surrogateescape"))
            child.stdin.close()
        for child in running:
            if child.wait(timeout=_SECONDS) != 0:
                raise CannotDoError(f"{python} cannot compile {tree.label} (exit status {child.returncode})")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotDoError(f"{python} cannot compile {tree.label}: {error}") from error
    finally:
        for child in running:
            child.kill()
            child.wait()


def _packed(directory: Path) -> bytes:
    """All compiled files below `directory` as one archive."""
    files, contents = [], []
    for path in sorted(directory.rglob("*.pyc")):
        contents.append(path.read_bytes())
        files.append([path.relative_to(directory).as_posix(), len(contents[-1])])
    return b"".join([json.dumps(files).encode(), b"\n", *contents])


def _unpack(archive: bytes, target: Path) -> None:
    """Write the files of an archive that was sealed by us."""
    head, _, _ = archive.partition(b"\n")
    position = len(head) + 1
    view = memoryview(archive)
    made: set[str] = set()
    for name, size in json.loads(head):
        path = os.path.join(target, name)
        directory = os.path.dirname(path)
        if directory not in made:
            os.makedirs(directory, exist_ok=True)
            made.add(directory)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            os.write(descriptor, view[position : position + size])
        finally:
            os.close(descriptor)
        position += size
