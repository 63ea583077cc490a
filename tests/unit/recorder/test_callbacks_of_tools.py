"""What a tool says of itself, without asking its callbacks again: rules of the adapter's `tools`."""

import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from agentproof._recorder.adapters.openai_agents import tools
from agentproof._recorder.adapters.openai_agents.tools import Calls

_asked = [0]
_total = 0


def _every_second(context: Any, agent: Any) -> bool:
    _asked[0] += 1
    return _asked[0] % 2 == 0


def _counts_globally(context: Any, agent: Any) -> bool:
    global _total  # noqa: PLW0603  # what is to be told apart
    _total = 1
    return True


def _marks_its_context(context: Any, agent: Any) -> bool:
    context.asked = True
    return True


def _draws_lots(context: Any, agent: Any) -> bool:
    return random.random() < 0.5  # noqa: S311  # no secret


def _adds_in_place(context: Any, agent: Any) -> bool:
    log = _asked
    log += [1]
    return True


def _takes_one(context: Any, agent: Any) -> Any:
    for each in context.waiting:
        return each
    return None


def _generates(context: Any, agent: Any) -> Iterator[bool]:
    yield True


async def _waits(context: Any, agent: Any) -> bool:
    return True


def _closes_over() -> Callable[[Any, Any], bool]:
    count = 0

    def ask(context: Any, agent: Any) -> bool:
        nonlocal count
        count = 1
        return True

    return ask


def _reads(context: Any, agent: Any) -> bool:
    found = context.context
    if found["open"] is None or "open" not in found:
        return False
    return not found["open"] or agent.name == "a"


@pytest.mark.parametrize(
    "callback",
    [
        _every_second,
        _counts_globally,
        _marks_its_context,
        _draws_lots,
        _adds_in_place,
        _takes_one,
        _generates,
        _waits,
        _closes_over(),
        _asked.pop,
        bool,
        SimpleNamespace(),
    ],
)
def test_a_callback_that_may_have_a_memory_is_not_asked_again(callback: Any) -> None:
    _asked[:] = [0]
    context = SimpleNamespace(waiting=iter([True]))
    assert tools.is_enabled(SimpleNamespace(is_enabled=callback), context, None) is None
    assert (_asked, _total, list(vars(context))) == ([0], 0, ["waiting"])
    assert next(context.waiting) is True


@pytest.mark.parametrize("callback", [_reads, lambda context, agent: context.context["open"]])
def test_a_callback_that_only_reads_is_known_by_its_code(callback: Any) -> None:
    assert tools.only_reads(callback)


@pytest.mark.parametrize("declared", [True, False])
def test_what_a_tool_declares_needs_no_asking(declared: bool) -> None:
    tool = SimpleNamespace(is_enabled=declared, needs_approval=declared)
    assert tools.is_enabled(tool, None, None) is declared
    assert tools.needs_approval(tool, not declared) is declared


def test_an_approval_callback_said_what_it_told_the_sdk_for_that_call() -> None:
    calls = Calls()
    calls.approval_asked("c1", True)
    calls.approval_asked("c1", False)
    calls.approval_asked("c2", None)
    tool = SimpleNamespace(needs_approval=_every_second)
    _asked[:] = [0]
    told = [tools.needs_approval(tool, calls.approval_of(call)) for call in ("c1", "c2", "c3", None)]
    assert (told, _asked) == ([False, None, None, None], [0])
