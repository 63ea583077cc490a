"""Which pending tools an agent lacks that a state is restored for (`offers.lacking`)."""

from types import SimpleNamespace
from typing import Any

import pytest

from agentproof._recorder.adapters.openai_agents.offers import lacking


def _agent(*tools: str, handoffs: list[Any] | None = None, **more: Any) -> Any:  # Any: stands for an Agent
    own = [SimpleNamespace(name=name) for name in tools]
    return SimpleNamespace(tools=own, handoffs=handoffs or [], **more)


def _waiting(*names: str) -> dict[str, Any]:
    return {"last_processed_response": {"functions": [{"tool": {"name": name}} for name in names]}}


def test_tools_that_the_agent_does_not_have_are_lacking() -> None:
    assert lacking(_agent("pay"), _waiting("pay", "rate", "audit")) == ["audit", "rate"]


def test_an_agent_that_has_them_all_lacks_none() -> None:
    assert lacking(_agent("pay", "audit"), _waiting("pay", "audit")) == []


def test_agents_that_it_hands_over_to_count_also_in_a_circle() -> None:
    first, second = _agent("pay"), _agent("audit")
    first.handoffs, second.handoffs = [second], [first]
    assert lacking(first, _waiting("pay", "audit", "rate")) == ["rate"]


@pytest.mark.parametrize(
    "agent",
    [
        _agent("pay", mcp_servers=[object()]),
        _agent("pay", handoffs=[SimpleNamespace(tool_name="transfer_to_second")]),
        SimpleNamespace(tools=lambda: [], handoffs=[]),
        None,
    ],
    ids=["tools of a server", "a handoff that is made up", "no list of tools", "no agent"],
)
def test_where_looking_does_not_tell_none_is_said_to_be_lacking(agent: Any) -> None:
    assert lacking(agent, _waiting("audit")) == []


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"last_processed_response": None},
        {"last_processed_response": {"functions": ["x", {"tool": 1}]}},
    ],
    ids=["no JSON", "an empty one", "nothing pending", "another shape"],
)
def test_a_state_that_waits_with_nothing_lacks_nothing(document: Any) -> None:
    assert lacking(_agent(), document) == []
