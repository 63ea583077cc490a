"""From a path that the user gave to a story that may be shown, for `show` and `report`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..report._story import Story


def read_story(path: Path, *, trust_files: tuple[Path, ...] = (), wheels: tuple[Path, ...] = ()) -> Story:
    """Check the one bundle at `path` as `check-current-bundle` does, and arrange it for reading.

    A bundle whose signer is not trusted is shown all the same, and says so: a stranger's report is what a
    maintainer reads most.

    Raises:
        UsageError: there is no bundle at `path`, or several.
        BundleError: it is INVALID.
    """
    from ..check import check_path
    from ..errors import UsageError
    from ..report._story import tell
    from ..store import find_bundles, shelf_of
    from ..trust import Trust
    from .check import own_reader

    found = find_bundles(path)
    if len(found) > 1:
        raise UsageError(f"{path} holds {len(found)} bundles; name one", hint=f"such as {found[0]}")
    reader = own_reader(trust_files=trust_files, wheels=wheels)
    shelf = shelf_of(found[0])
    checked = check_path(found[0], reader=reader, wheels=shelf)
    if checked.status == "UNTRUSTED":
        # The check stops at the signature; what it was to judge is judged without trust in anybody.
        told = checked.report
        checked = check_path(found[0], reader=replace(reader, trust=Trust(), thresholds={}), wheels=shelf)
        return tell(checked, as_shown=told)
    return tell(checked)
