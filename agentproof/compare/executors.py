"""Where the jobs of a matrix run: processes of this machine, or a dask.distributed cluster."""

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from ..errors import CannotDoError
from ..system.processes import Processes

_MEMORY_OF_A_JOB: Final = 2**30
"""What one recording takes at most in practice: two repeats, two modes, and the worker itself."""
_LOSSES: Final = 3
_REPEATS: Final = 2
"""Processes that a recording keeps busy at a time, where its repeats run side by side."""


@dataclass(frozen=True)
class Pool:
    """How to get an executor, again after one broke, and how many jobs it runs at a time."""

    make: Callable[[], Executor]
    workers: int
    fills: bool = False
    """Whether recordings that run their repeats side by side would be more than the processors can take."""


@contextmanager
def processes(count: int | None) -> Iterator[Pool]:
    """Worker processes of this machine; None: one for each processor, as far as memory goes."""
    workers = count or max(1, min(_processors(), _available_memory() // _MEMORY_OF_A_JOB))

    yield Pool(lambda: Processes(workers), workers, fills=_fill(workers, _processors()))


def _fill(jobs: int, processors: int) -> bool:
    """Whether so many recordings at a time leave no processor for a second repeat of each.

    One alone runs its repeats side by side wherever it is: nothing else waits for a processor.
    """
    return jobs > 1 and jobs * _REPEATS > processors


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
    with _told_by_us():
        try:
            # Any: dask has no types.
            client: Any = distributed.Client(address, timeout=20)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:  # distributed's own timeout is an OSError too
            raise CannotDoError(
                f"no dask cluster at {address}: {error}", hint="start one: `dask scheduler`, `dask worker`"
            ) from error
        with client:
            threads: dict[str, int] = client.nthreads()
            workers = sum(threads.values())
            if not workers:
                raise CannotDoError(f"the dask cluster at {address} has no workers", hint="`dask worker`")
            yield Pool(
                lambda: _OnCluster(client, address, distributed.scheduler.KilledWorker),
                workers,
                fills=_fill_a_host(threads, client.run(_processors, on_error="ignore")),
            )


def _fill_a_host(threads: Mapping[str, int], processors: Mapping[str, int]) -> bool:
    """The same for a cluster, by its workers' addresses; those of one host share its processors."""
    jobs: Counter[str] = Counter()
    least: dict[str, int] = {}
    for worker, count in threads.items():
        host = urlsplit(worker).hostname or worker
        jobs[host] += count
        # One that joined or left meanwhile has not said how many it may use.
        here = processors.get(worker, 1)
        least[host] = min(here, least.get(host, here))
    return any(_fill(count, least[host]) for host, count in jobs.items())


@contextmanager
def _told_by_us() -> Iterator[None]:
    """distributed logs lost workers and connections, with tracebacks; what matters of that is said by us."""
    handlers = list(logging.getLogger("distributed").handlers)  # its loggers share one
    for handler in handlers:
        handler.addFilter(_nothing)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(_nothing)


def _nothing(_: logging.LogRecord) -> bool:
    return False


class _OnCluster(Executor):
    """Hands jobs to a dask cluster; the end of workers and of the cluster is told as our callers expect."""

    def __init__(self, client: Any, address: str, killed: type[Exception]) -> None:  # Any: dask has no types
        # A job whose worker is lost goes to another one; results are equal whoever makes them.
        self._inner = client.get_executor(pure=False, retries=_LOSSES)
        self._address = address
        self._killed = killed
        self._open: set[Future[Any]] = set()

    def submit(self, job: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """As any executor; the future cannot be cancelled."""
        inner, outer = self._inner.submit(job, *arguments, **options), Future[Any]()
        outer.set_running_or_notify_cancel()
        self._open.add(inner)
        inner.add_done_callback(partial(self._settle, outer))
        return outer

    def _settle(self, outer: Future[Any], inner: Future[Any]) -> None:
        self._open.discard(inner)
        if inner.cancelled():
            hint = "start it again; the same command goes on from there"
            outer.set_exception(CannotDoError(f"the dask cluster at {self._address} is gone", hint=hint))
            return
        error = inner.exception()
        if error is None:
            outer.set_result(inner.result())
        elif isinstance(error, self._killed):
            outer.set_exception(BrokenExecutor(str(error)))
        else:
            outer.set_exception(error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of what is still running: after a matrix nothing is."""
        for each in list(self._open):
            each.cancel()
        self._inner.shutdown(wait=False)
