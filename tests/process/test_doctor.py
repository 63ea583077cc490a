"""`doctor` on machines that lack something: each line with its fix."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from agentproof.cli import cli
from agentproof.environment import interpreters


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(tmp_path / "cache"))
    # Looking for all Pythons takes seconds, and is tried elsewhere.
    own = interpreters.find()
    monkeypatch.setattr(interpreters, "installed", lambda: (own,))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{closed.getsockname()[1]}/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")


def told(name: str) -> str:
    """What the lines about `name` say, with the fix."""
    lines = CliRunner().invoke(cli, ["doctor"]).output.splitlines()
    at = next(number for number, line in enumerate(lines) if f" {name} " in line)
    return "\n".join(lines[at : at + 2])


def test_a_machine_that_nothing_was_done_on_is_fit() -> None:
    assert "✓ key          none yet: the first recording makes one" in told("key")
    assert "✓ cache" in told("cache")


@pytest.mark.parametrize(
    ("name", "variable"), [("key", "AGENTPROOF_CONFIG_DIR"), ("cache", "AGENTPROOF_CACHE_DIR")]
)
def test_a_place_that_cannot_be_written_is_told_with_the_fix(
    name: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(variable, str(tmp_path / "file" / "below"))
    said = told(name)
    assert said.startswith(f"  ✗ {name}")
    assert f"fix: set {variable} to a directory" in said


def test_an_index_out_of_reach_is_told_with_the_fix() -> None:
    said = told("index")
    assert "✗ index" in said
    assert "not in reach: " in said
    assert "Connection refused" in said
    assert "--offline" in said
