"""Which database a session is over: rules of the adapter's `sessions`."""

import os
from pathlib import Path
from typing import Any

import pytest

from agentproof._recorder.adapters.openai_agents import sessions
from agentproof._recorder.events import Journal


class _Session:
    def __init__(self, path: Any) -> None:
        self.db_path = path


def _database(path: Any) -> Any:
    return sessions._who(_Session(path))["database"]


def test_one_file_has_one_spelling(journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_databases", {})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    whole = os.path.realpath(tmp_path / "real" / "conv.db")
    spellings = ("real/conv.db", "./real/conv.db", Path("link/conv.db"), whole, "real/../link/conv.db")
    assert {_database(path) for path in spellings} == {whole}


def test_a_session_keeps_its_file_when_the_script_goes_elsewhere(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_databases", {})
    monkeypatch.chdir(tmp_path)
    session = _Session("conv.db")
    first = sessions._who(session)["database"]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert sessions._who(session)["database"] == first


@pytest.mark.parametrize("path", [":memory:", "", "file::memory:?cache=shared", None])
def test_what_is_no_path_is_left_as_it_is(
    path: Any, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_databases", {})
    assert _database(path) == path
