"""A script becomes a test as it is, and nothing that a bundle says becomes code."""

import ast
import json
from collections.abc import Mapping

import libcst as cst
import pytest

from agentproof.claims import INVARIANTS
from agentproof.errors import CannotDoError
from agentproof.models.manifest import ClaimResult, Manifest
from agentproof.models.trace import Trace
from agentproof.upstream.assertions import Candidate, Printed, Proposer
from agentproof.upstream.formatting import formatted
from agentproof.upstream.making import starts_itself, test_name
from agentproof.upstream.program import Edits, docstring_literal, fresh, take_apart, written
from agentproof.upstream.reducing import Reducer
from agentproof.upstream.scripted import exchanged, literal
from tests import forge

HOSTILE = [
    '"""\nimport os\nos.system("x")\n"""',
    "'''); import os #",
    "\\",
    'ends in a quote"',
    'a\\"""b',
    "\x00\x1b[2J\u202e\u2028\ud7ff",
    "{0} %s {import os}",
    "line\rother\x0bthird\x85fourth",
]

SCRIPT = '''\
# /// script
# dependencies = ["openai-agents==0.20.0"]
# ///
"""One state is approved, the other one is resumed."""
import asyncio
import json

from agents import Agent, Model, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)

executed = []


class Playback(Model):
    def __init__(self, *turns):
        self.turns = list(turns)
        self.inputs = []

    async def get_response(self, *args, **kwargs):
        self.inputs.append(kwargs["input"])
        return self.turns.pop(0)


@function_tool(needs_approval=True)
def ship(order: str) -> str:
    """Ship it."""
    executed.append(order)
    return "shipped"


async def main():
    model = Playback(["a"], ["b"])
    agent = Agent(name="s", model=model, tools=[ship])
    paused = await Runner.run(agent, "ship A")
    draft, untouched = paused.to_state(), paused.to_state()
    draft.approve(draft.get_interruptions()[0])
    again = await Runner.run(agent, untouched)
    print(json.dumps({"asked": len(model.inputs), "executed": executed}))
    print("left:", len(again.interruptions))


asyncio.run(main())
'''


def trace(*events: Mapping[str, object]) -> Trace:
    told = [{"seq": number, **each} for number, each in enumerate(events, start=1)]
    return Trace.from_shape(
        {"format": "agentproof/trace", "version": 0, "mode": "as-written", "events": told}
    )


def claim(kind: str, *because: Mapping[str, object], **more: object) -> ClaimResult:
    rule = INVARIANTS.get(kind)
    shape = {"id": kind, "kind": kind, "version": rule.VERSION if rule else 1, "mode": "as-written"}
    found = [{"events": [], **each} for each in because]
    return ClaimResult.from_shape({**shape, "status": "violated", "sites": 1, "because": found, **more})


def proposals(asked: ClaimResult, *, here: str = "", repaired: str | None = None) -> list[str]:
    """The tests that are proposed for a claim about `SCRIPT`."""
    program = take_apart(SCRIPT.encode(), path="repro.py")
    started = {"kind": "tool.started", "run": "R1", "agent": "s", "tool": "ship", "tool_kind": "function"}
    found = Proposer(program, trace(started), Printed(here, repaired)).of(asked)
    return [written(program, each.edits, name="test_it", docstring="") for each in found]


def test_what_a_script_does_becomes_the_body_of_one_test_and_what_it_defines_stays() -> None:
    program = take_apart(SCRIPT.encode(), path="repro.py")
    tree = ast.parse(written(program, Edits(), name="test_it", docstring="It fails."))
    names = [node.name for node in tree.body if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)]
    assert names == ["ship", "test_it"]
    text = ast.unparse(tree)
    assert "agent = Agent" in text
    assert not any(word in text for word in ("asyncio.run", "set_tracing_disabled(True)", "dependencies"))


