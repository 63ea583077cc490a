"""Kept recordings: whole, sealed for this user, and found again only under all that they depend on."""

from pathlib import Path

import pytest

from agentproof.bundle.store import Bundle
from agentproof.environment import interpreters
from agentproof.environment.locking import Lock
from agentproof.isolation import levels
from agentproof.record.conditions import Conditions
from agentproof.record.kept import ResultStore, result_key
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import Selection
from tests import forge

KEY = "ab" * 32


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ResultStore:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    return ResultStore(tmp_path / "recordings")


def _recording() -> Bundle:
    return forge.draft().seal()


def test_a_recording_comes_back_without_its_wheel(store: ResultStore) -> None:
    recording = _recording()
    store.put(KEY, recording)
    kept = store.get(KEY)
    assert kept is not None
    assert kept.manifest == recording.manifest
    assert {path for path in recording.members if not path.startswith("wheels/")} == set(kept.members)
    assert not kept.attestations


def test_a_key_depends_on_repeats_but_not_on_whether_they_ran_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "choose", lambda _: levels.Choice("audit-hook", landlock=0))
    (tmp_path / "script.py").write_text("print(1)\n")
    script, manifest = read_reproduction(Selection(tmp_path / "script.py")), _recording().document
    environment = manifest.environment
    lock = Lock(interpreters.find(), environment.packages, manifest.target, environment.as_of)
    key = result_key(lock, script, Conditions())
    assert result_key(lock, script, Conditions(side_by_side=False)) == key
    assert result_key(lock, script, Conditions(repeats=3)) != key


def test_there_is_nothing_under_another_key(store: ResultStore) -> None:
    store.put(KEY, _recording())
    assert store.get("cd" * 32) is None


def test_a_recording_that_was_moved_to_another_key_is_not_believed(store: ResultStore) -> None:
    store.put(KEY, _recording())
    (store.root / ("cd" * 32)).write_bytes((store.root / KEY).read_bytes())
    assert store.get("cd" * 32) is None


def test_a_changed_byte_means_that_it_is_made_again(store: ResultStore) -> None:
    store.put(KEY, _recording())
    path = store.root / KEY
    path.write_bytes(path.read_bytes().replace(b"call_1", b"call_2"))
    assert store.get(KEY) is None
