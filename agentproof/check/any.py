"""The check of whatever lies at a path: a bundle, or a comparison of bundles."""

from pathlib import Path

from ..bundle.store import Shelf
from ..system.files import shown
from .bundle import CheckedBundle, Reader, check_path
from .members import is_comparison


def check_any(path: Path, *, reader: Reader, wheels: Path | Shelf | None = None) -> CheckedBundle:
    """Check what is at `path`: a bundle, or a comparison, whose report speaks of all its recordings.

    Raises:
        UsageError: there is nothing at `path`.
        CannotDoError: the operating system refuses to read it.
    """
    checked = check_path(path, reader=reader, wheels=wheels)
    if checked.bundle is None or checked.manifest is not None or not is_comparison(checked.bundle):
        return checked
    from .comparison import report_comparison  # noqa: PLC0415 (8 ms, for comparisons only)

    return report_comparison(checked.bundle, reader=reader, label=shown(path))
