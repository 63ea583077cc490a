"""What users type, and where they used to stumble (the journeys of issue 15), on real releases."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentproof.bundle.store import read_bundle
from agentproof.check.bundle import Reader, check_bundle
from agentproof.environment import uv
from agentproof.environment.index import index_settings
from agentproof.environment.wheel_store import cache_root
from tests.command import agentproof

pytestmark = pytest.mark.real

PAY = """
import time
from agents import Agent, Runner, function_tool
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class Scripted(Model):
    turn = 0

    async def get_response(self, *args, **kwargs):
        self.turn += 1
        if self.turn == 1:
            call = ResponseFunctionToolCall(arguments="{}", call_id="c1", name="pay", type="function_call")
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = ResponseOutputText(annotations=[], text="balance: 90", type="output_text")
        said = ResponseOutputMessage(
            id="m", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


@function_tool
def pay() -> str:
    return "paid"


start = time.perf_counter_ns()
print("result:", Runner.run_sync(Agent(name="a", model=Scripted(), tools=[pay]), "go").final_output)
print(f"took {time.perf_counter_ns() - start} ns")
"""


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A bug that no rule names, with what should have been printed, and a tool that does not exist."""
    place = tmp_path_factory.mktemp("pay")
    (place / "pay.py").write_text(PAY)
    options = ("--should-print", "balance: 100", "--should-run", "payy", "--should", "It stays at 100.")
    return place, agentproof("record", "pay.py", "--sdk", "0.22.0", *options, place=place, columns=80)


def _bundle(place: Path) -> Path:
    (found,) = place.glob("*.agentproof.zip")
    return found


def test_a_bug_that_no_rule_names_costs_one_option(
    paid: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    place, done = paid
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["printed", "result:", "balance:", "90"]
    assert done.stdout.rstrip().endswith(
        'VIOLATED: the script should print "balance: 100" and did not; it printed\n  "result: balance: 90"'
    )
    assert "no run offered a tool payy; the nearest: pay" in done.stdout
    checked = check_bundle(read_bundle(_bundle(place)), reader=Reader())
    assert checked.status == "INTACT"
    assert checked.report.verdict is not None
    assert checked.report.verdict.status == "violated"


def test_nothing_breaks_inside_a_word_at_80_columns(
    paid: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """Journey 13."""
    place, done = paid
    checked = agentproof("check", _bundle(place), place=place, columns=80)
    for line in (*done.stdout.splitlines(), *done.stderr.splitlines(), *checked.stdout.splitlines()):
        # A key's fingerprint is one word, and a path.
        assert len(line) <= 80 or "SHA256:" in line or "/" in line, line
    assert "holds         18 rules (-v names them)" in done.stdout


def test_a_duration_does_not_undo_a_verdict(paid: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Journey 2: the lines are shown, the verdict stays, and the bytes are the same each time."""
    place, done = paid
    assert "only what the script printed differs" in done.stderr
    issue = agentproof("report", _bundle(place), place=place).stdout
    assert (
        "- Does it happen every time: yes: recorded 2 times as written and 2 times streamed, and only what"
        in issue
    )
    assert "(`took <varies> ns`)" in issue
    assert (
        'With openai-agents 0.22.0: The script should print "balance: 100" and did not; it printed '
        '"result: balance: 90".'
    ) in issue
    assert "It stays at 100." in issue.partition("### Expected behavior")[2]


def test_a_replay_judges_the_same_expectations(paid: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    place, _ = paid
    done = agentproof("replay", _bundle(place), "--json", place=place)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["same"], told["seen_verdict"]) == (True, "violated")


def test_a_script_that_begins_by_asking_for_a_key_accuses_nobody(tmp_path: Path) -> None:
    """Journeys 1, 10 and 20: inconclusive with the next step, under a name of its own, and no issue."""
    (tmp_path / "repro.py").write_text(
        'import os\nfrom agents import Agent\nassert os.environ.get("MY_SETTING"), "set MY_SETTING first"\n'
        'print("setting", os.environ["MY_SETTING"], Agent(name="a").name)\n'
    )
    done = agentproof("record", "repro.py", "--sdk", "0.22.0", place=tmp_path)
    assert done.returncode == 1
    assert "`--env NAME` passes a variable of yours" in done.stdout
    assert (
        done.stdout.rpartition("\n  next ")[2]
        .partition("\n")[2]
        .startswith("INCONCLUSIVE: the script did not find a variable")
    )
    failed = _bundle(tmp_path)
    assert failed.name.startswith("repro-0.22.0")
    assert "-inconclusive" in failed.name
    issue = agentproof("report", failed, place=tmp_path).stdout
    assert "**This recording shows nothing yet**" in issue
    assert "Does it happen every time: not to be told" in issue

    given = agentproof(
        *("record", "repro.py", "--sdk", "0.22.0", "--env", "MY_SETTING", "--should-print", "setting"),
        place=tmp_path,
        env={**os.environ, "MY_SETTING": "a value of mine"},
    )
    assert given.returncode == 0, given.stderr
    assert "printed       setting <env:MY_SETTING> a" in given.stdout
    good = next(path for path in tmp_path.glob("*.zip") if path != failed)
    assert b"a value of mine" not in good.read_bytes()
    assert agentproof("replay", good, place=tmp_path).stderr.count("--env MY_SETTING gives yours") == 1
    # Both attempts are of one script: the one that concludes something is reported.
    both = agentproof("report", failed, good, place=tmp_path)
    assert both.returncode == 0, both.stderr
    assert "shows nothing yet" not in both.stdout


def test_a_script_without_a_header_is_not_compared_with_itself(tmp_path: Path) -> None:
    """Journey 16."""
    (tmp_path / "pay.py").write_text(PAY)
    done = agentproof("compare", "pay.py", "--with", "0.24.0", place=tmp_path)
    assert done.returncode == 2
    assert "--sdk VERSION" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "options",
    [
        ("--should-print", ""),
        ("--should-print", "x", "--should-not-print", "x"),
        ("--env", "LD_PRELOAD=x"),
        ("--env", "OPENAI_API_KEY"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "pay.py").write_text(PAY)
    done = agentproof("record", "pay.py", "--sdk", "0.22.0", *options, place=tmp_path)
    assert done.returncode == 2
    assert not list(tmp_path.glob("*.zip"))


def test_it_worked_there_is_an_answer(tmp_path: Path) -> None:
    """`--good`: the sibling-approval bug by what a user sees, without any rule."""
    source = Path(__file__).parents[1] / "scripts" / "unseen" / "empty-list-lost"
    facts: dict[str, Any] = json.loads((source / "case.json").read_bytes())
    (tmp_path / "repro.py").write_bytes((source / "repro.py").read_bytes())
    # The release that repaired it stands for one where it worked.
    done = agentproof("record", "repro.py", "--sdk", facts["buggy"], "--good", facts["fixed"], place=tmp_path)
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert f"VIOLATED: on {facts['fixed']} it printed" in words
    assert f"on {facts['buggy']} it prints" in words
    checked = agentproof("check", _bundle(tmp_path), place=tmp_path)
    assert checked.returncode in (0, 6), checked.stdout


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in the src layout, installed as `pip install -e .` does, with a script that imports it."""
    place = tmp_path_factory.mktemp("shop")
    (place / "src" / "shop").mkdir(parents=True)
    (place / "src" / "shop" / "__init__.py").write_text("PRICE = 42\n")
    (place / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "shop"\nversion = "0.1"\n'
    )
    (place / "scripts").mkdir()
    (place / "scripts" / "bug.py").write_text(
        'import shop\nfrom agents import Agent\nprint("price", shop.PRICE, Agent(name="a").name)\n'
    )
    for options in (
        ("venv", "-q", "--python", sys.executable, str(place / ".venv")),
        ("pip", "install", "-q", "--python", str(place / ".venv"), "-e", str(place), "openai-agents==0.24.0"),
    ):
        done = uv.run_uv(options, environment=index_settings().environment, cache=cache_root(), seconds=600)
        assert done.returncode == 0, done.stderr
    return place


def test_a_project_of_ones_own_goes_along(shop: Path) -> None:
    """Journey 6: what is left out is told with its directory, and no index is asked for it."""
    without = agentproof("record", "scripts/bug.py", "--like", ".venv", "--output", "no.zip", place=shop)
    assert without.returncode == 1
    assert f"shop, a project of yours in {shop}: --with {shop}" in " ".join(without.stderr.split())
    assert "--with shop" not in without.stdout + without.stderr
    assert "--with DIR" in " ".join((without.stdout + without.stderr).split())

    options = ("--like", ".venv", "--with", ".", "--output", "bug.agentproof.zip")
    done = agentproof("record", "scripts/bug.py", *options, place=shop)
    assert done.returncode == 0, done.stderr
    assert "price 42 a" in done.stdout
    assert not (shop / "build").exists()
    bundle = read_bundle(shop / "bug.agentproof.zip")
    (own,) = (each for each in bundle.document.environment.packages if each.origin is not None)
    assert (own.name, own.version) == ("shop", "0.1")
    assert f"wheels/{own.wheel}" in bundle.members
    assert check_bundle(bundle, reader=Reader()).status == "INTACT"

    # Its wheel is what a replay installs: the project is not needed any more.
    (shop / "src" / "shop" / "__init__.py").write_text("PRICE = 1\n")
    told = json.loads(agentproof("replay", "bug.agentproof.zip", "--json", place=shop).stdout)
    assert told["same"] is True

    # Without the wheel nothing of that name is installed from anywhere.
    thin = agentproof("pack", "bug.agentproof.zip", "--thin", "--output", "thin.agentproof.zip", place=shop)
    assert thin.returncode == 0, thin.stderr
    assert check_bundle(read_bundle(shop / "thin.agentproof.zip"), reader=Reader()).status == "INTACT"
    refused = agentproof("replay", "thin.agentproof.zip", place=shop)
    assert refused.returncode == 4, refused.stderr
    assert "asked of no index" in " ".join(refused.stderr.split())

    # Another wheel under its name is seen.
    members = {**bundle.members, f"wheels/{own.wheel}": bundle.members[f"wheels/{own.wheel}"] + b"x"}
    assert check_bundle(dataclasses.replace(bundle, members=members), reader=Reader()).status == "INVALID"


def test_a_notebook_is_recorded_as_its_script(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "metadata": {}, "source": "%pip install -q openai-agents\n" + PAY},
        {
            "cell_type": "code",
            "metadata": {},
            "source": "agent = Agent(name='b', model=Scripted(), tools=[pay])\n"
            "result = await Runner.run(agent, 'go')\nprint('awaited:', result.final_output)",
        },
    ]
    (tmp_path / "repro.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    done = agentproof(
        *("record", "repro.ipynb", "--sdk", "0.24.0", "--should-print", "awaited: balance: 90"),
        place=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "left out      %pip install -q openai-agents" in done.stderr
    bundle = read_bundle(_bundle(tmp_path))
    assert bundle.document.reproduction.files == ("repro.py",)
    assert bundle.document.judgement.verdict == "holds"

    (tmp_path / "repro.ipynb").write_text(
        json.dumps({"cells": [{**cells[0], "source": "!ls"}], "metadata": {}})
    )
    refused = agentproof("record", "repro.ipynb", "--sdk", "0.24.0", place=tmp_path)
    assert refused.returncode == 2
    assert "code cell 1, line 1: `!ls`" in refused.stderr


@pytest.mark.parametrize(
    "text",
    [
        "../nowhere",
        "./.venv[dev]",
        "shop @ https://example.org/shop.whl",
        "https://example.org/shop-0.1-py3-none-any.whl",
        "git+https://example.org/shop",
        "dist/shop-0.1-py3-none-any.whl",
    ],
)
def test_a_project_that_is_not_there_is_refused_before_anything_is_made(tmp_path: Path, text: str) -> None:
    (tmp_path / "pay.py").write_text(PAY)
    done = agentproof("record", "pay.py", "--sdk", "0.22.0", "--with", text, place=tmp_path)
    assert done.returncode == 2, done.stderr
    assert f"--with {text}" in " ".join(done.stderr.split())
