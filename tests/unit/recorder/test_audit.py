"""What the audit hook refuses: rules of `agentproof._recorder.audit`."""

import os
import signal
import socket
from collections.abc import Callable
from typing import Any

import pytest

from agentproof._recorder import audit, snapshots
from agentproof._recorder.events import Journal
from agentproof._recorder.plan import Plan


def _plan(**more: Any) -> Plan:
    document = {
        **dict.fromkeys(
            ("control", "root", "entry", "distribution", "adapter", "package", "site_packages"), "/nowhere"
        ),
        "modes": ["as-written"],
        "work": {},
    }
    return Plan({**document, **more})


@pytest.mark.parametrize("event", sorted(audit._TOUCHING))
def test_a_child_that_answers_touches_nothing_and_signals_nobody(
    event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit._touch(event, (os.getpid(), signal.SIGTERM))
    monkeypatch.setattr(snapshots, "in_child", True)
    with pytest.raises(PermissionError, match=event):
        audit._touch(event, (os.getpid(), signal.SIGTERM))


class _Socket:
    family = socket.AF_INET


@pytest.mark.parametrize(
    ("event", "host", "loopback"),
    [
        ("socket.bind", "", True),
        ("socket.bind", "0.0.0.0", True),  # noqa: S104  # nothing is bound here
        ("socket.bind", "127.0.0.1", True),
        ("socket.connect", "127.0.0.1", True),
        ("socket.connect", "192.0.2.1", False),
        ("socket.sendto", "", False),
    ],
)
def test_what_a_namespace_would_have_allowed_is_refused_as_that(
    event: str, host: str, loopback: bool, journal: Journal, told: Callable[[], list[dict[str, Any]]]
) -> None:
    with pytest.raises(OSError, match="unreachable"):
        audit._connect(event, (_Socket(), (host, 80)), _plan())
    (refused,) = told()
    assert (refused["operation"], refused["loopback"]) == (event, loopback)
    if event == "socket.bind":
        audit._connect(event, (_Socket(), (host, 80)), _plan(network="namespace"))


def test_the_script_sees_a_refusal_and_no_fault_of_the_recorders(
    journal: Journal, told: Callable[[], list[dict[str, Any]]]
) -> None:
    def broken(event: str, arguments: tuple[Any, ...]) -> None:
        raise FileNotFoundError("getcwd")

    def refusing(event: str, arguments: tuple[Any, ...]) -> None:
        audit._resolve(event, arguments, _plan())

    audit._handle(broken, "open", ("name", "r", 0))
    with pytest.raises(socket.gaierror):
        audit._handle(refusing, "socket.getaddrinfo", ("api.example.org",))
    assert [(event["kind"], event.get("part")) for event in told()] == [
        ("recorder.failed", "audit"),
        ("network.refused", None),
    ]
