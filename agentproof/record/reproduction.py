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
from ..bundle.wheel import split_name
from ..environment.projects import OwnWheel, read_own
from ..errors import CannotDoError, UsageError
from ..isolation.control import read_imported_files, read_reproduction_files
from ..models.exchanges import EXCHANGES, Exchanges
from ..models.expectations import NOTHING, Expectations, combine
from ..models.header import Header, read_header
from ..system.files import read_bounded
from . import notebook
from .names import RENAME, check_mentioned, check_texts, entry_name, is_nameable
from .output import store_above
from .selection import Selection, is_in_project

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
    wheels: tuple[OwnWheel, ...] = ()
    """Wheels of the reporter's own projects, one a project."""
    missing_wheels: tuple[str, ...] = ()
    """Names of those that a bundle comes without."""
    expectations: Expectations = NOTHING
    """What should have happened: the header's, and what a bundle was recorded with."""
    variables: tuple[str, ...] = ()
    """The environment variables that a bundle was recorded with, by name."""
    exchanges: Exchanges | None = None
    """A provider's recorded answers, which every run is given instead of asking it."""
    only_entry: bool = False
    """Its directory is too large to be a reproduction's own, and the other files were left out."""
    script: Path = Path()
    """The entry as it lies on disk, for people and for what is written beside it."""
    root: Path | None = None
    """The folder on disk that `files` were read from; None: it comes from a bundle."""
    is_alone: bool = False
    """What lies beside it was left out, but for what it imports and what was added by hand."""
    directory: Path | None = None
    """The directory that is the reproduction, where it is not just the script's own."""
    left_out: tuple[str, ...] = ()
    """Lines of a notebook for IPython alone that became comments."""

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

    def holding(self, wheels: tuple[OwnWheel, ...]) -> "Reproduction":
        """The same with these wheels too, each in the place of one of its project."""
        names = {wheel.name for wheel in wheels}
        kept = (wheel for wheel in self.wheels if wheel.name not in names)
        missing = tuple(name for name in self.missing_wheels if split_name(name)[0] not in names)
        return replace(self, wheels=(*kept, *wheels), missing_wheels=missing)

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
    left_out: tuple[str, ...] = ()
    if script.suffix == notebook.SUFFIX:
        source, left_out = _converted(source, selection)
    header = _header(source, str(script))
    root, entry = script.resolve().parent, script.name
    if directory is not None:
        root, entry = directory, script.relative_to(directory).as_posix()
    tests, added = selection.tests, selection.added
    files: dict[str, bytes] = {}
    is_named = selection.is_whole or (directory is not None and not tests)
    is_alone, only_entry = not is_named and not is_in_project(root), False
    if not is_alone:
        files, only_entry = read_reproduction_files(root, entry, tests=tests)
    if is_alone or added:
        files |= read_imported_files(root, entry, tests=tests, added=added, text=source)
    files.pop(entry, None)
    if script.suffix == notebook.SUFFIX:
        entry = f"{entry.removesuffix(notebook.SUFFIX)}.py"
        if entry in files:
            raise UsageError(
                f"{script}: a notebook is recorded as its script, and {entry} beside it has that name",
                hint=f"record {script.with_suffix('.py')}, or rename one of them",
            )
    name = _name_in_bundle(selection, entry, files)
    files[name] = source
    check_mentioned(files, entry=name)
    check_texts("the argument", selection.arguments)
    check_texts("the test", tests)
    check_texts("the requirement", header.dependencies)
    check_texts("in the header", filter(None, (header.title, header.reference)))
    return Reproduction(
        entry=name,
        files=files,
        header=header,
        expectations=header.expectations,
        arguments=selection.arguments,
        tests=tests,
        only_entry=only_entry,
        root=root,
        is_alone=is_alone or only_entry,
        script=script,
        directory=directory,
        left_out=left_out,
    )


def _converted(data: bytes, selection: Selection) -> tuple[bytes, tuple[str, ...]]:
    """The script of a notebook, and what of it became comments."""
    made = notebook.script_of(data, str(selection.script))
    return made.source, made.left_out


def _name_in_bundle(selection: Selection, entry: str, files: Mapping[str, bytes]) -> str:
    """The path of the entry in a bundle: its own, or for a script alone the nearest that can be."""
    for path in (entry, *(test.partition("::")[0] for test in selection.tests)):
        if not is_nameable(path) and (selection.tests or "/" in path):
            raise UsageError(f"{path!r} is a name that no bundle can hold", hint=RENAME)
    name = entry_name(entry, files)
    if name != entry and store_above(selection.script, root=selection.root) is not None:
        # There the file beside the bundle is looked for under its name in the bundle.
        raise UsageError(f"{entry!r} is a name that no bundle can hold", hint=f"rename it, to {name}")
    return name


def reproduction_in(bundle: Bundle) -> Reproduction:
    """The reproduction of a bundle that was checked.

    Raises:
        UsageError: it does not compile, or its header makes no sense.
    """
    recorded, recorded_provider = bundle.document.reproduction, bundle.document.provider
    header = _header(bundle.members[recorded.entry], recorded.entry)
    packages = [each for each in bundle.document.environment.packages if each.origin is not None]
    held = [(each.wheel, bundle.wheel(each.wheel)) for each in packages]
    return Reproduction(
        entry=recorded.entry,
        files={path: bundle.members[path] for path in recorded.files},
        header=header,
        expectations=recorded.expectations or header.expectations,
        variables=recorded.variables,
        exchanges=Exchanges.from_bytes(bundle.members[EXCHANGES]) if recorded_provider else None,
        arguments=recorded.arguments,
        tests=recorded.tests,
        requires=recorded.requires,
        wheels=tuple(read_own(data, name) for name, data in held if data is not None),
        missing_wheels=tuple(name for name, data in held if data is None),
        script=Path(recorded.entry),
    )


def as_answered(reproduction: Reproduction, bundle: Bundle) -> Reproduction:
    """The same with the provider's answers that are in a recording of it."""
    exchanges = bundle.members.get(EXCHANGES)
    return replace(reproduction, exchanges=Exchanges.from_bytes(exchanges) if exchanges else None)


def check_wheels(reproduction: Reproduction) -> None:
    """Refuse a reproduction that comes without a wheel of its reporter's own: no index is asked for it.

    Raises:
        CannotDoError: it does.
    """
    if reproduction.missing_wheels:
        first, *_ = reproduction.missing_wheels
        raise CannotDoError(
            f"{', '.join(reproduction.missing_wheels)}: the reporter's own, asked of no index, and the "
            "bundle comes without",
            hint=f"get the bundle with its wheels, or `agentproof unpack` it and put {first} into wheels/",
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
