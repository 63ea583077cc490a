"""The modules beside a script that it imports by name, found by reading and without running anything.

1. `import a.b`, `from a import b`, `from . import b`, and `import_module` or `__import__` of a literal, at
   any depth of the code; then the same of each file that was found.
2. A name is looked up where Python would look first: in the script's folder. A file that stands there goes
   in whatever else has that name, as it would be imported.
3. Links that lead outside, and whatever is no regular file, are not there.
"""

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

_IMPORTING: Final = frozenset({"import_module", "__import__", "run_module", "importorskip"})
_EXTENSIONS: Final = (".so", ".pyd")
_MOST_READ: Final = 4 * 2**20
"""Bytes of source that are parsed: somebody's folder may hold anything."""


def imported_files(
    root: Path, entries: Iterable[str], *, search: Sequence[str] = ("",)
) -> Iterator[tuple[str, Path]]:
    """Every file of a module that `entries` import, by its path below `root`; `search`: folders below it."""
    top = Path(os.path.realpath(root))
    queue = list(entries)
    seen = set(queue)
    left = _MOST_READ
    while queue and left > 0:
        name = queue.pop(0)
        source = _source(top / name, limit=left)
        left -= len(source)
        for module, folders in _modules(source, PurePosixPath(name).parent, search):
            for found, path in _files_of(top, module, folders):
                if found not in seen:
                    seen.add(found)
                    queue.append(found)
                    yield found, path


def _source(path: Path, *, limit: int) -> bytes:
    """A Python file's text; none of what is over the limit or cannot be read, which is said elsewhere."""
    if path.suffix != ".py":
        return b""
    try:
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError:
        return b""
    return data if len(data) <= limit else b""


def _modules(
    source: bytes, folder: PurePosixPath, search: Sequence[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each dotted name that a file imports, with the folders below which it may be."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # said where it is run
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, tuple(search)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            folders = tuple(search)
            if node.level:
                above = [folder, *folder.parents]
                folders = (str(above[node.level - 1]),) if node.level <= len(above) else ()
            base = node.module or ""
            yield base, folders
            yield from (
                (f"{base}.{alias.name}" if base else alias.name, folders)
                for alias in node.names
                if alias.name != "*"
            )
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in _IMPORTING and isinstance(node.args[0].value, str):
                yield node.args[0].value, tuple(search)


def _files_of(top: Path, module: str, folders: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """The files of a module and of the packages that it is in."""
    parts = module.split(".") if module else []
    if not all(part.isidentifier() for part in parts):
        return
    for folder in folders:
        place = PurePosixPath(folder)
        candidates = [place / "__init__.py"] if not parts and folder not in {"", "."} else []
        for part in parts:
            candidates += [place / f"{part}.py", place / part / "__init__.py"]
            candidates += _extensions(top, place, part)
            place = place / part
        for candidate in candidates:
            path = Path(os.path.realpath(top / candidate))
            if path.is_relative_to(top) and os.path.isfile(path):
                yield str(candidate), path


def _extensions(top: Path, place: PurePosixPath, name: str) -> list[PurePosixPath]:
    try:
        return [
            place / path.name
            for path in sorted((top / place).glob(f"{name}.*"))
            if path.name.endswith(_EXTENSIONS)
        ]
    except OSError:
        return []
