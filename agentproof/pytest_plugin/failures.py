"""Failing tests as bundles: `--agentproof-record-failures DIR`.

Rules:
1. After the session each test that failed is recorded once, by its node id, and written to DIR. The outcome
   of the session stays what it is.
2. Where tests are marked `agentproof`, or ask for the fixture of that name, only those count.
3. It is recorded on the SDK that is installed here, or on `--agentproof-target`, with the versions of this
   environment: pytest, its plugins, and the distributions that the test's files import.
4. What cannot be recorded is said with its next step, and is no failure of its own.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ..sdk import DEFAULT

if TYPE_CHECKING:
    from ..bundle.store import Bundle
    from ..trust import signing

OWN = "agentproof-bundles"
MAX_FAILURES = 10
"""A recording takes about half a minute."""
_MAX_NAME = 100
_MAX_FILES = 500


@dataclass(frozen=True)
class Outcome:
    """What became of a failing test."""

    test: str
    archive: Path | None
    lines: tuple[str, ...]
    """For people."""


def record_failures(tests: Iterable[str], *, root: Path, directory: Path, target: str) -> Iterator[Outcome]:
    """Record each of `tests` (node ids below `root`) and write it to `directory`.

    Raises:
        AgentproofError: there is no key to sign with.
    """
    from ..trust import keyring

    key, _, _ = keyring.default_key()
    used: set[str] = set()
    for test in tests:
        name = _file_name(test, used)
        yield _record_one(test, root=root, archive=directory / name, target=target, key=key)


def _record_one(test: str, *, root: Path, archive: Path, target: str, key: signing.PrivateKey) -> Outcome:
    from ..errors import AgentproofError
    from .shared import told

    try:
        # The session may turn warnings into errors; those of a recording are not its own.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            recorded = _record(test, root=root, archive=archive, target=target, key=key)
    except AgentproofError as error:
        hint = (f"next: {error.hint}",) if error.hint else ()
        return Outcome(test, None, (f"could not be recorded: {error.message}", *hint))
    return Outcome(test, archive, tuple(told(recorded)) or ("it did not fail in the recording",))


def _record(test: str, *, root: Path, archive: Path, target: str, key: signing.PrivateKey) -> Bundle:
    from ..record.conditions import Conditions
    from ..record.progress import Silent
    from ..record.recording import check_request, record, write
    from ..record.reproduction import read_reproduction
    from ..record.selection import select
    from ..record.target import parse_target
    from .shared import installed_version

    reproduction = read_reproduction(select(str(root / test)))
    needs = needed(reproduction.script, reproduction.directory or root)
    conditions = Conditions(like=sys.executable, requires=needs)
    archive.parent.mkdir(parents=True, exist_ok=True)
    chosen = parse_target(installed_version() if target == "installed" else target)
    check_request(reproduction, chosen, conditions, output=archive)
    bundle = record(reproduction, chosen, conditions, key=key, progress=Silent())
    write(bundle, reproduction, output=archive, replace=True)
    return bundle


def _file_name(test: str, used: set[str]) -> str:
    stem = re.sub(r"\.py(?=::|$)", "", test)
    stem = re.sub(r"[^A-Za-z0-9._]+", "-", stem).strip("-.")[:_MAX_NAME] or "test"
    name, number = stem, 1
    while name in used:
        number += 1
        name = f"{stem}-{number}"
    used.add(name)
    return f"{name}.agentproof.zip"


# What a test needs beside the SDK


def needed(script: Path, root: Path) -> tuple[str, ...]:
    """Distributions of this environment that the test in `script` needs: pytest, its plugins, and those that
    its files import, as far as they come from an index."""
    by_module = metadata.packages_distributions()
    names = {"pytest", *_plugins()}
    for module in _imported(script, root):
        names |= set(by_module.get(module, ()))
    return tuple(
        sorted(name for name in names if name not in (DEFAULT.distribution, OWN) and _is_released(name))
    )


def _plugins() -> Iterator[str]:
    for entry in metadata.entry_points(group="pytest11"):
        if entry.dist is not None:
            yield entry.dist.name


def _is_released(name: str) -> bool:
    try:
        return metadata.distribution(name).read_text("direct_url.json") is None
    except metadata.PackageNotFoundError:
        return False


def _imported(script: Path, root: Path) -> set[str]:
    """Top-level modules that the test's file, the conftest files above it, and the files below the root that
    these import, import."""
    folders = [each for each in (script.parent, *script.parents) if each.is_relative_to(root)]
    pending = [script, *(each / "conftest.py" for each in folders)]
    places = [*dict.fromkeys([*folders, *_paths_below(root)])]
    seen: set[Path] = set()
    found: set[str] = set()
    while pending and len(seen) < _MAX_FILES:
        file = pending.pop()
        if file in seen or not file.is_file():
            continue
        seen.add(file)
        for name, level in _imports(file):
            if level:
                pending += _files_of(name, [file.parents[level - 1]])
            else:
                found.add(name.partition(".")[0])
                pending += _files_of(name, places)
    return found


def _paths_below(root: Path) -> Iterator[Path]:
    for entry in sys.path:
        place = Path(os.path.abspath(entry or "."))
        if place.is_relative_to(root):
            yield place


def _imports(file: Path) -> Iterator[tuple[str, int]]:
    """Names that are imported, with how many dots stand before them."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            inside = f"{node.module}." if node.module else ""
            yield from ((f"{inside}{alias.name}", node.level) for alias in node.names)


def _files_of(module: str, places: Iterable[Path]) -> Iterator[Path]:
    """Where the module, its packages, or the module that holds such a name would be."""
    parts = module.split(".")
    for place in places:
        for count in range(1, len(parts) + 1):
            below = place.joinpath(*parts[:count])
            yield below.with_suffix(".py")
            yield below / "__init__.py"
