"""Worker processes of this machine that end with the command that started them.

1. What ends the command ends its workers: Ctrl-C, which a terminal sends to all of them, a signal to the
   command alone, and its death. Each holds one end of a pipe that closes with the command.
2. A worker cleans up what it is at, then leaves. It takes no further job: an executor's own workers would
   report the interruption and go on with the next.
"""

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import ParamSpec, TypeVar

from . import signals

_JOBS_OF_A_WORKER = 64
_Result = TypeVar("_Result")
_P = ParamSpec("_P")


class Processes(ProcessPoolExecutor):
    """An executor whose workers are gone when it is left by an error, without waiting for their jobs."""

    def __init__(self, workers: int) -> None:
        # Started anew, not forked: the parent has threads by then.
        context = multiprocessing.get_context("spawn")
        self._held, self._lifeline = context.Pipe(duplex=False)
        super().__init__(
            workers,
            mp_context=context,
            initializer=_begin,
            initargs=(self._held,),
            # One that recorded for long is replaced, so that whatever it holds on to goes.
            max_tasks_per_child=_JOBS_OF_A_WORKER,
        )

    def submit(
        self, job: Callable[_P, _Result], /, *arguments: _P.args, **options: _P.kwargs
    ) -> Future[_Result]:
        """As any executor."""
        return super().submit(_run, job, *arguments, **options)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if kind is not None and not issubclass(kind, BrokenExecutor):
            self._lifeline.close()
        try:
            return super().__exit__(kind, error, trace)
        finally:
            self._lifeline.close()
            self._held.close()


def _begin(held: Connection) -> None:
    """In a worker, before its first job."""
    signals.end_by_exception()
    threading.Thread(target=_end_with, args=(held,), daemon=True).start()


def _end_with(held: Connection) -> None:
    signals.leave_to_the_main_thread()
    wait([held])
    signals.end_this_process()


def _run(job: Callable[_P, _Result], /, *arguments: _P.args, **options: _P.kwargs) -> _Result:
    try:
        return job(*arguments, **options)
    except (KeyboardInterrupt, SystemExit):
        os._exit(1)
