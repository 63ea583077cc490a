"""A script gets smaller as long as it shows the same, and what could not run is never asked."""

import ast

import pytest

from agentproof.upstream.minimising import _shape
from agentproof.upstream.reducing import EnoughError, Reducer, unbound

SCRIPT = '''\
# /// script
# dependencies = ["openai-agents==0.20.0"]
# ///
"""What it is about, said
on two lines, e.g. here. And what else the author thought of.

More of that.
"""
import json
import os

from agents import Agent, Runner


def unused():
    # nobody calls it
    return os.getcwd()


def tool():
    return "x"


agent = Agent(name="a", tools=[tool, unused], instructions="be brief")
with open(os.devnull) as nowhere:
    for number in range(2):
        print(json.dumps({"seen": tool(), "more": unused()}))
'''


def shows(text: str) -> bool:
    """Whether it calls `tool` and prints what that gives."""
    calls = [ast.unparse(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return "tool()" in calls and any(each.startswith("print(") and "tool()" in each for each in calls)


def reduced(text: str) -> tuple[str, list[str]]:
    asked: list[str] = []

    def accepts(candidate: str) -> bool:
        asked.append(candidate)
        return shows(candidate)

    reducer = Reducer(text, accepts)
    reducer.reduce()
    return reducer.text, asked


def test_what_is_not_needed_goes_and_the_header_stays() -> None:
    text, _ = reduced(SCRIPT)
    lines = [line for line in text.splitlines() if line.strip()]
    assert lines[:3] == SCRIPT.splitlines()[:3]
    assert "unused" not in text
    assert not any(word in text for word in ("with ", "for ", "Agent", "what else the author", "More of"))
    assert lines[3:5] == ['"""What it is about, said', 'on two lines, e.g. here."""']
    assert shows(text)
    assert len(lines) <= 9


def test_of_a_condition_either_side_may_stay() -> None:
    source = "def f(x):\n    if x:\n        print(1)\n    else:\n        print(2)\n        return x\n"
    reducer = Reducer(source, lambda text: "def f(x)" in text and "return x" in text)
    reducer.reduce()
    assert reducer.text == "def f(x):\n    return x\n"


def test_a_method_that_must_be_there_and_does_nothing_is_a_line() -> None:
    source = (
        "class A(Base):\n    def ask(self):\n        print(1)\n        return 2\n\n"
        "    def tell(self, x):\n        raise ValueError\n"
    )
    reducer = Reducer(source, lambda text: "return 2" in text and "tell" in text and "class" in text)
    reducer.reduce()
    assert "    tell = None\n" in reducer.text
    assert "        return 2\n" in reducer.text
    assert "ask = None" not in reducer.text


def test_nothing_is_asked_twice_and_nothing_that_cannot_run() -> None:
    _, asked = reduced(SCRIPT)
    assert len(asked) == len(set(asked))
    assert len(asked) < 60
    for each in asked:
        compile(each, "script.py", "exec")
        assert not unbound(each)


def test_who_is_asked_may_have_enough_and_the_best_is_kept() -> None:
    asked: list[str] = []

    def accepts(candidate: str) -> bool:
        if len(asked) == 5:
            raise EnoughError
        asked.append(candidate)
        return shows(candidate)

    reducer = Reducer(SCRIPT, accepts)
    with pytest.raises(EnoughError):
        reducer.reduce()
    assert shows(reducer.text)
    assert len(reducer.text) < len(SCRIPT)


def test_a_name_that_nothing_binds_is_found() -> None:
    assert unbound("import a\nfor b in a: print(b, c)\ndef d(e): return e + f\n") == {"c", "f"}
    assert unbound("def g():\n    global h\n    h = 1\ng()\n") == set()


def test_pointers_of_one_shape_are_one() -> None:
    assert _shape("/items/3/call_12/x") == _shape("/items/0/call_7/x") == "/items/#/call_#/x"
    assert _shape(None) == ""
