"""Targets that cannot be had and reproductions that are not there: what is told, with which exit code.

Nothing is fetched: the cache is empty and every command is told to ask no index.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agentproof.bundle.store import write_bundle, zip_bytes
from agentproof.cli import cli
from agentproof.compare.subjects import find_subjects
from tests import forge

GIT = shutil.which("git") or "git"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a script, a bundle, and a checkout whose HEAD cannot be built; entered."""
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "repro.py").write_text("import agents\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.agentproof.zip").write_bytes(zip_bytes(forge.draft().seal()))
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "pyproject.toml").write_text("this is [ not TOML\n")
    _git(checkout, "init", "-q", "-b", "main")
    _git(checkout, "add", ".")
    _git(checkout, "commit", "-q", "-m", "First")
    return tmp_path


def _git(directory: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run([GIT, *who, *arguments], cwd=directory, check=True, capture_output=True)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="agentproof")


@pytest.mark.parametrize(
    ("target", "message", "hint"),
    [
        ("../nowhere", "there is no directory ../nowhere", "DIR or DIR@REV"),
        ("../nowhere@main", "there is no directory ../nowhere", "DIR or DIR@REV"),
        ("nothing.whl", "--with nothing.whl: no such file", "a version, a wheel or a checkout"),
        ("main", "neither a version, a wheel file nor a checkout", "such as 0.21.0, latest"),
        ("checkout@gone", "checkout has no commit gone", "name a commit, tag or branch that it has"),
        ("empty", "not a git repository", "a git checkout"),
    ],
)
@pytest.mark.parametrize("command", ["compare", "matrix"])
def test_a_target_that_does_not_exist_is_refused_before_anything_is_recorded(
    command: str, target: str, message: str, hint: str
) -> None:
    done = run(command, "scripts/repro.py", "--with", "0.20.0", "--with", target, "--offline")
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert hint in done.stderr
    assert "recording" not in done.stderr


@pytest.mark.parametrize("command", ["compare", "matrix"])
def test_a_script_with_a_senseless_header_is_refused_before_any_other_is_recorded(
    command: str, place: Path
) -> None:
    (place / "scripts" / "second.py").write_text("# /// script\n# dependencies = 1\n# ///\nimport agents\n")
    done = run(command, "scripts/repro.py", "scripts/second.py", "--with", "0.20.0", "--offline")
    assert done.exit_code == 2
    assert "second.py: `dependencies` in the header is not a list of texts" in done.stderr
    assert "recording" not in done.stderr


def test_changes_that_are_not_committed_are_refused_before_anything_is_recorded(place: Path) -> None:
    (place / "checkout" / "pyproject.toml").write_text("changed\n")
    done = run("compare", "scripts/repro.py", "--with", "checkout", "--offline")
    assert done.exit_code == 2
    assert "checkout has changes that are not committed: pyproject.toml" in done.stderr
    assert "checkout@HEAD" in done.stderr


@pytest.mark.parametrize("command", ["compare", "matrix", "bisect"])
def test_a_directory_without_reproductions_names_the_scripts_that_it_holds(command: str) -> None:
    ends = ("--bad", "0.20.0", "--good", "0.21.0") if command == "bisect" else ("--with", "0.21.0")
    for directory, hint in (("scripts", "name the script: scripts/repro.py"), ("empty", "name a script, a")):
        done = run(command, directory, *ends)
        assert done.exit_code == 2
        assert f"{directory}: neither a bundle nor a reproduction.py in it or below" in done.stderr
        assert hint in done.stderr


def test_a_target_that_cannot_be_recorded_is_told_with_the_next_step() -> None:
    # The bundle is of 3.12, which may not be here.
    mine = f"{sys.version_info.major}.{sys.version_info.minor}"
    done = run("compare", "x.agentproof.zip", "--with", "0.21.0", "--offline", "--python", mine)
    assert done.exit_code == 4, done.output
    assert "not recorded" in done.stdout
    assert "because     offline: no lock of openai-agents==0.21.0 is known here" in done.stdout
    assert "next          run once without --offline" in done.stderr


def test_a_checkout_that_cannot_be_built_keeps_no_other_target_of_a_matrix_from_its_turn() -> None:
    done = run(
        *("matrix", "scripts/repro.py", "--with", "checkout@main", "--with", "0.21.0"),
        *("--offline", "--jobs", "1", "--json"),
    )
    assert done.exit_code == 4, done.output
    (row,) = json.loads(done.stdout)["rows"]
    built, released = (cell["failed"] for cell in row["cells"])
    assert "cannot be built" in built
    assert "TOML parse error" in built
    assert "/" not in built.replace("`<path>`", "")
    assert "offline: no lock of openai-agents==0.21.0" in released
    assert "next          try `uv build --wheel` there" in done.stderr


def test_a_matrix_counts_what_it_recorded() -> None:
    done = run("matrix", "scripts/repro.py", "--with", "0.21.0", "--offline", "--jobs", "1")
    assert "  0 of 1 recordings, in " in done.stdout
    assert " on 1 worker (" in done.stdout


def test_an_end_that_cannot_be_recorded_is_not_called_good_or_bad() -> None:
    done = run(
        *("bisect", "scripts/repro.py", "--source", "checkout", "--bad", "main", "--good", "main~0"),
        "--offline",
    )
    assert done.exit_code == 2
    assert "are one commit" in done.stderr
    _git(Path("checkout"), "commit", "-q", "--allow-empty", "-m", "Second")
    done = run(
        *("bisect", "scripts/repro.py", "--source", "checkout", "--bad", "main", "--good", "main~1"),
        "--offline",
    )
    assert done.exit_code == 4, done.output
    assert "could not be recorded: commit" in done.stderr
    assert "is not bad" not in done.stderr


@pytest.mark.parametrize("command", ["replay", "show"])
def test_a_script_is_no_bundle_and_several_are_not_one(command: str, place: Path) -> None:
    done = run(command, "scripts/repro.py")
    assert (done.exit_code, "is a script, no bundle" in done.stderr) == (2, True)
    assert "`agentproof record scripts/repro.py`" in done.stderr
    (place / "y.agentproof.zip").write_bytes(zip_bytes(forge.draft(holds=True).seal()))
    done = run(command, ".")
    assert (done.exit_code, "holds 2 bundles; name one" in done.stderr) == (2, True)
    assert not (place / "config").exists()


def test_bundles_that_belong_to_no_script_of_a_directory_are_compared_too(place: Path) -> None:
    case = place / "bundles" / "case"
    write_bundle(forge.draft().seal(), case / "0.20.0")
    (case / "reproduction.py").write_bytes(forge.REPRODUCTION)
    (place / "bundles" / "sent.agentproof.zip").write_bytes((place / "x.agentproof.zip").read_bytes())
    assert [subject.name for subject in find_subjects(place / "bundles")] == ["case", "sent"]
