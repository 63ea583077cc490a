"""A reproduction: a script, or tests that pytest runs, with its files.

The files are read once, with the header; whatever becomes of them on disk, this is what is run, signed and
written. From a bundle it comes without a disk.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from ..bundle.store import Bundle
from ..errors import UsageError
from ..isolation.control import read_reproduction_files
from ..models.expectations import NOTHING, Expectations, combine
from ..models.header import Header, read_header
from ..system.files import read_bounded
from .selection import Selection

_MAX_SCRIPT: Final = 4 * 2**20


@dataclass(frozen=True)
class Reproduction:
    """What is run, by content; it compiles."""

    entry: str
    """The script, or the file of the first test, by its path among `files`."""
    files: Mapping[str, bytes]
    """Every file that it may find beside it, by its path."""
    header: Header
    arguments: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """pytest node ids; then these are run instead of the entry."""
    requires: tuple[str, ...] = ()
    """Requirements beyond the header's."""
    expectations: Expectations = NOTHING
    """What should have happened: the header's, and what a bundle was recorded with."""
    variables: tuple[str, ...] = ()
    """The environment variables that a bundle was recorded with, by name."""
    only_entry: bool = False
    """Its directory is too large to be a reproduction's own, and the other files were left out."""
    script: Path = Path()
    """The entry as it lies on disk, for people and for what is written beside it."""
    directory: Path | None = None
    """The directory that is the reproduction, where it is not just the script's own."""

    @property
    def name(self) -> str:
        """What it is called in errors."""
        return ", ".join(self.tests) if self.tests else str(self.script)

    @property
    def requires_python(self) -> SpecifierSet:
        """The Python that the header asks for.

        Raises:
            UsageError: that makes no sense.
        """
        text = self.header.requires_python or ""
        try:
            return SpecifierSet(text)
        except InvalidSpecifier as error:
            raise UsageError(f"{self.script}: requires-python {text!r}: {error}") from error

    def requiring(self, requires: tuple[str, ...]) -> "Reproduction":
        """The same with these requirements too."""
        return replace(self, requires=tuple(dict.fromkeys((*self.requires, *requires))))

    def expecting(self, expectations: Expectations) -> "Reproduction":
        """The same with these expectations too.

        Raises:
            UsageError: they contradict its own.
        """
        return replace(self, expectations=combine(self.expectations, expectations))


def read_reproduction(selection: Selection) -> Reproduction:
    """Read what was named.

    Raises:
        UsageError: the script is missing, does not compile, or its header makes no sense.
    """
    script, directory = selection.script, selection.root
    source = read_bounded(script, limit=_MAX_SCRIPT, what="reproduction")
    header = _header(source, str(script))
    root, entry = script.resolve().parent, script.name
    if directory is not None:
        root, entry = directory, script.relative_to(directory).as_posix()
    files, only_entry = read_reproduction_files(root, entry, tests=selection.tests)
    return Reproduction(
        entry=entry,
        files={**files, entry: source},
        header=header,
        expectations=header.expectations,
        arguments=selection.arguments,
        tests=selection.tests,
        only_entry=only_entry,
        script=script,
        directory=directory,
    )


def reproduction_in(bundle: Bundle) -> Reproduction:
    """The reproduction of a bundle that was checked.

    Raises:
        UsageError: it does not compile, or its header makes no sense.
    """
    recorded = bundle.document.reproduction
    header = _header(bundle.members[recorded.entry], recorded.entry)
    return Reproduction(
        entry=recorded.entry,
        files={path: bundle.members[path] for path in recorded.files},
        header=header,
        expectations=recorded.expectations or header.expectations,
        variables=recorded.variables,
        arguments=recorded.arguments,
        tests=recorded.tests,
        requires=recorded.requires,
        script=Path(recorded.entry),
    )


def _header(source: bytes, path: str) -> Header:
    header = read_header(source, path=path)
    try:
        compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise UsageError(
            f"{path}:{error.lineno}: {error.msg}", hint="the script does not compile; nothing was recorded"
        ) from error
    except ValueError as error:  # null bytes
        raise UsageError(f"{path}: {error}") from error
    return header
