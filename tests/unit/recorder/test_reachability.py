"""Whether an object can be reached, by the collector's rule: `agentproof._recorder.reachability`."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from agentproof._recorder.reachability import is_reachable


class Node:
    """Something that refers to others."""

    def __init__(self, **held: Any) -> None:  # Any: whatever a test holds
        vars(self).update(held)


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def pair() -> tuple[Node, "weakref.ref[Node]"]:
    """A node in a cycle."""
    one, other = Node(), Node()
    one.other, other.other, other.more = other, one, [one, {"one": one}]  # type: ignore[attr-defined]
    return one, weakref.ref(one)


def dropped() -> "weakref.ref[Node]":
    """A node in a cycle that nobody holds."""
    return pair()[1]


def test_a_cycle_that_nobody_holds_is_not_reachable_and_still_there() -> None:
    ref = dropped()
    assert not is_reachable(ref)
    assert ref() is not None


def test_what_is_gone_is_not_reachable() -> None:
    ref = dropped()
    gc.collect()
    assert not is_reachable(ref)


def test_a_local_variable_holds_it_as_long_as_it_lives() -> None:
    node, ref = pair()
    assert is_reachable(ref)
    del node
    assert not is_reachable(ref)


def test_a_closure_and_a_container_hold_it() -> None:
    node, ref = pair()

    def function(found: Node = node) -> Node:
        return found

    holder = Node(things=[{"function": function}])
    del node, function
    assert is_reachable(ref)
    del holder
    assert not is_reachable(ref)


def test_what_is_kept_from_the_collector_holds_it_too() -> None:
    holder: list[Node] = []
    gc.freeze()  # as the recorder does with what the SDK's import made
    try:
        node, ref = pair()
        holder.append(node)
        del node
        assert is_reachable(ref)
        holder.clear()
        assert not is_reachable(ref)
    finally:
        gc.unfreeze()


def test_a_suspended_task_holds_what_is_in_its_frame() -> None:
    async def wait() -> list["weakref.ref[Node]"]:
        refs: list[weakref.ref[Node]] = []

        async def hold() -> None:
            node, ref = pair()
            refs.append(ref)
            await asyncio.sleep(0.01)
            del node

        task = asyncio.create_task(hold())
        await asyncio.sleep(0)
        assert is_reachable(refs[0])
        await task
        return refs

    assert not is_reachable(asyncio.run(wait())[0])


def test_a_suspended_generator_that_nobody_reaches_holds_nothing() -> None:
    refs: list[weakref.ref[Node]] = []

    async def stream() -> AsyncIterator[int]:
        node, ref = pair()
        refs.append(ref)
        yield 1
        del node

    source = stream()
    with pytest.raises(StopIteration):
        source.__anext__().send(None)  # type: ignore[attr-defined]  # a generator's is an iterator
    assert is_reachable(refs[0])
    holder = Node(source=source)
    holder.me = holder  # type: ignore[attr-defined]
    del source
    assert is_reachable(refs[0])
    del holder
    assert not is_reachable(refs[0])


def test_much_that_leads_to_it_counts_as_reachable() -> None:
    node, ref = pair()
    node.crowd = [Node(node=node) for _ in range(500)]  # type: ignore[attr-defined]
    del node
    assert is_reachable(ref)
