"""Saved states: found by their digest in the bundle whose recording wrote them, and in no other."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from agentproof.bundle.store import write_bundle
from agentproof.check.bundle import Reader
from agentproof.check.saved_states import SavedState, _labels, find_origins, read_saved
from agentproof.cli import cli
from agentproof.errors import BundleError, UsageError
from agentproof.limits import MAX_STATE_BYTES
from agentproof.models.wire import encode
from tests import forge
from tests.claims.builder import PAY, Script, message, state_json

STORE = Path(__file__).parents[2] / "bundles"
READER = Reader(trust=forge.trust_in(forge.REPORTER), sources=forge.sources())


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one bundle."""
    place = tmp_path / "bundles"
    write_bundle(forge.draft().seal(forge.REPORTER), place / "case" / "0.20.0", wheels=place / "wheels")
    (place / "case" / "reproduction.py").write_bytes(forge.REPRODUCTION)
    return place


def _found(file: Path, store: Path) -> SavedState:
    (found,) = find_origins(read_saved(file), [store], reader=READER)
    return found


def _shown(store: Path, state: str, file: Path) -> Path:
    """`agentproof show … --state S1 > file`."""
    done = CliRunner().invoke(cli, ["show", str(store / "case" / "0.20.0"), "--state", state])
    assert done.exit_code == 0, done.output
    file.write_bytes(done.stdout_bytes)
    return file


def test_what_show_writes_is_found_again_with_its_release(store: Path, tmp_path: Path) -> None:
    found = _found(_shown(store, "S1", tmp_path / "saved.json"), store)
    assert found.is_known
    (origin,) = found.origins
    assert (origin.status, origin.release) == ("CURRENT", "0.20.0")
    assert origin.states is not None
    assert "S1" in origin.states["as-written"]


def test_a_file_that_was_changed_by_a_byte_is_no_recorded_state(store: Path, tmp_path: Path) -> None:
    file = _shown(store, "S1", tmp_path / "saved.json")
    file.write_bytes(file.read_bytes().replace(b"Pay 100.", b"Pay 101."))
    assert _found(file, store).origins == ()


def test_a_bundle_that_is_not_sound_makes_no_state_known(store: Path, tmp_path: Path) -> None:
    file = _shown(store, "S1", tmp_path / "saved.json")
    (store / "case" / "0.20.0" / "pylock.toml").write_text("")
    found = _found(file, store)
    assert not found.is_known
    assert [origin.status for origin in found.origins] == ["INVALID"]


def test_a_recording_that_restored_a_state_is_not_where_it_comes_from() -> None:
    def recorded(*, restores: bool) -> Script:
        script = Script()
        run = script.run()
        script.model(run, [message("go", "user")], PAY)
        result = script.end(run, waits_for=["call_1"])
        if restores:
            script.restored(state_json())
        else:
            script.made(result, state_json())
        return script.exit()

    wrote, restored = recorded(restores=False), recorded(restores=True)
    digest = wrote.digest(state_json())
    assert _labels(wrote.trace(), digest) == ("S1",)
    assert _labels(restored.trace(), digest) == ()


def test_a_file_that_holds_no_state_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(UsageError, match="no RunState's JSON"):
        read_saved(tmp_path / "other.json")


def test_the_command_exits_1_where_a_state_is_not_known(store: Path, tmp_path: Path) -> None:
    known, unknown = _shown(store, "S1", tmp_path / "known.json"), tmp_path / "unknown.json"
    unknown.write_text('{"$schemaVersion": "1.0"}')
    done = CliRunner().invoke(cli, ["find-state", str(known), "--in", str(store)])
    assert done.exit_code == 0, done.output
    assert "S1" in done.output
    done = CliRunner().invoke(cli, ["find-state", str(known), str(unknown), "--in", str(store)])
    assert done.exit_code == 1
    assert "no bundle here holds this state" in done.output


def test_every_saved_state_of_the_story_was_recorded_on_the_release_in_its_name() -> None:
    files = sorted(STORE.glob("*/saved/*.json"))
    assert files
    saved = {str(file): file.read_bytes() for file in files}
    for each in find_origins(saved, [STORE / "legacy-states"], reader=Reader()):
        release = Path(each.name).name.rpartition("-")[0]
        assert [origin.release for origin in each.origins] == [release], each.name
        assert each.is_known


def test_a_bundle_whose_manifest_lists_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    bundle = forge.draft().seal()
    shape = json.loads(bundle.manifest)
    shape["reproduction"]["files"] = ["other.json", "reproduction.py"]
    write_bundle(replace(bundle, manifest=encode(shape)), tmp_path / "bundle")
    with pytest.raises(BundleError):
        read_saved(tmp_path / "bundle")
    (tmp_path / "large.json").write_bytes(b'{"$schemaVersion": "1"}' + b" " * MAX_STATE_BYTES)
    with pytest.raises(UsageError):
        read_saved(tmp_path / "large.json")
