"""What is said of a script that did not come to a clean end."""

from typing import Any

import pytest

from agentproof.models.trace import Mode, Trace
from agentproof.render.ending import ending_hints, ending_lines


def trace(mode: Mode, *events: dict[str, Any]) -> Trace:
    started = {"kind": "script.started", "entry": "reproduction.py"}
    shapes = [{**event, "seq": number} for number, event in enumerate((started, *events), start=1)]
    return Trace.from_shape({"format": "agentproof/trace", "version": 0, "mode": mode, "events": shapes})


def raised(kind: str, message: str, *bases: str) -> dict[str, Any]:
    return {
        "kind": "script.ended",
        "outcome": "raised",
        "error": {"type": kind, "message": message, "bases": list(bases)},
        "frames": [{"file": "reproduction.py", "line": 5, "function": "main"}],
    }


def test_a_clean_end_says_nothing() -> None:
    ended = {"kind": "script.ended", "outcome": "exited", "code": 0}
    traces: dict[Mode, Trace] = {"as-written": trace("as-written", ended)}
    assert not list(ending_lines(traces))
    assert not ending_hints(traces)


def test_an_exception_is_told_once_with_its_place_and_the_last_words_before_it() -> None:
    said = "".join(f"line {number}\n" for number in range(9)) + "Traceback (most recent call last):\n  File …"
    wrote = {"kind": "script.wrote", "stream": "stderr", "text": said, "size": len(said), "truncated": False}
    modes: tuple[Mode, Mode] = ("as-written", "streamed")
    traces = {mode: trace(mode, raised("builtins:ValueError", "boom"), wrote) for mode in modes}
    assert list(ending_lines(traces)) == [
        "ValueError: boom, at reproduction.py:5  (as-written and streamed)",
        *(f"| line {number}" for number in range(4, 9)),
    ]


@pytest.mark.parametrize(
    ("event", "hint"),
    [
        (raised("builtins:KeyError", "'OPENAI_API_KEY'"), "agentproof init"),
        (raised("openai:OpenAIError", "The api_key client option must be set"), "agentproof init"),
        (raised("builtins:FileNotFoundError", "no data.txt", "builtins:OSError"), "Path(__file__).parent"),
        (raised("builtins:EOFError", "EOF when reading a line"), "ARGUMENTS"),
        (raised("builtins:ModuleNotFoundError", "No module named 'x'"), "--with"),
        ({"kind": "script.ended", "outcome": "timed_out"}, "--timeout"),
    ],
)
def test_an_end_that_newcomers_meet_has_a_next_step(event: dict[str, Any], hint: str) -> None:
    assert hint in ending_hints({"as-written": trace("as-written", event)})[-1]


@pytest.mark.parametrize(
    ("module", "hint"),
    [
        ("dotenv", "--with python-dotenv installs dotenv"),
        ("yaml", "--with PyYAML installs yaml"),
        ("PIL.Image", "--with pillow installs PIL"),
        ("shop", "--with REQUIREMENT installs what has shop in it"),
    ],
)
def test_a_module_is_never_answered_with_a_name_that_nobody_wrote(module: str, hint: str) -> None:
    """Journeys 6 and 7: what is called `shop` on an index is a stranger's."""
    error = raised("builtins:ModuleNotFoundError", f"No module named '{module}'", "builtins:ImportError")
    (told,) = ending_hints({"as-written": trace("as-written", error)})
    assert told.startswith(hint)
    assert "--with shop" not in told


def test_a_script_that_asked_for_the_network_is_told_to_bring_a_model() -> None:
    refused = {
        "kind": "network.refused",
        "operation": "socket.connect",
        "target": ["198.51.100.1", 443],
        "loopback": False,
    }
    hints = ending_hints({"streamed": trace("streamed", refused, raised("builtins:OSError", "no"))})
    assert "agentproof init" in hints[-1]
