"""Where an error came from: rules of `agentproof._recorder.frames`."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from agentproof._recorder import frames
from agentproof._recorder.plan import Plan

SDK = "def check(it):\n    assert it\n\ndef call(function):\n    return function()\n"
SCRIPT = """
import json
import the_sdk

def own():
    assert False

def tool():
    return the_sdk.call(own)

def inside():
    the_sdk.check(None)

def elsewhere():
    json.loads("{")
"""


@pytest.mark.parametrize(
    ("name", "functions", "raised_in"),
    [
        ("own", ["own"], "own"),
        ("tool", ["tool", "own"], "own"),
        ("inside", ["inside"], "sdk"),
        ("elsewhere", ["elsewhere"], "other"),
    ],
)
def test_an_error_is_the_innermost_frames(
    name: str, functions: list[str], raised_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "the_sdk.py").write_text(SDK)
    (tmp_path / "root" / "the_script.py").write_text(SCRIPT)
    for directory in (tmp_path, tmp_path / "root"):
        monkeypatch.syspath_prepend(str(directory))
    for module in ("the_sdk", "the_script"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    document: dict[str, Any] = dict.fromkeys(
        ("control", "entry", "distribution", "adapter", "site_packages"), ""
    )
    plan = Plan({**document, "root": str(tmp_path / "root"), "package": "the_sdk", "modes": [], "work": {}})
    script = importlib.import_module("the_script")
    with pytest.raises((AssertionError, ValueError)) as raised:
        getattr(script, name)()
    told = frames.of(raised.value, plan)
    assert [(frame["file"], frame["function"]) for frame in told["frames"]] == [
        ("the_script.py", function) for function in functions
    ]
    assert told["raised_in"] == raised_in


def test_an_error_with_no_frame_of_the_reproductions_was_raised_nowhere(tmp_path: Path) -> None:
    document: dict[str, Any] = dict.fromkeys(
        ("control", "entry", "distribution", "adapter", "site_packages"), ""
    )
    plan = Plan({**document, "root": str(tmp_path), "package": "the_sdk", "modes": [], "work": {}})
    assert frames.of(ValueError(), plan) == {"frames": [], "raised_in": None}
