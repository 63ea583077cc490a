"""Hand jobs out to an executor, and lose none of them when workers die.

1. A few more jobs than workers are handed out at a time, so that memory does not grow with their number.
2. A worker that dies may take all jobs with it that were handed out. They are tried again, one at a
   time: the one whose worker dies again is told from those that were beside it, and given up alone.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import Final, Generic, TypeVar

from ..record.progress import Progress

ExecutorFactory = Callable[[], Executor]
_Job = TypeVar("_Job")
_Result = TypeVar("_Result")

TRIES: Final = 3
"""How often a job is handed out whose worker gets lost."""


class Dispatch(Generic[_Job, _Result]):
    """Jobs, how each is run, and what comes of one whose workers are lost."""

    def __init__(
        self,
        jobs: Sequence[_Job],
        *,
        run: Callable[[_Job], _Result],
        give_up: Callable[[_Job], _Result],
        name: Callable[[_Job], str],
        progress: Progress,
    ) -> None:
        self._jobs = jobs
        self._run = run
        self._give_up = give_up
        self._name = name
        self._progress = progress
        self._running: dict[Future[_Result], int] = {}

    def results(
        self, numbers: Sequence[int], *, make_executor: ExecutorFactory, window: int
    ) -> Iterator[tuple[int, _Result]]:
        """The results of the jobs of these numbers, as they come; at most `window` handed out at a time."""
        waiting, suspects = deque(numbers), deque[int]()
        losses = Counter[int]()
        while waiting or suspects:
            queue, width = (suspects, 1) if suspects else (waiting, window)
            try:
                with make_executor() as executor:
                    yield from self._hand_out(executor, queue, width)
            except BrokenExecutor:
                lost = sorted(self._running.values()) or [queue.popleft()]
                losses.update(lost)
                if len(lost) == 1 and losses[lost[0]] >= TRIES:
                    yield lost[0], self._give_up(self._jobs[lost[0]])
                    continue
                names = ", ".join(self._name(self._jobs[number]) for number in lost)
                self._progress.done("lost", f"a worker died; tried again, one at a time: {names}")
                suspects.extendleft(reversed(lost))

    def _hand_out(self, executor: Executor, queue: deque[int], width: int) -> Iterator[tuple[int, _Result]]:
        self._running = {}
        try:
            while queue or self._running:
                while queue and len(self._running) < width:
                    future = executor.submit(self._run, self._jobs[queue[0]])
                    self._running[future] = queue.popleft()
                names = ", ".join(self._name(self._jobs[number]) for number in self._running.values())
                self._progress.working(f"{len(queue)} wait; handed out: {names}")
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
                for future in done:
                    # Taken out only when its result is there: what is left is tried again.
                    result = future.result()
                    yield self._running.pop(future), result
        except BrokenExecutor:
            raise
        except BaseException:
            for future in self._running:
                future.cancel()
            raise
