"""Check many bundles: in their order, each as soon as it is known, wheels read once, several at a time.

Few bundles are checked in this process. Many are spread over forked workers, which inherit what the
reader brings; a report says the same whichever process made it.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..bundle.store import Shelf, shelf_of
from ..errors import CannotDoError
from ..models.report import Report
from .any import check_any
from .bundle import Reader

FEW = 48
"""A pool costs about as much as this many checks."""
_CHUNK = 8


class Checker:
    """Checks bundles for one reader and reads each store's wheels once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._shelves: dict[Path, Shelf] = {}

    def __call__(self, path: Path) -> Report:
        """The report on the bundle or comparison at `path`; raises as `check_any` does."""
        wheels = shelf_of(path)
        shelf = None
        if wheels is not None:
            shelf = self._shelves.setdefault(wheels, Shelf(wheels))
        return check_any(path, reader=self._reader, wheels=shelf).report


def check_many(paths: Sequence[Path], *, reader: Reader, workers: int | None = None) -> Iterator[Report]:
    """Yield a report for each of `paths`, in order.

    Raises:
        UsageError: a path is not there.
        CannotDoError: the operating system refuses to read one, or ends a process that checks.
    """
    checker = Checker(reader)
    wanted = workers if workers is not None else _processors()
    if wanted < 2 or len(paths) < FEW or not hasattr(os, "fork"):
        yield from map(checker, paths)
        return
    import multiprocessing  # noqa: PLC0415 (15 ms, for many only)
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415

    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(wanted, context, initializer=_inherit, initargs=(checker,)) as pool:
            yield from pool.map(_check, paths, chunksize=_CHUNK)
    except BrokenProcessPool as error:
        raise CannotDoError(
            "a process that checks bundles was killed", hint="for want of memory? check fewer at once"
        ) from error


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_inherited: list[Checker] = []


def _inherit(checker: Checker) -> None:
    # Arguments of a forked worker are handed over in memory: a reader's callables need not be pickled.
    _inherited[:] = [checker]


def _check(path: Path) -> Report:
    return _inherited[0](path)