@pytest.mark.parametrize(
    ("source", "is_async", "has"),
    [
        ("import asyncio\nprint(asyncio.run(go()))\nasync def go(): return 1\n", True, "print((await go()))"),
        ("from agents import Runner\nr = Runner.run_sync(1, 2)\nprint(r)\n", False, "Runner.run_sync(1, 2)"),
        ('if __name__ == "__main__":\n    print(1)\n', False, "print(1)"),
        ("n = 0\nfor n in [1]:\n    print(n)\ndef f():\n    return n\n", False, "global n"),
    ],
)
def test_other_shapes_of_scripts(source: str, is_async: bool, has: str) -> None:
    program = take_apart(source.encode(), path="repro.py")
    text = written(program, Edits(), name="test_it", docstring="It fails.")
    compile(text, "test.py", "exec")
    assert program.is_async is is_async
    assert has in text


def test_a_script_that_does_nothing_is_refused() -> None:
    with pytest.raises(CannotDoError, match="does nothing"):
        take_apart(b"def f():\n    return 1\n", path="repro.py")


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_a_docstring_and_ends_where_it_should(text: str) -> None:
    module = ast.parse(f"def f():\n    {docstring_literal(text)}\n    return 1\n")
    (function,) = module.body
    assert isinstance(function, ast.FunctionDef)
    assert len(function.body) == 2
    assert not set(docstring_literal(text)) & set("\x00\x1b\u202e\u2028\r\x0b\x85")


@pytest.mark.parametrize("text", HOSTILE)
def test_any_value_is_a_literal(text: str) -> None:
    value = {text: [text, 1, None, True, 0.5, {"a": text}]}
    assert ast.literal_eval(literal(value)) == value
    assert literal(value).isascii()


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_claim_names_stays_a_text_in_every_assertion(text: str) -> None:
    findings: list[dict[str, object]] = [
        {"code": "changed_by_decision", "state": "S2", "pointer": f"/context/{text.replace('/', '')}/x"},
        {"code": "approved_but_not_run", "tool": text},
    ]
    arguments = {"text": text, "tool": text, "times": 1, "error": text}
    plain = ast.dump(ast.parse("import os"))
    for kind in ("state-integrity", "approval-respected", "guardrails-reported", "printed", "tool-ran"):
        asked = claim(kind, *findings, arguments=arguments)
        for source in proposals(asked, here=f"left: {text}", repaired=f"left: {text}!"):
            assert plain not in ast.dump(ast.parse(source))


def test_a_state_that_should_not_change_is_compared_around_what_was_done_to_its_sibling() -> None:
    finding = {"code": "changed_by_decision", "state": "S2", "pointer": "/context/approvals/ship"}
    first, *_ = proposals(claim("state-integrity", finding))
    lines = [line.strip() for line in first.splitlines()]
    place = lines.index("draft.approve(draft.get_interruptions()[0])")
    path = "untouched.to_json()['context']['approvals']"
    assert lines[place - 1 : place + 2 : 2] == [f"before = {path}", f"assert {path} == before"]


def test_a_tool_that_should_not_have_run_is_asserted_over_what_ran() -> None:
    wrong = {"code": "ran_without_approval", "tool": "ship", "events": [{"mode": "as-written", "seq": 1}]}
    first, *_ = proposals(claim("approval-respected", wrong))
    assert "assert tool_runs == []" in first
    tree = ast.parse(first)
    ship = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "ship")
    assert ast.unparse(ship.body[1]) == "tool_runs.append('ship')"


def test_what_is_printed_where_it_is_repaired_is_asserted_where_only_that_differs() -> None:
    here = json.dumps({"asked": 2, "executed": ["A"]}) + "\nleft: 0\n"
    repaired = json.dumps({"asked": 2, "executed": []}) + "\nleft: 1\n"
    asked = claim("session-is-its-log", {"code": "x"})
    first, *_ = proposals(asked, here=here, repaired=repaired)
    assert "assert executed == []" in first
    assert "assert len(again.interruptions) == 1" in first
    assert "asked" not in first.partition("def test_it")[2]
    assert proposals(asked, here=here) == []


