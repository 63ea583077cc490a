"""From a path that the user gave to stories that may be shown, for `show` and `report`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..bundle.store import Bundle
    from ..check.bundle import Reader
    from ..environment.locking import Lock
    from ..record.conditions import Conditions
    from ..record.progress import Progress
    from ..record.reproduction import Reproduction
    from ..record.target import Target
    from ..render.groups import Group
    from ..render.story import Story
    from ..render.summary import Entry


def read_story(path: Path, *, reader: Reader) -> Story:
    """Check the one bundle at `path` as `check-current-bundle` does, and arrange it for reading.

    A bundle whose signer is not trusted is shown all the same, and says so: a stranger's report is what a
    maintainer reads most.

    Raises:
        UsageError: there is no bundle at `path`, or several.
        BundleError: it is INVALID.
    """
    from ..bundle.store import shelf_of
    from ..check.bundle import check_bundle, check_path
    from ..render.story import tell

    place = the_bundle(path)
    shelf = shelf_of(place)
    checked = check_path(place, reader=reader, wheels=shelf)
    refuse_comparison(checked.bundle, path)
    if checked.status == "UNTRUSTED" and checked.bundle is not None:
        # The check stops at the signature; what it was to judge is judged without trust in anybody.
        # Of the bytes that were read: what lies there may be another bundle by now.
        again = check_bundle(checked.bundle, reader=_trusting_nobody(reader), label=checked.report.bundle)
        return tell(again, as_shown=checked.report)
    return tell(checked)


def refuse_comparison(bundle: Bundle | None, path: Path) -> None:
    """For commands that are about one recording.

    Raises:
        UsageError: it is a comparison of several.
    """
    from ..check.members import is_comparison
    from ..errors import UsageError

    if bundle is not None and is_comparison(bundle):
        raise UsageError(
            f"{path} is a comparison of recordings, not one of them",
            hint="`agentproof report` tells of it; `agentproof unpack` gives its recordings, below bundles/",
        )


def read_groups(paths: Iterable[Path], *, reader: Reader) -> list[Group]:
    """The recordings at `paths`, by reproduction; of a comparison one group for each that it compares.

    Raises:
        UsageError: there is no bundle at one of `paths`, or several.
        BundleError: one of them is INVALID.
    """
    from ..bundle.store import read_bundle
    from ..check.members import is_comparison
    from ..errors import BundleError
    from ..render.groups import Attachment, grouped

    groups: list[Group] = []
    plain: list[Attachment] = []
    for path in paths:
        place = the_bundle(path)
        try:
            bundle = read_bundle(place)
        except BundleError:
            bundle = None  # the check says what is wrong with it
        if bundle is not None and is_comparison(bundle):
            groups += _compared(bundle, path.name, reader)
        else:
            plain.append(Attachment(read_story(place, reader=reader), path.name))
    return [*grouped(plain), *groups]


def read_entries(paths: Iterable[Path], *, reader: Reader) -> list[Entry]:
    """Every bundle at or below `paths`, as the reader's check finds it: INVALID ones too."""
    from ..bundle.store import find_bundles, shelf_of
    from ..check.any import check_any
    from ..render.summary import Entry

    entries = []
    for place in (found for path in paths for found in find_bundles(path)):
        checked = check_any(place, reader=reader, wheels=shelf_of(place))
        entries.append(Entry(_short_name(place), checked.report, checked.rows))
    return entries


def _short_name(place: Path) -> str:
    """`case/0.20.0` in a store, the file's name elsewhere."""
    from ..bundle.store import shelf_of

    place = place.absolute()
    return f"{place.parent.name}/{place.name}" if shelf_of(place) is not None else place.name


def _compared(bundle: Bundle, file: str, reader: Reader) -> Iterator[Group]:
    from ..check.bundle import check_bundle
    from ..check.comparison import check_comparison
    from ..render.groups import Attachment, Group
    from ..render.story import tell

    checked = check_comparison(bundle, reader=reader)
    for row in checked.rows:
        recordings = []
        for cell in row.cells:
            if cell.recorded is None:
                continue
            found = checked.recordings[cell.recorded.bundle_id]
            if found.status == "UNTRUSTED" and found.bundle is not None:
                again = check_bundle(found.bundle, reader=_trusting_nobody(reader))
                recordings.append(Attachment(tell(again, as_shown=found.report), file))
            else:
                recordings.append(Attachment(tell(found), file))
        yield Group(row.reproduction, tuple(recordings), row)


def _trusting_nobody(reader: Reader) -> Reader:
    from ..trust.allowed_signers import Trust

    return replace(reader, trust=Trust(), thresholds={})


def named_reproduction(
    path: Path, target: Target | None, *, conditions: Conditions, progress: Progress
) -> tuple[Reproduction, Lock]:
    """The reproduction that a script or a bundle is, with its environment on `target` (None: on its own).

    Raises:
        UsageError: there is no such file, or nothing says which release it is about.
        BundleError: it is a bundle that is not sound.
        CannotDoError: the environment cannot be had.
    """
    from ..bundle.store import shelf_of
    from ..check.bundle import check_path
    from ..record.recording import locked
    from ..record.replay import lock_of, sound
    from ..record.reproduction import read_reproduction
    from ..record.selection import select
    from .check import own_reader

    if path.suffix in (".py", ".ipynb") and path.is_file():
        reproduction = read_reproduction(select(str(path))).expecting(conditions.expectations)
        return reproduction, locked(reproduction, target, conditions, progress)
    place = the_bundle(path)
    checked = check_path(place, reader=own_reader(), wheels=shelf_of(place))
    refuse_comparison(checked.bundle, path)
    _, bundle, recorded, _ = sound(checked)
    reproduction, lock = lock_of(bundle, recorded, conditions=conditions, progress=progress)
    if target is not None:
        return reproduction, locked(reproduction, target, conditions, progress)
    return reproduction, lock


def the_bundle(path: Path) -> Path:
    """The one bundle at `path`, which may be a directory that holds it.

    Raises:
        UsageError: there is none, or there are several.
    """
    from ..bundle.store import find_bundles
    from ..errors import UsageError

    if path.suffix == ".py" and path.is_file():
        raise UsageError(f"{path} is a script, no bundle", hint=f"`agentproof record {path}` makes one of it")
    found = find_bundles(path)
    if len(found) > 1:
        if (path / "matrix.json").is_file():
            raise UsageError(
                f"{path} is a matrix of {len(found)} recordings, and this is about one of them",
                hint=f"`agentproof report {path} --format summary` tells of all in a table, --format html on "
                f"a page; one of them is such as {found[0]}",
            )
        raise UsageError(f"{path} holds {len(found)} bundles; name one", hint=f"such as {found[0]}")
    return found[0]
