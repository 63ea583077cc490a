"""What a user names as a reproduction: a script, a directory with an entry, or tests that pytest runs.

Rules:
1. A script's root is its own directory. A directory's root is the directory; its entry is the one that was
   given, else `reproduction.py`, else `__main__.py`, else the only Python file in it.
2. `FILE::NAME` is a test. A file is one, too, if pytest would collect it by its name (`test_*.py`,
   `*_test.py`), it defines tests, and it does not run anything by itself as a script does.
3. The root of tests is pytest's own rootdir: the nearest directory above them with pytest's configuration,
   else with a `pyproject.toml` or `setup.py`, else the working directory if it is above them and no home;
   and at least the directory above the packages that the tests lie in. In a repository store it is the
   case's folder.
4. Node ids are relative to the root, whatever they were relative to when they were typed.
5. All that a directory holds is the reproduction's where somebody named that directory, in a project (a
   `pyproject.toml` or `.git` in it or above, below the home) and in a case of a store. Elsewhere, in a folder
   of downloads, it is the script with the modules beside it that it imports, and what was added by hand.
"""

import ast
import configparser
import fnmatch
import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..errors import UsageError

ENTRIES: Final = ("reproduction.py", "__main__.py")
_TEST_FILES: Final = ("test_*.py", "*_test.py")
_OWN: Final = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
"""Configuration files of pytest's own; in others it has a section."""
_MAX_CONFIGURATION: Final = 2**20


