"""Expectations as somebody writes them: by option or in the header, refused where they make no sense."""

from typing import Any

import pytest

from agentproof.errors import UsageError
from agentproof.models.expectations import Expectations, combine, from_options, includes
from agentproof.models.header import read_header


def options(**given: Any) -> Expectations:  # Any: what click gives
    return from_options((name.replace("_", "-"), value) for name, value in given.items())


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"should_print": [""]}, "--should-print '': it is empty"),
        ({"should_output": ["  "]}, "--should-output '  ': it is empty"),
        ({"should": ""}, "--should '': it is empty"),
        ({"should_print": ["a\nb"]}, "line break"),
        ({"should_not_print": ["a\r"]}, "line break"),
        ({"should_raise": ["no name"]}, "no name of a class"),
        ({"should_print": ["x"], "should_not_print": ["x"]}, "contradict"),
        ({"should_print": ["balance: 100"], "should_not_print": ["balance"]}, "contradict"),
        ({"should_raise": ["ValueError"], "should_not_raise": True}, "contradict"),
        ({"should_run": ["pay"], "should_not_run": ["pay"]}, "contradict"),
        ({"should_run": ["pay=1", "pay=2"]}, "contradict"),
        ({"should_run": ["pay=0", "pay"]}, "contradict"),
    ],
)
def test_what_makes_no_sense_is_refused_and_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError) as refused:
        options(**given)
    assert named in refused.value.message


def test_what_goes_together_is_kept_in_its_order() -> None:
    found = options(should_print=["b", "a", "b"], should_run=["pay=2", "x=y=3"], should="All is well.")
    assert found.to_shape() == {
        "should": "All is well.",
        "should_print": ["b", "a"],
        "should_run": [{"tool": "pay", "times": 2}, {"tool": "x=y", "times": 3}],
    }


def test_never_is_spelled_in_one_way() -> None:
    assert options(should_run=["pay=0"]) == options(should_not_run=["pay"])


def _header(body: str) -> Expectations:
    lines = "\n".join(f"# {line}" for line in f"[tool.agentproof]\n{body}".split("\n"))
    return read_header(f"# /// script\n{lines}\n# ///\n".encode(), path="repro.py").expectations


def test_the_header_has_the_same_keys() -> None:
    body = 'should-print = "a"\nshould-not-raise = true\nshould-run = ["pay=1"]\nshould = "It pays."'
    assert _header(body) == options(
        should_print=["a"], should_not_raise=True, should_run=["pay=1"], should="It pays."
    )


@pytest.mark.parametrize("body", ['should-print = ""', "should-not-raise = false", "should-run = 3"])
def test_the_header_is_refused_by_its_name(body: str) -> None:
    with pytest.raises(UsageError) as refused:
        _header(body)
    assert refused.value.message.startswith("repro.py: should-")


def test_header_and_options_are_one_and_may_not_contradict() -> None:
    header, given = options(should_print=["a"], should="One."), options(should_print=["b"], should="Two.")
    both = combine(header, given)
    assert (both.should_print, both.should) == (("a", "b"), "Two.")
    assert includes(both, header)
    assert not includes(given, header)
    assert combine(both, both) == both
    with pytest.raises(UsageError):
        combine(options(should_run=["pay"]), options(should_not_run=["pay"]))
