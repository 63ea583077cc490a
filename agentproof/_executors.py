"""Where the jobs of a matrix run: processes of this machine, or a dask.distributed cluster."""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from .errors import CannotDoError

_MEMORY_OF_A_JOB: Final = 2**30
"""What one recording takes at most in practice: two repeats, two modes, and the worker itself."""
_LOSSES: Final = 3


@dataclass(frozen=True)
class Pool:
    """How to get an executor, again after one broke, and how many jobs it runs at a time."""

    make: Callable[[], Executor]
    workers: int


@contextmanager
def processes(count: int | None) -> Iterator[Pool]:
    """Worker processes of this machine; None: one for each processor, as far as memory goes."""
    workers = count or max(1, min(_processors(), _available_memory() // _MEMORY_OF_A_JOB))

    def make() -> Executor:
        # Started anew, not forked: the parent has threads by then. A worker that recorded for long is
        # replaced, so that whatever it holds on to goes.
        return ProcessPoolExecutor(
            workers, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=64
        )

    yield Pool(make, workers)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _available_memory() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as facts:
            for line in facts:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:  # no Linux: trust the number of processors
        pass
    return _MEMORY_OF_A_JOB * 64


@contextmanager
def cluster(address: str) -> Iterator[Pool]:
    """The workers of a dask cluster, as long as the block lasts.

    Raises:
        CannotDoError: the extra is not installed, or no cluster answers at `address`.
    """
    try:
        import distributed  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise CannotDoError(
            "--dask needs dask.distributed", hint="pip install 'agentproof-bundles[dask]'"
        ) from error
    try:
        # Any: dask has no types.
        client: Any = distributed.Client(address, timeout=20)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:  # distributed's own timeout is an OSError too
        raise CannotDoError(
            f"no dask cluster at {address}: {error}", hint="start one: `dask scheduler`, `dask worker`"
        ) from error
    with client:
        workers = sum(client.nthreads().values())
        if not workers:
            raise CannotDoError(f"the dask cluster at {address} has no workers", hint="`dask worker`")
        # A job whose worker is lost goes to another one; results are equal whoever makes them.
        yield Pool(lambda: client.get_executor(pure=False, retries=_LOSSES), workers)
