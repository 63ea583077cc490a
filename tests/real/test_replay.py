"""Replay and comparison on real wheels: the same evidence, a changed trace in words, one checkable file."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command import agentproof, has_python
from tests.copying import files_in

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bundles" / "sibling-approval" / "reproduction.py"

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sibling-approval bug on 0.20.0."""
    archive = tmp_path_factory.mktemp("replay") / "sibling.agentproof.zip"
    done = agentproof("record", SCRIPT, "--output", archive, "--quiet")
    assert done.returncode == 0, done.stderr
    return archive


def _json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_a_replay_sees_the_same_evidence_and_attests_it(bundle: Path, tmp_path: Path) -> None:
    attested = tmp_path / "attested.agentproof.zip"
    done = agentproof("replay", bundle, "--sign", "--output", attested, "--json")
    assert done.returncode == 0, done.stderr
    report = _json(done)
    assert report["same"]
    assert report["environment"] == []
    checked = agentproof("check-current-bundle", attested, "--threshold", "replayed=1", "--json")
    assert checked.returncode == 0, checked.stdout
    assert _json(checked)["bundle_id"] == report["bundle_id"]
    assert agentproof("check-current-bundle", bundle, "--threshold", "replayed=1").returncode == 5


def test_a_replay_on_another_python_sees_the_same_evidence_and_says_what_differs(bundle: Path) -> None:
    mine = f"{sys.version_info.major}.{sys.version_info.minor}"
    other = next((each for each in ("3.12", "3.11", "3.13") if each != mine and has_python(each)), None)
    if other is None:
        pytest.skip("this machine has one supported Python")
    done = agentproof("replay", bundle, "--python", other, "--json")
    report = _json(done)
    assert report["same"], done.stderr
    assert report["environment"][0].startswith(f"CPython {other}")


def test_a_script_that_does_something_else_each_time_is_explained_in_words(tmp_path: Path) -> None:
    script = tmp_path / "fickle.py"
    text = SCRIPT.read_text().replace(
        'return f"paid {amount}"', 'return "paid " + str(__import__("time").time_ns() // 10**9)'
    )
    script.write_text(text)
    archive = tmp_path / "fickle.agentproof.zip"
    assert agentproof("record", script, "--output", archive, "--quiet").returncode in (0, 1)
    done = agentproof("replay", archive)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "changed: the output of tool pay for call_1 in the 2nd run of clerk" in done.stdout
    assert "DIFFERENT" in done.stdout


def test_the_reproduction_runs_from_its_report_alone(tmp_path: Path) -> None:
    """Two files, copied out of the Markdown and nothing else, give the same evidence again."""
    (tmp_path / "amounts.py").write_text("AMOUNT = 100\n")
    text = SCRIPT.read_text().replace("import asyncio\n", "import asyncio\nimport amounts\n")
    (tmp_path / "repro.py").write_text(text.replace('"Pay 100."', 'f"Pay {amounts.AMOUNT}."'))
    written = agentproof("record", "repro.py", "--output", "a.agentproof.zip", "--quiet", place=tmp_path)
    assert written.returncode == 0, written.stderr
    told = agentproof("report", "a.agentproof.zip", "--quiet", place=tmp_path)
    files = files_in(told.stdout)
    assert set(files) == {"amounts.py", "repro.py"}
    place = tmp_path / "copied"
    place.mkdir()
    for name, content in files.items():
        (place / name).write_text(content)
    done = agentproof("record", "repro.py", "--output", "b.agentproof.zip", "--quiet", place=place)
    assert done.returncode == 0, done.stderr
    evidence = re.search(r"evidence id `sha256:[0-9a-f]{64}`", told.stdout)
    assert evidence is not None
    assert evidence[0] in agentproof("report", "b.agentproof.zip", "--quiet", place=place).stdout


def test_a_comparison_says_fixed_and_is_checked_as_one_file(bundle: Path, tmp_path: Path) -> None:
    place = tmp_path / "comparison.agentproof.zip"
    done = agentproof("compare", bundle, "--with", "0.21.0", "--output", place, "--expect", "fixed", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = _json(done)["rows"]
    assert [cell["outcome"] for cell in row["cells"]] == ["baseline", "fixed"]
    checked = agentproof("check-current-bundle", place, "--json")
    assert checked.returncode == 0, checked.stdout
    assert _json(checked)["status"] == "CURRENT"
    # All that was recorded is kept, so the same again takes no recording.
    again = agentproof("compare", bundle, "--with", "0.21.0", "--output", place, "--replace")
    assert "the same recording was made before" in again.stderr


def test_good_and_bad_exchanged_is_said_before_any_search() -> None:
    done = agentproof("bisect", SCRIPT, "--bad", "0.21.0", "--good", "0.20.0", "--quiet")
    assert done.returncode == 2
    assert "good and bad are exchanged" in done.stderr


def test_the_release_that_fixed_it_is_found() -> None:
    done = agentproof("bisect", SCRIPT, "--bad", "0.20.0", "--good", "0.21.0", "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    (change,) = _json(done)["changes"]
    assert (change["kind"], change["last"], change["first"]) == ("first_fixed", "0.20.0", "0.21.0")
