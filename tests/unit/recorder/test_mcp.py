"""What is asked of MCP servers: rules of `agentproof._recorder.adapters.openai_agents.mcp`."""

import asyncio
import types
from collections.abc import Callable
from typing import Any

import pytest

from agentproof._recorder.adapters.openai_agents import mcp
from agentproof._recorder.events import Journal

Told = Callable[[], list[dict[str, Any]]]


class Request:
    def __init__(self, method: str, **params: Any) -> None:
        self.method = method
        self.params = params


def parts() -> Any:
    """A session class, and a server class with a subclass, hooked as the SDK's are."""

    class ClientSession:
        def __init__(self) -> None:
            self.answers: list[Any] = []

        async def send_request(self, request: Any) -> Any:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

    class MCPServer:
        name = "box"

        def __init__(self, *answers: Any) -> None:
            self.session = ClientSession()
            self.session.answers = list(answers)

        async def list_tools(self) -> list[Any]:
            request: Any = Request("tools/list")
            await self.session.send_request(types.SimpleNamespace(root=request))
            return [types.SimpleNamespace(name="hammer")]

        async def call_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
            return await self.session.send_request(Request("tools/call", name=tool_name, arguments=arguments))

        async def cleanup(self) -> None:
            raise OSError("gone")

    class Caching(MCPServer):
        async def list_tools(self) -> list[Any]:
            return await super().list_tools()

    mcp._hook_servers(types.SimpleNamespace(MCPServer=MCPServer))  # type: ignore[arg-type]  # a module's part
    mcp._hook_sessions(types.SimpleNamespace(ClientSession=ClientSession))  # type: ignore[arg-type]  # as above
    return types.SimpleNamespace(Session=ClientSession, Server=Caching)


@pytest.fixture
def sdk(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(mcp, "_known", set())
    return parts()


def _said(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: part for name, part in each.items() if name not in ("n", "lane", "after")} for each in events
    ]


def test_the_outermost_call_is_told_after_its_requests_and_an_answer_once(sdk: Any, told: Told) -> None:
    server = sdk.Server({"tools": 1}, {"tools": 1})
    for _ in range(2):
        asyncio.run(server.list_tools())
    request = {"kind": "mcp.requested", "server": "box", "method": "tools/list"}
    used = {"kind": "mcp.used", "server": "box", "operation": "list_tools", "names": ["hammer"]}
    assert _said(told()) == [{**request, "result": {"tools": 1}}, used, {**request, "again": True}, used]


def test_a_call_tells_its_arguments_and_result_itself(sdk: Any, told: Told) -> None:
    asyncio.run(sdk.Server("done").call_tool("hammer", {"size": 3}))
    request, call = _said(told())
    assert request == {
        "kind": "mcp.requested",
        "server": "box",
        "method": "tools/call",
        "params": {"name": "hammer"},
    }
    assert (call["kind"], call["arguments"], call["result"]) == ("mcp.called", {"size": 3}, "done")


def test_failures_are_told_and_go_on(sdk: Any, told: Told) -> None:
    with pytest.raises(OSError, match="gone"):
        asyncio.run(sdk.Server().cleanup())
    with pytest.raises(ValueError, match="no"):
        asyncio.run(sdk.Server(ValueError("no")).list_tools())
    assert [event["error"]["message"] for event in told()] == ["gone", "no", "no"]


def test_a_session_of_the_scripts_own_is_not_told(sdk: Any, told: Told) -> None:
    session = sdk.Session()
    session.answers = ["x"]
    asyncio.run(session.send_request(Request("tools/list")))
    assert told() == []
