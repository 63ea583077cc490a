"""From a path that the user gave to stories that may be shown, for `show` and `report`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..check import Reader
    from ..report._story import Story
    from ..store import Bundle


def read_story(path: Path, *, reader: Reader) -> Story:
    """Check the one bundle at `path` as `check-current-bundle` does, and arrange it for reading.

    A bundle whose signer is not trusted is shown all the same, and says so: a stranger's report is what a
    maintainer reads most.

    Raises:
        UsageError: there is no bundle at `path`, or several.
        BundleError: it is INVALID.
    """
    from ..check import check_path
    from ..report._story import tell
    from ..store import shelf_of

    place = _the_bundle(path)
    shelf = shelf_of(place)
    checked = check_path(place, reader=reader, wheels=shelf)
    if checked.status == "UNTRUSTED":
        # The check stops at the signature; what it was to judge is judged without trust in anybody.
        told = checked.report
        return tell(check_path(place, reader=_trusting_nobody(reader), wheels=shelf), as_shown=told)
    return tell(checked)


def read_stories(path: Path, *, reader: Reader) -> list[Story]:
    """The story of the bundle at `path`, or those of a comparison's recordings, what it compares with first.

    Raises:
        UsageError: there is no bundle at `path`, or several, or a comparison of several reproductions.
        BundleError: it is INVALID.
    """
    from .._comparison import is_comparison
    from ..errors import BundleError
    from ..store import read_bundle

    place = _the_bundle(path)
    try:
        bundle = read_bundle(place)
    except BundleError:
        return [read_story(place, reader=reader)]  # which says what is wrong with it
    return _compared(bundle, place, reader) if is_comparison(bundle) else [read_story(place, reader=reader)]


def _compared(bundle: Bundle, place: Path, reader: Reader) -> list[Story]:
    from .._checks._comparisons import check_comparison
    from ..check import check_bundle
    from ..errors import UsageError
    from ..report._story import tell

    checked = check_comparison(bundle, reader=reader)
    if len(checked.comparison.rows) > 1:
        names = ", ".join(row.reproduction for row in checked.comparison.rows)
        raise UsageError(f"{place} compares several reproductions ({names}); a report is about one")
    stories = []
    for cell in checked.comparison.rows[0].cells:
        if cell.recorded is None:
            continue
        found = checked.recordings[cell.recorded.bundle_id]
        if found.status == "UNTRUSTED" and found.bundle is not None:
            again = check_bundle(found.bundle, reader=_trusting_nobody(reader))
            stories.append(tell(again, as_shown=found.report))
        else:
            stories.append(tell(found))
    return stories


def _trusting_nobody(reader: Reader) -> Reader:
    from ..trust import Trust

    return replace(reader, trust=Trust(), thresholds={})


def _the_bundle(path: Path) -> Path:
    from ..errors import UsageError
    from ..store import find_bundles

    found = find_bundles(path)
    if len(found) > 1:
        raise UsageError(f"{path} holds {len(found)} bundles; name one", hint=f"such as {found[0]}")
    return found[0]