def test_what_only_the_streamed_runs_show_is_not_asserted_of_the_others() -> None:
    told = {"here": '{"asked": 2, "executed": ["A"]}\n', "repaired": '{"asked": 2, "executed": []}\n'}
    assert proposals(claim("stream-tells-result", {"code": "x"}, mode="streamed"), **told) == []
    assert proposals(claim("stream-parity", {"code": "x"}, mode="both"), **told)


def test_of_a_dictionary_only_the_entry_that_differs_is_asserted() -> None:
    source = b"""
import json

async def attempt(how):
    return await how


async def main():
    print(json.dumps({"a": await attempt(1), "b": await attempt(2)}))
    print(json.dumps(await attempt(3)))


import asyncio
asyncio.run(main())
"""
    lines = [{"a": {"x": 1, "y": {"z": [n]}}, "b": {"x": n, "y": n}} for n in (1, 2)]
    told = [f"{json.dumps(each)}\n{json.dumps(each['a'])}\n" for each in lines]
    program = take_apart(source, path="repro.py")
    first, *_ = Proposer(program, trace(), Printed(told[0], told[1])).of(claim("told-once", {"code": "x"}))
    test = written(program, first.edits, name="test_it", docstring="")
    assert "assert (await attempt(1))['y']['z'] == [2]\n" in test
    assert "assert await attempt(2) == {'x': 2, 'y': 2}\n" in test
    assert "assert (await attempt(3))['y']['z'] == [2]\n" in test


def test_what_is_printed_says_nothing_of_a_claim_that_is_violated_where_it_is_repaired_too() -> None:
    program = take_apart(SCRIPT.encode(), path="repro.py")
    printed = Printed('{"asked": 2, "executed": ["A"]}\n', '{"asked": 2, "executed": []}\n')
    proposer = Proposer(program, trace(), printed, frozenset({"guardrails-reported"}))
    assert not list(proposer.of(claim("guardrails-reported", {"code": "x"})))
    assert list(proposer.of(claim("blocked-stays-out", {"code": "x"})))


CATCHES = b"""
import asyncio
import json
import sys

from agents import Agent, Runner


async def main(port):
    model = {"port": port}
    try:
        result = await Runner.run(Agent(model), "go")
    except Exception as error:
        print(json.dumps({"raised": type(error).__name__, "text": str(error)}))
        return
    print(json.dumps({"final": result.final_output}))


if __name__ == "__main__":
    for port in (1,):
        asyncio.run(main(port))
"""


def test_what_the_repaired_release_raises_is_expected_where_the_script_catches_and_tells_it() -> None:
    program = take_apart(CATCHES, path="repro.py")
    repaired = json.dumps({"raised": "ModelRefusalError", "text": "x"})
    printed = Printed(json.dumps({"final": ""}), repaired)
    first, last = Proposer(program, trace(), printed).of(claim("answer-kept", {"code": "x"}))
    assert first.errors == {"builtins:Failed", "_pytest.outcomes:Failed"}
    test = written(program, first.edits, name="test_it", docstring="", is_final=True)
    assert (
        '    with pytest.raises(ModelRefusalError):\n        await Runner.run(Agent(model), "go")\n' in test
    )
    assert "from agents import ModelRefusalError" in test
    assert "final_output" not in test
    assert "try:" not in test
    compile(test, "test_it.py", "exec")
    whole = written(program, last.edits, name="test_it", docstring="")
    assert f"assert json.loads(capsys.readouterr().out) == {json.loads(repaired)!r}" in whole
    assert last.printed
    for told in (Printed(repaired, repaired), Printed(repaired, None), Printed("", '{"raised": "no name"}')):
        found = list(Proposer(program, trace(), told).of(claim("answer-kept", {"code": "x"})))
        assert not any(each.errors == first.errors for each in found)


def test_what_should_be_printed_is_asserted_on_what_is_printed() -> None:
    asked = claim(
        "printed", {"code": "not_printed"}, id='should-print "left: 1"', arguments={"text": "left: 1"}
    )
    found = proposals(asked, here='{"asked": 2, "executed": []}\nleft: 0\n')
    assert "assert len(again.interruptions) == 1" in found[0]
    assert "assert 'left: 1' in capsys.readouterr().out" in found[-1]
    whole = '{"asked": 2, "executed": []}'
    asked = claim("printed", {"code": "not_printed"}, arguments={"text": whole})
    first, *_ = proposals(asked, here='{"asked": 2, "executed": ["A"]}\nleft: 0\n')
    assert "    assert executed == []\n" in first