@dataclass(frozen=True)
class Selection:
    """A reproduction on disk, as it was named; nothing of it is read yet."""

    script: Path
    """The entry; for tests the file of the first one."""
    root: Path | None = None
    """The directory that is the reproduction; None: the script's own."""
    arguments: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Node ids below `root`, each once."""
    is_whole: bool = False
    """Of tests: whether their directory was named, and not found by rule 3."""
    added: tuple[Path, ...] = ()
    """What is taken along from beside the script, outside of a project."""


def select(
    first: str, rest: Sequence[str] = (), *, entry: str | None = None, root: Path | None = None
) -> Selection:
    """Understand `FIRST REST…`; `entry` is what is to be run in the directory `first`.

    `root` is the directory that is the reproduction, where that is not the script's own.

    Raises:
        UsageError: there is no such file, nothing says what to run, or tests and arguments are mixed.
    """
    place = Path(first)
    if root is not None:
        return _in_root(first, rest, root, entry=entry)
    if entry is not None:
        if not place.is_dir():
            raise UsageError(f"--entry {entry}: {first} is no directory", hint="give the script alone")
        return _in_directory(place, entry, rest)
    if is_test(first):
        return _tests([first, *rest], base=Path(), root=None)
    if place.is_dir():
        return _in_directory(place, _obvious_entry(place), rest)
    if not place.exists():
        raise UsageError(f"{first}: no such file", hint="`agentproof record SCRIPT`")
    return Selection(script=place, arguments=tuple(rest))


def _in_root(first: str, rest: Sequence[str], root: Path, *, entry: str | None) -> Selection:
    if not root.is_dir():
        raise UsageError(f"--root {root}: no such directory")
    top = _absolute(root)
    if entry is not None or Path(first).is_dir():
        raise UsageError(f"--root {root}: {first} names a directory already", hint="give one of them")
    if is_test(first):
        return replace(_tests([first, *rest], base=Path(), root=top), is_whole=True)
    script = _absolute(Path(first))
    if not script.is_file():
        raise UsageError(f"{first}: no such file", hint="`agentproof record SCRIPT`")
    _below(script, top, first)
    return Selection(script=script, root=top, arguments=tuple(rest))


def is_in_project(directory: Path) -> bool:
    """Whether a directory belongs to a project: rule 5 of the module.

    A home that is itself under version control makes no project of what was downloaded into it.
    """
    place = directory.resolve()
    if place.parent.name == "bundles":
        return True
    home = Path.home().resolve()
    for each in (place, *place.parents):
        if each == home or home.is_relative_to(each):
            return False
        if os.path.isfile(each / "pyproject.toml") or os.path.exists(each / ".git"):
            return True
    return False


def is_test(text: str) -> bool:
    """Whether this names a test, or a file that only pytest gives anything to do."""
    return "::" in text.partition("[")[0] or _is_test_file(Path(text))


def _in_directory(directory: Path, entry: str, rest: Sequence[str]) -> Selection:
    if is_test(entry) or _is_test_file(directory / entry):
        return replace(_tests([entry, *rest], base=directory, root=_absolute(directory)), is_whole=True)
    script = directory / entry
    if not script.is_file():
        raise UsageError(f"--entry {entry}: no such file in {directory}")
    _below(_absolute(script), _absolute(directory), entry)
    return Selection(script=_absolute(script), root=_absolute(directory), arguments=tuple(rest))


def _obvious_entry(directory: Path) -> str:
    for name in ENTRIES:
        if (directory / name).is_file():
            return name
    scripts = sorted(path.name for path in directory.glob("*.py") if path.is_file())
    if len(scripts) == 1:
        return scripts[0]
    held = f" (it holds {', '.join(scripts[:6])}{' …' if len(scripts) > 6 else ''})" if scripts else ""
    tests = [str(directory / name) for name in scripts if _is_test_file(directory / name)]
    raise UsageError(
        f"{directory} does not say what to run: it has neither {' nor '.join(ENTRIES)}{held}",
        hint=f"for its tests name their files: {' '.join(tests[:3])}" if tests else "name it: --entry FILE",
    )


# Tests


def _tests(named: Sequence[str], *, base: Path, root: Path | None) -> Selection:
    """Tests as they were named, relative to `base`."""
    found: list[tuple[Path, str]] = []
    for text in named:
        file, colons, name = _split(text)
        path = base / file
        if not colons and not _is_test_file(path):
            raise UsageError(
                f"{text} is no test, and tests take no arguments",
                hint="tests are named as tests/test_x.py::test_y; arguments go to a script",
            )
        if colons and not name:
            raise UsageError(f"{text} names no test", hint=f"{file}::NAME, or {file} for all of its tests")
        if not path.is_file():
            raise UsageError(f"{text}: there is no file {path}")
        found.append((_absolute(path), f"{colons}{name}"))
    top = root if root is not None else find_root([path for path, _ in found])
    ids = [f"{_below(path, top, str(path))}{name}" for path, name in found]
    return Selection(script=found[0][0], root=top, tests=tuple(dict.fromkeys(ids)))


def _split(text: str) -> tuple[str, str, str]:
    """File, `::` if there is one, and the rest; what is in brackets may hold anything."""
    head, bracket, parameters = text.partition("[")
    file, colons, name = head.partition("::")
    return (file, colons, f"{name}{bracket}{parameters}") if colons else (text, "", "")


def _below(path: Path, root: Path, named: str) -> str:
    if not path.is_relative_to(root):
        raise UsageError(f"{named} is not below {root}", hint="name a directory that holds it")
    return path.relative_to(root).as_posix()


def _is_test_file(path: Path) -> bool:
    if not any(fnmatch.fnmatch(path.name, pattern) for pattern in _TEST_FILES):
        return False
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):  # said where the file is read
        return False
    return any(_is_test_definition(node) for node in tree.body) and not _runs_itself(tree)


def _is_test_definition(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name.startswith("test")
    if not isinstance(node, ast.ClassDef):
        return False
    return node.name.startswith("Test") or any("TestCase" in ast.unparse(base) for base in node.bases)


def _runs_itself(tree: ast.Module) -> bool:
    """Whether the file is a script: it calls what it defines, or has a main guard not for pytest."""
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if own & {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}:
                return True
        elif isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            if not names & {"pytest", "unittest"}:
                return True
    return False


# The root of tests


def find_root(files: Sequence[Path]) -> Path:
    """Where pytest would be run for these (absolute) files, by rule 3."""
    folder = Path(os.path.commonpath([path.parent for path in files]))
    case = next((each for each in (folder, *folder.parents) if each.parent.name == "bundles"), None)
    if case is not None:
        return case
    tops = [_above_packages(path.parent) for path in files]
    return Path(os.path.commonpath([_rootdir(folder), *tops]))


def _rootdir(folder: Path) -> Path:
    above = (folder, *folder.parents)
    configured = next((each for each in above if _is_configured(each)), None)
    if configured is None:
        # pytest 8.1 and later: a pyproject.toml that says nothing of pytest is better than none.
        marks = ("pyproject.toml", "setup.py")
        configured = next((each for each in above for mark in marks if (each / mark).is_file()), None)
    if configured is not None:
        return configured
    here = Path.cwd()
    is_wide = here in (Path.home(), *Path.home().parents)
    return here if folder.is_relative_to(here) and not is_wide else folder


def _above_packages(folder: Path) -> Path:
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _is_configured(folder: Path) -> bool:
    """Whether pytest takes its configuration from here."""
    return any((folder / name).is_file() for name in _OWN) or any(_sections(folder))


def _sections(folder: Path) -> Iterator[bool]:
    yield "pytest" in _pyproject(folder / "pyproject.toml")
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read_string(_text(folder / name))
        except configparser.Error:
            continue
        yield parser.has_section(section)


def _pyproject(path: Path) -> dict[str, object]:
    try:
        tool = tomllib.loads(_text(path)).get("tool", {})
    except tomllib.TOMLDecodeError:
        return {}
    return tool if isinstance(tool, dict) else {}


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(_MAX_CONFIGURATION).decode("utf-8", "replace")
    except OSError:
        return ""


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))


__all__ = ["ENTRIES", "Selection", "find_root", "is_test", "select"]
