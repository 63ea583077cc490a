"""Tests by their node ids and directories as reproductions, end to end on real wheels."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentproof.bundle.store import Bundle, read_bundle
from agentproof.models.events import Event, RunStarted, ScriptWrote, TestEnded, TestStarted
from agentproof.models.manifest import Manifest
from agentproof.models.trace import Trace
from tests.command import agentproof
from tests.corpus.recordings import SCRIPTS

pytestmark = pytest.mark.real

PROJECT = SCRIPTS / "pytest_project"
FILE = "tests/test_payments.py"
BUG = f"{FILE}::test_only_the_approved_state_pays"
PYTEST = ("--with", "pytest", "--with", "pytest-asyncio")


def record(*arguments: str | Path, cwd: Path, version: str = "0.24.0") -> subprocess.CompletedProcess[str]:
    sdk = ("--sdk", f"openai-agents=={version}", "--timeout", "300")
    return agentproof("record", *arguments, *sdk, place=cwd)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project, far from this repository's own configuration."""
    return Path(shutil.copytree(PROJECT, tmp_path / "project"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, str]:
    """The whole file recorded on 0.24.0, and what was printed."""
    base = tmp_path_factory.mktemp("whole")
    shutil.copytree(PROJECT, base / "project")
    done = record(FILE, *PYTEST, "--output", base / "whole.zip", cwd=base / "project")
    assert done.returncode == 1, done.stdout + done.stderr
    return read_bundle(base / "whole.zip"), done.stdout


def events(bundle: Bundle, mode: str = "as-written") -> tuple[Event, ...]:
    return Trace.from_bytes(bundle.members[f"traces/{mode}.json"]).events


def outcomes(bundle: Bundle, mode: str = "as-written") -> dict[str, str]:
    ended = [event for event in events(bundle, mode) if isinstance(event, TestEnded)]
    return {event.test.removeprefix(f"{FILE}::"): event.outcome for event in ended}


OUTCOMES = {
    "test_only_the_approved_state_pays": "passed",
    "test_prices[a-b]": "passed",
    "test_prices[c d::e/f]": "passed",
    "test_prices[none]": "failed",
    "TestOther::test_a_pause": "passed",
    "TestOther::test_not_async": "passed",
    "test_a_broken_fixture": "error",
    "test_a_broken_end": "error",
    "test_skipped": "skipped",
    "test_known": "xfailed",
    "test_unexpected": "failed",
}


def test_each_test_of_a_file_is_a_run_with_its_outcome_in_both_modes(whole: tuple[Bundle, str]) -> None:
    bundle, _ = whole
    assert outcomes(bundle) == outcomes(bundle, "streamed") == OUTCOMES
    within: list[str] = []
    for event in events(bundle):
        match event:
            case TestStarted():
                within.append("begin")
            case RunStarted():
                within.append("run")
            case TestEnded():
                within.append("end")
            case _:
                pass
    pause = ["begin", "run", "end"]
    assert within == ["begin", "run", "run", "end"] + ["begin", "end"] * 3 + pause * 2 + ["begin", "end"] * 5


def test_the_repeats_agree_though_pytest_tells_times(whole: tuple[Bundle, str]) -> None:
    manifest = Manifest.from_bytes(whole[0].manifest)
    assert [(each.mode, each.agreement) for each in manifest.recordings] == [
        ("as-written", "same"),
        ("streamed", "same"),
    ]
    (wrote,) = [event for event in events(whole[0]) if isinstance(event, ScriptWrote)]
    assert wrote.stream == "stdout"
    assert wrote.text == (
        "tea costs 3, written to <tmp>/pytest-of-nobody/pytest-0/test_prices_a_b_0\n"
        "cake costs 4, written to <tmp>/pytest-of-nobody/pytest-0/test_prices_c_d__e_f_0\n"
    )


def test_errors_are_told_by_their_place_in_the_project_alone(whole: tuple[Bundle, str]) -> None:
    bundle, printed = whole
    told = {
        event.test.rpartition("::")[2]: (event.error, event.frames[-1], event.reason)
        for event in events(bundle)
        if isinstance(event, TestEnded) and event.error is not None
    }
    error, place, _ = told["test_a_broken_fixture"]
    assert error is not None
    assert (error.type, error.message) == ("builtins:RuntimeError", "this fixture never works")
    assert (place.file, place.function) == ("tests/conftest.py", "broken")
    error, place, _ = told["test_prices[none]"]
    assert error is not None
    assert (error.type, place.file) == ("builtins:KeyError", "prices.py")
    assert "tests         5 passed, 2 failed, 2 error, 1 xfailed, 1 skipped" in printed
    assert f"failed   {FILE}::test_unexpected: [XPASS(strict)] was known" in printed
    assert f"skipped  {FILE}::test_skipped: not today" in printed
    for data in (bundle.manifest, *bundle.members.values()):
        assert b"/dev/shm" not in data


def test_the_members_are_what_was_really_read(whole: tuple[Bundle, str]) -> None:
    reproduction = Manifest.from_bytes(whole[0].manifest).reproduction
    assert reproduction.files == (
        "prices.py",
        "pyproject.toml",
        "tests/conftest.py",
        "tests/data/prices.txt",
        "tests/scripted.py",
        FILE,
    )
    assert (reproduction.entry, reproduction.tests) == (FILE, (FILE,))
    assert reproduction.requires == ("pytest", "pytest-asyncio")


def test_a_failed_test_that_is_no_assertion_of_its_own_is_no_violation(whole: tuple[Bundle, str]) -> None:
    judgement = Manifest.from_bytes(whole[0].manifest).judgement
    assert not [claim for claim in judgement.claims if claim.status == "violated"]
    assert (judgement.verdict, judgement.reasons) == ("inconclusive", ("script_failed",))


def test_single_cases_are_named_from_anywhere(project: Path, tmp_path: Path) -> None:
    cases = ["./test_payments.py::test_prices[c d::e/f]", "test_payments.py::TestOther"]
    done = record(*cases, *PYTEST, "--json", cwd=project / "tests")
    assert done.returncode == 0, done.stdout + done.stderr
    bundle = read_bundle(project / "tests" / json.loads(done.stdout)["artifact"])
    assert list(outcomes(bundle)) == [
        "test_prices[c d::e/f]",
        "TestOther::test_a_pause",
        "TestOther::test_not_async",
    ]
    assert json.loads(done.stdout)["artifact"].startswith("test-payments-test-prices-c-d-e-f-testother-")


@pytest.mark.slow
def test_a_test_that_fails_on_one_release_alone_is_compared_and_replayed(project: Path) -> None:
    done = record(BUG, *PYTEST, "--output", "bug.zip", "--expect", "violated", cwd=project, version="0.20.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"failed   {BUG}: AssertionError at {FILE}:" in done.stdout
    assert "a state that nobody approved was resumed, and paid" in done.stdout
    # Nothing of the project is left but what the bundle holds, and the requirements are known from it.
    os.rename(project / "tests", project / "gone")
    again = agentproof("replay", "bug.zip", cwd=project)
    assert again.returncode == 0, again.stdout + again.stderr
    compared = agentproof(
        "compare", "bug.zip", "--with", "0.21.0", "--expect", "fixed", "--json", cwd=project
    )
    assert compared.returncode == 0, compared.stdout + compared.stderr
    cell = json.loads(compared.stdout)["rows"][0]["cells"][1]
    assert cell["outcome"] == "fixed"
    claims = {claim["id"]: (claim["before"], claim["after"]) for claim in cell["claims"]}
    assert claims["script-completed"] == ("violated", "holds")
    subjects = {each["subject"] for each in cell["differences"]}
    assert f"the end of test {BUG}" in subjects


@pytest.mark.slow
def test_compare_takes_a_node_id(project: Path) -> None:
    needs = ("--needs", "pytest", "--needs", "pytest-asyncio")
    done = agentproof("compare", BUG, *needs, "--with", "0.20.0", "--with", "0.21.0", "--json", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert row["reproduction"] == "test_payments.py::test_only_the_approved_state_pays"
    assert [cell["outcome"] for cell in row["cells"]] == ["baseline", "fixed"]


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        ((f"{FILE}::test_price", *PYTEST), "pytest knows no such test", f"{FILE}::test_prices"),
        ((BUG,), "tests are run by pytest, which is not in the environment", "--with pytest"),
        (
            (BUG, *PYTEST, "hello"),
            "hello is no test, and tests take no arguments",
            "arguments go to a script",
        ),
    ],
)
def test_what_cannot_be_run_at_all_is_an_error_with_the_next_step(
    project: Path, arguments: tuple[str, ...], said: str, hint: str
) -> None:
    done = record(*arguments, cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert hint in done.stderr.rpartition("next:")[2]
    assert not list(project.glob("*.zip"))


@pytest.mark.slow  # what cannot be imported is told under its file: tests/process/test_recorded_tests.py
def test_a_conftest_that_a_release_cannot_import_is_an_outcome(project: Path) -> None:
    with (project / "tests" / "conftest.py").open("a") as conftest:
        conftest.write("\nfrom agents.testing import ScriptedModel\n")
    done = record(BUG, *PYTEST, "--output", "old.zip", cwd=project, version="0.20.0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 error" in done.stdout
    assert "error    tests/conftest.py: ModuleNotFoundError at tests/conftest.py:" in done.stdout
    assert "No module named 'agents.testing'" in done.stdout


def test_a_patch_that_a_test_takes_back_is_a_change_of_the_sdk(project: Path) -> None:
    (project / "tests" / "test_patched.py").write_text(
        "from agents import Runner\n\n\ndef test_patched(monkeypatch):\n"
        "    monkeypatch.setattr(Runner, 'run', None)\n"
    )
    done = record("tests/test_patched.py", *PYTEST, cwd=project)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the script changed the SDK" in done.stdout
    assert "replaced agents.run.Runner.run" in done.stdout


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A directory with an entry, a package and data."""
    root = tmp_path / "my app"
    (root / "lib").mkdir(parents=True)
    (root / "unread.txt").write_text("")
    (root / "lib" / "words.txt").write_text("Hello.")
    shutil.copy(PROJECT / "tests" / "scripted.py", root / "lib" / "scripted.py")
    (root / "lib" / "agent.py").write_text(
        "from pathlib import Path\nfrom agents import Agent\nfrom lib.scripted import Scripted, say\n"
        "words = (Path(__file__).parent / 'words.txt').read_text()\n"
        "agent = Agent(name='a', model=Scripted(say(words)))\n"
    )
    main = "import sys\nfrom agents import Runner\nfrom lib.agent import agent\n"
    main += "print(Runner.run_sync(agent, 'hi').final_output, sys.argv[1:])\n"
    (root / "__main__.py").write_text(main)
    (root / "bin").mkdir()
    path = "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parents[1]))\n"
    (root / "bin" / "tool.py").write_text(path + main)
    return root


@pytest.mark.parametrize(
    ("options", "entry", "name"),
    [
        pytest.param((), "__main__.py", "my-app", marks=pytest.mark.slow),
        (("--entry", "bin/tool.py"), "bin/tool.py", "my-app-tool"),
    ],
)
def test_a_directory_is_recorded_with_what_its_entry_reads(
    app: Path, options: tuple[str, ...], entry: str, name: str
) -> None:
    done = record("my app", "one", *options, "--json", cwd=app.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["artifact"].startswith(f"{name}-0.24.0")
    bundle = read_bundle(app.parent / report["artifact"])
    reproduction = Manifest.from_bytes(bundle.manifest).reproduction
    assert reproduction.entry == entry
    assert reproduction.files == tuple(sorted((entry, "lib/agent.py", "lib/scripted.py", "lib/words.txt")))
    assert [event.text for event in events(bundle) if isinstance(event, ScriptWrote)] == ["Hello. ['one']\n"]