def test_a_model_that_plays_back_is_exchanged_for_the_sdks_own_or_a_short_one() -> None:
    program = take_apart(SCRIPT.encode(), path="repro.py")
    own, *_ = exchanged(program, own=True, usage="Usage()")
    text = written(program, own, name="test_it", docstring="It.", is_final=True)
    assert "class ScriptedModel(Model)" in text
    assert "ScriptedModel([['a'], ['b']])".replace("'", '"') in text
    assert "self.inputs.append(copy.deepcopy(input))" in text
    sdks, *_ = exchanged(program, own=False, usage="Usage()")
    text = written(program, sdks, name="test_it", docstring="It.", is_final=True)
    assert "class " not in text
    assert "from agents.testing import ScriptedModel" in text
    assert "len([call.input for call in model.calls])" in text


def test_what_nobody_reads_is_left_out_of_the_final_text() -> None:
    source = b"import json\nseen = []\ndef f():\n    seen.append(1)\n    return 2\ndef g(): pass\n"
    source += b"x = f()\nassert x\n"
    program = take_apart(source, path="repro.py")
    text = formatted(written(program, Edits(), name="test_it", docstring="It.", is_final=True))
    assert not any(word in text for word in ("json", "seen", "def g"))
    assert "def f" in text


def test_an_item_of_the_api_stays_whole_or_goes() -> None:
    item = '{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}'
    reducer = Reducer(f"x = [{item}, {item}]\ny = {{'a': 1}}\n", lambda text: "call_id" in text)
    reducer.reduce()
    assert reducer.text == f"x = [{item}]\n"


def test_what_fits_on_a_line_is_written_on_one() -> None:
    source = (
        "from agents import (\n    Agent,\n    Runner,\n)\n\nRunner.run(\n    Agent(\n        [],\n    )\n)\n"
    )
    assert formatted(source) == "from agents import Agent, Runner\n\nRunner.run(Agent([]))\n"


def test_names_of_ours_are_none_of_the_scripts() -> None:
    program = take_apart(b"tool_runs = 1\nprint(tool_runs)\n", path="repro.py")
    assert fresh("tool_runs", program) == "tool_runs_2"
    assert fresh("list", program) == "list_2"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Which hooks fire, and in", "test_which_hooks_fire_and_in"),
        (
            "Our UI opens a bubble at `response.output_item.added` and closes it at the end",
            "test_our_ui_opens_a_bubble_at_response_output_item_added",
        ),
        ("A tool's output isn\u2019t the runs' own", "test_a_tool_output_isnt_the_runs_own"),
        ("and " * 20, "test_reproduction"),
        ("", "test_it_is_lost"),
    ],
)
def test_a_name_that_is_cut_ends_with_a_word_that_says_something(title: str, name: str) -> None:
    made = forge.draft()
    made.manifest["reproduction"]["title"] = title
    if not title:
        del made.manifest["reproduction"]["title"]
    program = take_apart(b'"""It is lost."""\nprint(1)\n', path="repro.py")
    assert test_name(Manifest.from_bytes(made.seal().manifest), program) == name


def test_a_script_that_starts_itself_again_is_known_by_its_file_and_its_python() -> None:
    again = b"import subprocess, sys\nsubprocess.run([sys.executable, __file__, 'x'])\n"
    assert starts_itself(again)
    assert not starts_itself(again.replace(b"__file__", b"'other.py'"))
    assert not starts_itself(b"print(__file__)\n")
    assert not starts_itself(b"no python at all\n")


def test_candidates_are_known_by_their_claim() -> None:
    assert Candidate("x", Edits()).follows
    assert isinstance(cst.parse_expression(literal("x")), cst.SimpleString)
