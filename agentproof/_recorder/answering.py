"""In a child that only answers: drive a coroutine to its end without waiting for anybody.

A forked child has one thread: workers, connections and timers of its parent do not exist in it, so what
waits for them waits for ever. Work for a thread pool is done on the spot instead, a sleep of some
milliseconds is slept, and whatever else would wait is told at once. Standard library only.
"""

import asyncio
import inspect
import selectors
import time
from typing import Any, Callable, List

PATIENCE = 0.02
"""Seconds that timers may take, all together."""


class WouldWait(BaseException):
    """The answer needs somebody else. No `except Exception` of the script's is to swallow it."""


class _Impatient(selectors.DefaultSelector):
    """Finds what is ready, and never waits for more than what is left of the patience."""

    def __init__(self) -> None:
        super().__init__()
        self._left = PATIENCE

    def select(self, timeout: Any = None) -> List[Any]:
        ready: List[Any] = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None or timeout > self._left:
            raise WouldWait("it waits for a thread, a connection or a timer of its own")
        self._left -= timeout
        time.sleep(timeout)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]  # 3.10's syntax
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def complete(callback: Callable[[], Any]) -> Any:
    """What a callback gives, awaited where it must be, on a loop of its own.

    Raises:
        WouldWait: it waits for what does not exist in this process.
    """
    asyncio._set_running_loop(None)
    answer = callback()
    if not inspect.isawaitable(answer):
        return answer
    loop = _Loop(_Impatient())
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(_as_coroutine(answer))


async def _as_coroutine(answer: Any) -> Any:
    return await answer
