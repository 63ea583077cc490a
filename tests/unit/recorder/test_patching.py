"""Wrappers that leave no trace: rules of `agentproof._recorder.patching`."""

import asyncio
import inspect
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from agentproof._recorder.patching import hide, original_of, patch, patch_tree

needs_311 = pytest.mark.skipif(sys.version_info < (3, 11), reason="a bare raise adds the line again")


def _sync(original: Any) -> Any:
    def wrapper(self: Any, *args: Any) -> Any:
        try:
            return original(self, *args)
        except BaseException as raised:
            hide(raised)
            raise

    return wrapper


def _async(original: Any) -> Any:
    async def wrapper(self: Any, *args: Any) -> Any:
        try:
            return await original(self, *args)
        except BaseException as raised:
            hide(raised)
            raise

    return wrapper


@needs_311
def test_a_wrapper_leaves_no_line_in_a_traceback() -> None:
    class Thing:
        def work(self) -> None:
            raise ValueError("no")

        async def wait(self) -> None:
            raise ValueError("no")

    def told() -> list[str]:
        lines = []
        calls: list[Callable[[], object]] = [lambda: Thing().work(), lambda: asyncio.run(Thing().wait())]
        for call in calls:
            with pytest.raises(ValueError, match="no") as caught:
                call()
            lines.append([frame.name for frame in traceback.extract_tb(caught.value.__traceback__)])
        return [name for names in lines for name in names]

    before = told()
    patch(Thing, "work", _sync)
    patch(Thing, "wait", _async)
    assert told() == before


def test_a_class_below_is_patched_once_also_when_it_is_made_later() -> None:
    class Base:
        def work(self) -> str:
            return "base"

    class Early(Base):
        def work(self) -> str:
            return "early"

    seen: list[str] = []

    def make(original: Any) -> Any:
        def wrapper(self: Any) -> Any:
            seen.append(original.__qualname__.split(".")[-2])
            return original(self)

        return wrapper

    patch_tree(Base, {"work": make})

    class Late(Base):
        def work(self) -> str:
            return super().work() + "+late"

    patch_tree(Base, {"work": make})
    assert (Early().work(), Late().work()) == ("early", "base+late")
    assert seen == ["Early", "Late", "Base"]


def test_a_class_with_an_init_subclass_of_its_own_keeps_it() -> None:
    class Base:
        made: list[str] = []  # noqa: RUF012  # one list for all, on purpose

        def __init_subclass__(cls, **options: Any) -> None:
            Base.made.append(f"{cls.__name__} {options}")

    patch_tree(Base, {})

    class Below(Base, colour="red"):
        pass

    assert Base.made == ["Below {'colour': 'red'}"]
    assert issubclass(Below, Base)


def test_the_original_of_a_wrapper_is_known() -> None:
    class Thing:
        def work(self) -> None:
            return None

    original = vars(Thing)["work"]
    assert patch(Thing, "work", _sync)
    assert not patch(Thing, "work", _sync)
    assert original_of(vars(Thing)["work"]) is original


def test_what_a_maker_gives_back_stays_as_it_is() -> None:
    class Thing:
        def plain(self, number: int) -> int:
            return number

    before = vars(Thing)["plain"]
    assert not patch(Thing, "plain", lambda original: original)
    assert vars(Thing)["plain"] is before
    # A function that names itself as what it wraps has no signature.
    assert list(inspect.signature(Thing.plain).parameters) == ["self", "number"]
