"""What must have come before: rules of `agentproof._recorder.lanes`."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentproof._recorder import lanes, patching
from agentproof._recorder.lanes import Lane, Lanes


class Told:
    """Events by name, each with those that it comes after, also through others."""

    def __init__(self) -> None:
        self.lanes = Lanes("0")
        self.after: dict[str, set[str]] = {}

    def event(self, name: str) -> None:
        lane = self.lanes.current()
        direct = self.lanes.happened(lane, name)
        self.after[name] = set(direct).union(*(self.after[each] for each in direct))

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run(coroutine)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    told = Told()
    original = asyncio.base_events.BaseEventLoop.create_task

    def create_task(self: Any, coro: Any, **options: Any) -> Any:
        return told.lanes.make_task(original, self, coro, options)

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "create_task", create_task)
    token = lanes._current.set(None)
    yield told
    lanes._current.reset(token)


def test_a_task_comes_after_what_its_maker_had_done(told: Told) -> None:
    async def child() -> None:
        told.event("child")

    async def main() -> None:
        told.event("before")
        task = asyncio.create_task(child())
        told.event("meanwhile")
        await task
        told.event("then")

    told.run(main())
    assert told.after["child"] == {"before"}
    assert told.after["meanwhile"] == {"before"}
    assert told.after["then"] == {"before", "meanwhile", "child"}


def test_parallel_tasks_are_not_ordered(told: Told) -> None:
    async def child(name: str) -> None:
        told.event(name + " begins")
        await asyncio.sleep(0)
        told.event(name + " ends")

    async def main() -> None:
        await asyncio.gather(child("a"), child("b"))
        told.event("then")

    told.run(main())
    assert "a begins" not in told.after["b ends"]
    assert "b begins" not in told.after["a ends"]
    assert told.after["then"] >= {"a ends", "b ends"}


def test_a_task_without_events_still_orders_the_tasks_that_it_makes(told: Told) -> None:
    """As the SDK does: one task runs a tool, each of its hooks in a task of its own."""

    async def hook(name: str) -> None:
        told.event(name)

    async def tool() -> None:
        await asyncio.gather(hook("start"))
        await asyncio.gather(hook("end"))

    async def main() -> None:
        await asyncio.create_task(tool())
        told.event("then")

    told.run(main())
    assert told.after["end"] == {"start"}
    assert told.after["then"] == {"start", "end"}


def test_work_that_nobody_waits_for_has_no_edge_to_what_comes_later(told: Told) -> None:
    async def slow() -> None:
        await asyncio.sleep(0.01)
        told.event("late")

    async def main() -> None:
        task = asyncio.create_task(slow())
        told.event("gone on")
        await task

    told.run(main())
    assert "late" not in told.after["gone on"]
    assert told.after["late"] == set()


def test_work_that_gather_gave_up_has_no_edge_even_when_it_is_over(told: Told) -> None:
    """As the SDK does when a guardrail trips while the model is still answering."""

    async def fails() -> None:
        raise ValueError("tripped")

    async def hook() -> None:
        await asyncio.sleep(0.005)
        told.event("hook")

    async def slow() -> None:
        await asyncio.create_task(hook())
        told.event("late")

    async def main() -> None:
        with pytest.raises(ValueError, match="tripped"):
            await asyncio.gather(fails(), slow())
        told.event("gone on")
        await asyncio.sleep(0.03)
        told.event("later")

    told.run(main())
    assert told.after["late"] == {"hook"}
    assert told.after["later"] == {"gone on"}


@pytest.mark.parametrize("how", ["wait_for", "wait", "shield and gather"])
def test_work_that_somebody_waits_for_after_all_is_in_its_past(told: Told, how: str) -> None:
    async def inner() -> None:
        await asyncio.sleep(0.005)
        told.event("inner")

    async def work() -> None:
        await asyncio.create_task(inner())

    async def main() -> None:
        task = asyncio.create_task(work())
        told.event("meanwhile")
        if how == "wait_for":
            await asyncio.wait_for(task, 1)
        elif how == "wait":
            await asyncio.wait([task])
        else:
            await asyncio.gather(asyncio.shield(task), asyncio.sleep(0))
        told.event("then")

    told.run(main())
    assert told.after["then"] == {"meanwhile", "inner"}


def test_a_call_handed_to_a_thread_is_between_what_its_task_does(told: Told) -> None:
    async def main() -> None:
        for number in ("1", "2"):
            told.event("before " + number)
            await asyncio.to_thread(told.event, "body " + number)
            told.event("after " + number)

    told.run(main())
    assert "before 1" in told.after["body 1"]
    assert "body 1" in told.after["after 1"]
    assert told.after["body 2"] == {"before 1", "body 1", "after 1", "before 2"}


def test_calls_on_one_reused_thread_are_not_ordered_by_it(told: Told) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        await asyncio.gather(asyncio.to_thread(told.event, "a"), asyncio.to_thread(told.event, "b"))

    told.run(main())
    assert told.after["a"] == told.after["b"] == set()


def test_a_thread_comes_after_its_start_and_before_its_join(told: Told) -> None:
    def body() -> None:
        told.event("thread")

    told.event("before")
    thread = threading.Thread(target=body)
    told.lanes.of_thread(thread, told.lanes.current())
    thread.start()
    thread.join()
    told.event("then")
    assert told.after["thread"] == {"before"}
    assert "thread" in told.after["then"]


def test_a_lane_that_did_nothing_leaves_no_edge() -> None:
    maker = Lane("thread")
    maker.frontier = ["1"]
    Lane("call", None, maker)
    maker.frontier = ["2"]
    maker.join()
    assert maker.frontier == ["2"]


def test_a_forked_process_goes_on_from_the_past_of_the_other(told: Told) -> None:
    told.event("0:1")
    told.lanes.restart("1")
    told.event("1:1")
    assert told.after["1:1"] == {"0:1"}
    assert told.lanes.name(told.lanes.current()) == "1:1"


def test_a_fault_in_finding_a_lane_keeps_no_task_from_running(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[str] = []

    def fault(part: str, error: BaseException) -> None:
        faults.append(f"{part}: {error}")

    def current() -> Lane:
        raise LookupError("no lane")

    async def main() -> int:
        return 42

    monkeypatch.setattr(told.lanes, "current", current)
    monkeypatch.setattr(patching, "fault", fault)
    assert asyncio.run(main()) == 42
    assert set(faults) == {"lanes: no lane"}
