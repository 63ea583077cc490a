"""A script with a scripted model keeps its text but for the models of its agents."""

import ast

import pytest

from agentproof.errors import CannotDoError
from agentproof.models import expectations
from agentproof.render.rescripted import rescripted

from .test_scripted import CALL, message, trace

RECORDED = trace([CALL], [message("rain")])
"""What clerk was answered, and then boss."""


def made(script: str, version: str = "0.24.0") -> str:
    found = rescripted(script.encode(), RECORDED, version=version, variables=["OPENAI_API_KEY"])
    text = found.source.decode()
    ast.parse(text)
    return text


def parts(text: str) -> tuple[str, str]:
    """What stands before the scripted model, and what behind it."""
    before, _, rest = text.partition("\n# What the model answered in the recording.\n")
    return before, rest.split("\n\n")[-1].strip()


@pytest.mark.parametrize(
    ("site", "becomes"),
    [
        ("Agent(name='a')", "Agent(name='a', model=scripted_model)"),
        ("Agent[int]('a',\n  tools=[],\n)", "Agent[int]('a',\n  tools=[], model=scripted_model,\n)"),
        ("Agent(name='é', model=ask('x'), tools=[])", "Agent(name='é', model=scripted_model, tools=[])"),
        ("agents.Agent(name='a')", "agents.Agent(name='a', model=scripted_model)"),
        ("Mine(name='a')", "Mine(name='a', model=scripted_model)"),
        ("given.clone(model='y')", "given.clone(model=scripted_model)"),
        ("RunConfig(model='y')", "RunConfig(model=scripted_model)"),
        ("RunConfig(tracing_disabled=True)", "RunConfig(tracing_disabled=True)"),
        ("given.clone(name='y')", "given.clone(name='y')"),
        ("other(model='y')", "other(model='y')"),
    ],
)
def test_models_are_given_where_agents_are_made_and_nothing_else_changes(site: str, becomes: str) -> None:
    head = '"""What it shows."""\n\nimport agents\nfrom agents import Agent, RunConfig\n'
    rest = "class Mine(Agent):\n    pass\n\nuse = Agent(name=given, model='x')\nr = [\n  "
    before, after = parts(made(f"{head}\n{rest}{site}]\n"))
    assert before == head.rstrip("\n") + "\n"
    assert after.endswith(f"use = Agent(name=given, model=scripted_model)\nr = [\n  {becomes}]")


def test_each_agent_has_its_own_answers_where_all_are_named() -> None:
    text = made(
        "from agents import Agent\na = Agent('clerk')\nb = Agent(name='boss')\nc = Agent(name='idle')\n"
    )
    assert "a = Agent('clerk', model=scripted_models[\"clerk\"])" in text
    assert "b = Agent(name='boss', model=scripted_models[\"boss\"])" in text
    assert "c = Agent(name='idle')\n" in text


def test_names_of_the_script_are_left_alone() -> None:
    text = made(
        "from agents import Agent\n\ndef function_call(): ...\nscripted_model = 1\na = Agent(name=x)\n"
    )
    tree = ast.parse(text)
    assert "a = Agent(name=x, model=scripted_model_)" in text
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == [
        "_make_scripted_model_",
        "function_call",
    ]


def test_a_client_that_wants_a_key_has_one_that_opens_nothing() -> None:
    text = made("from agents import Agent\nc = AsyncOpenAI()\na = Agent(name=x)\n")
    assert 'os.environ.setdefault("OPENAI_API_KEY", "unused")' in text
    assert "OPENAI_API_KEY" not in made("from agents import Agent\na = Agent(name=x)\n")


def test_a_script_without_an_agent_is_refused() -> None:
    with pytest.raises(CannotDoError, match="makes no agent"):
        made("from agents import Runner\n")


def test_expectations_are_options_again() -> None:
    given = expectations.Expectations.from_shape(
        {
            "should": "It waits.",
            "should_print": ["a b", "c"],
            "should_not_raise": True,
            "should_run": [{"tool": "pay", "times": 2}, {"tool": "ask"}],
        }
    )
    assert expectations.to_options(given) == [
        "--should",
        "It waits.",
        "--should-print",
        "a b",
        "--should-print",
        "c",
        "--should-not-raise",
        "--should-run",
        "pay=2",
        "--should-run",
        "ask",
    ]
