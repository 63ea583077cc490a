"""The reproductions that a comparison, bisection or matrix is about, and the names of their rows.

1. A subject is a reproduction's script, a test of it, a bundle, or each script or bundle below a directory;
   one that is named twice is one.
2. It is named after its case: the folder of a `reproduction.py`, the folder above a bundle, else the file's
   own name. Subjects that share a name are named by the ends of their paths, as long as it takes to tell
   them apart.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..bundle.store import MANIFEST, Bundle, check_exists, find_bundles, name_of, read_bundle, shelf_of
from ..check.bundle import Reader, check_bundle
from ..check.members import is_comparison
from ..errors import BundleError, UsageError
from ..models.manifest import Judgement
from ..record import notebook
from ..record.reproduction import Reproduction, read_reproduction, reproduction_in
from ..record.selection import Selection, is_test, select
from ..system.files import shown

SCRIPT: Final = "reproduction.py"
_DEPTH: Final = 3


@dataclass(frozen=True)
class Subject:
    """A reproduction to compare, with its recording where it is a bundle."""

    name: str
    reproduction: Reproduction
    bundle: Bundle | None = None
    judged_now: Judgement | None = None
    """Of a bundle that was recorded by other rules than this tool's: what it judges."""
    place: Path | None = None
    """Where it was found, as it was named."""

    @property
    def python(self) -> str | None:
        """The minor version that a bundle was recorded on: the one to go on with."""
        if self.bundle is None:
            return None
        return ".".join(self.bundle.document.environment.python.version.split(".")[:2])


def find_all(paths: Sequence[Path]) -> list[Subject]:
    """The reproductions at all of `paths`, each once and under a name of its own.

    Raises:
        UsageError: there is nothing of the kind at one of them.
        BundleError: a bundle there is damaged.
    """
    return named_apart([subject for path in paths for subject in find_subjects(path)])


def find_subjects(path: Path, arguments: tuple[str, ...] = ()) -> list[Subject]:
    """The reproductions at `path`: a script, tests, a bundle, or every script or bundle below a directory.

    `arguments` are a script's own, or further tests that are run with the first.

    Raises:
        UsageError: there is nothing of the kind.
        BundleError: a bundle there is damaged.
    """
    if is_test(str(path)):
        tests = read_reproduction(select(str(path), arguments))
        return [Subject(_tests_name(tests.tests), tests, place=tests.script)]
    check_exists(path)
    if path.is_file() and path.suffix in (".py", notebook.SUFFIX):
        return [_script_subject(path, arguments)]
    scripts: list[Path] = []
    if path.is_dir() and not (path / MANIFEST).exists():
        scripts = sorted(_scripts_below(path, _DEPTH))
    # What lies beside a script, or below it, are recordings of it.
    cases = [script.parent for script in scripts]
    places = [place for place in _bundles_at(path, scripts) if not any(map(place.is_relative_to, cases))]
    found = [(place, read_bundle(place, wheels=shelf_of(place))) for place in places]
    bundles = [(place, bundle) for place, bundle in found if not is_comparison(bundle)]
    if not bundles and not scripts:
        raise UsageError(
            f"{path}: a comparison, no reproduction", hint="name the script, or a bundle of one recording"
        )
    return [
        *map(_script_subject, scripts),
        *(_bundle_subject(place, bundle) for place, bundle in bundles),
    ]


def _bundles_at(path: Path, scripts: Sequence[Path]) -> list[Path]:
    try:
        return find_bundles(path)
    except UsageError as error:
        if scripts:
            return []
        others = sorted(each for each in path.glob("*.py") if each.is_file())
        raise UsageError(
            f"{path}: neither a bundle nor a {SCRIPT} in it or below",
            hint=f"name the script: {others[0]}" if others else "name a script, a bundle, or their directory",
        ) from error


def _script_subject(script: Path, arguments: tuple[str, ...] = ()) -> Subject:
    name = script.resolve().parent.name if script.name == SCRIPT else script.stem
    return Subject(shown(name), read_reproduction(Selection(script, arguments=arguments)), place=script)


def _tests_name(tests: tuple[str, ...]) -> str:
    file = tests[0].partition("::")[0]
    return f"{file.rpartition('/')[2]}{_after_file(tests)}"


def _after_file(tests: tuple[str, ...]) -> str:
    more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
    return f"{tests[0].removeprefix(tests[0].partition('::')[0])}{more}" if tests else ""


def _scripts_below(directory: Path, depth: int) -> Iterator[Path]:
    if (directory / SCRIPT).is_file() and not (directory / MANIFEST).exists():
        yield directory / SCRIPT
    elif depth:
        for below in directory.iterdir():
            if below.is_dir() and not below.is_symlink() and not below.name.startswith("."):
                yield from _scripts_below(below, depth - 1)


def _bundle_subject(path: Path, bundle: Bundle) -> Subject:
    checked = check_bundle(bundle, reader=Reader())
    if checked.status == "INVALID" or checked.manifest is None:
        failed = next(check for check in checked.report.checks if check.status == "failed")
        raise BundleError(
            failed.reason or "invalid",
            failed.detail,
            path=str(path),
            hint="`agentproof check-current-bundle` says more",
        )
    in_store = path.is_dir() or shelf_of(path) is not None
    name = path.absolute().parent.name if in_store else name_of(path, bundle)
    now = checked.judgement if checked.judgement != checked.manifest.judgement else None
    return Subject(name, reproduction_in(bundle), bundle=bundle, judged_now=now, place=path)


# Names


def named_apart(subjects: Sequence[Subject]) -> list[Subject]:
    """The subjects without those that are named twice, under different names, by rule 2."""
    once = {(_parts(subject), _tests(subject), subject.name): subject for subject in subjects}
    distinct = list(once.values())
    longest = max((len(_parts(subject)) for subject in distinct), default=0)
    for depth in range(2, longest + 1):
        names = Counter(subject.name for subject in distinct)
        if max(names.values()) == 1:
            break
        distinct = [
            replace(subject, name=_end_of(subject, depth)) if names[subject.name] > 1 else subject
            for subject in distinct
        ]
    return distinct


def _tests(subject: Subject) -> tuple[str, ...]:
    """A bundle is told by its own name."""
    return () if subject.bundle is not None else subject.reproduction.tests


def _parts(subject: Subject) -> tuple[str, ...]:
    return Path(os.path.abspath(subject.place)).parts[1:] if subject.place is not None else ()


def _end_of(subject: Subject, depth: int) -> str:
    """The last `depth` parts of its path, and which of its tests it is."""
    return f"{'/'.join(_parts(subject)[-depth:]) or subject.name}{_after_file(_tests(subject))}"
