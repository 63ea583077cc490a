"""Which errors are about what a script takes for granted; each script is really run."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentproof._recorder import premises

HEAD = "import os, sys\nfrom agents import Agent, Runner\n"
"""`agents` below is a module of one class, enough to call."""


@pytest.fixture(autouse=True)
def _sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sdk").mkdir()
    text = "class Agent:\n    ok = False\nclass Runner:\n    run = staticmethod(lambda *a: a[0]())\n"
    (tmp_path / "sdk" / "agents.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "sdk"))
    monkeypatch.delitem(sys.modules, "agents", raising=False)
    monkeypatch.delenv("MY_SETTING", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def premise(tmp_path: Path, body: str, *, tests: bool = False) -> str | None:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    script = root / "script.py"
    script.write_text(HEAD + body)
    places: list[premises.Place] = []
    through_sdk = raised = False
    caught: BaseException | None = None
    try:
        exec(compile(script.read_text(), str(script), "exec"), {"__name__": "__main__"})  # noqa: S102
    except Exception as error:  # noqa: BLE001  (whatever the script raises)
        caught = error
    assert caught is not None
    trace = caught.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == str(script):
            through_sdk = through_sdk or raised
            places.append((code, trace.tb_lineno))
        raised = raised or (bool(places) and code.co_filename.endswith("agents.py"))
        trace = trace.tb_next
    plan: Any = SimpleNamespace(package="agents", tests=["x"] if tests else [], root=str(root))
    return premises.of(caught, places, through_sdk=through_sdk, plan=plan)


@pytest.mark.parametrize(
    "body",
    [
        'assert os.environ.get("OPENAI_API_KEY"), "set OPENAI_API_KEY first"\n',
        'key = os.getenv("OPENAI_API_KEY")\nassert key is not None\n',
        'Agent()\nassert os.environ.get("MY_SETTING") == "x"\n',
        'os.environ["MY_SETTING"]\n',
        'def main():\n    token = os.environ["MY_SETTING"]\nmain()\n',
        'raise RuntimeError("please set MISTRAL_API_KEY")\n',
        "assert sys.version_info < (3,)\n",
        'open("prices.json")\n',
        'raise EOFError("EOF when reading a line")\n',
        "import nothing_of_the_kind\n",
        "async def main():\n    assert os.getenv('X')\nimport asyncio\nasyncio.run(main())\n",
    ],
)
def test_what_the_environment_lacks_is_its_own(tmp_path: Path, body: str) -> None:
    assert premise(tmp_path, body) == "environment"


@pytest.mark.parametrize(
    "body",
    [
        "assert 1 == 2\n",
        "def check(n):\n    assert n\n\ndef main():\n    check(0)\n    Runner.run(print)\n\nmain()\n",
        "async def main():\n    assert 0\n    Agent()\nimport asyncio\nasyncio.run(main())\n",
    ],
)
def test_an_assertion_before_the_sdk_is_called_says_nothing_of_it(tmp_path: Path, body: str) -> None:
    assert premise(tmp_path, body) == "before_sdk"


@pytest.mark.parametrize(
    "body",
    [
        "assert Agent().ok\n",
        "agent = Agent()\nassert agent.ok\n",
        "agent = Agent()\nx = 1\nassert x == 2\n",
        "def make():\n    return Agent()\nresult = make().ok\nassert result\n",
        "def tool():\n    assert 1 == 2\nRunner.run(tool)\n",
        "from agents import nothing_here\n",
        'agent = Agent()\nassert agent.ok == os.environ.get("MY_SETTING")\n',
        "agent = Agent()\nassert 0, 'a leak'\n",
        "raise ValueError('of its own')\n",
        "class A:\n    agent = Agent()\n    ok = agent.ok\nassert A.ok\n",
    ],
)
def test_all_else_may_be_the_sdks(tmp_path: Path, body: str) -> None:
    assert premise(tmp_path, body) is None


def test_a_test_that_fails_early_may_have_a_fixture_that_ran_an_agent(tmp_path: Path) -> None:
    assert premise(tmp_path, "assert 1 == 2\n", tests=True) is None


def test_a_helper_of_its_own_may_have_used_the_sdk(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "helper.py").write_text("ok = False\n")
    sys.path.insert(0, str(tmp_path / "root"))
    try:
        assert premise(tmp_path, "from helper import ok\nassert 1 == 2\n") is None
    finally:
        sys.path.remove(str(tmp_path / "root"))
        sys.modules.pop("helper", None)
