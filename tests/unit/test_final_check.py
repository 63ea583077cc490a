"""No writer writes what a reader refuses: limits are applied first, and a fault of ours is named and kept."""

import zipfile
from pathlib import Path

import pytest

from agentproof.bundle.store import Bundle, check_limits, read_bundle, write_bundle, zip_bytes
from agentproof.check import content
from agentproof.errors import BundleError, CannotDoError, RecorderError
from agentproof.limits import MAX_ATTESTATION_BYTES, MAX_ATTESTATIONS, MAX_BUNDLE_BYTES, MAX_FILES
from agentproof.record.final_check import check_sound
from tests import forge

SOUND = forge.draft().seal()


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))


def _with(members: dict[str, bytes], attestations: dict[str, bytes] | None = None) -> Bundle:
    return Bundle(
        SOUND.manifest, {**SOUND.members, **members}, {**SOUND.attestations, **(attestations or {})}
    )


def test_what_is_sound_is_let_through_signed_or_not(tmp_path: Path) -> None:
    check_sound(SOUND)
    check_sound(Bundle(SOUND.manifest, SOUND.members))
    assert not (tmp_path / "cache").exists()


OVER = {
    "one file": (
        {"big.bin": b"x" * (MAX_BUNDLE_BYTES + 1)},
        None,
        f"largest file is big.bin with {MAX_BUNDLE_BYTES + 1}",
    ),
    "all files": (
        {f"{number}.bin": bytes(MAX_BUNDLE_BYTES // 4) for number in range(4)},
        None,
        f"over the limit of {MAX_BUNDLE_BYTES}",
    ),
    "many files": (
        {f"{number}.txt": b"" for number in range(MAX_FILES)},
        None,
        f"over the limit of {MAX_FILES}",
    ),
    "a name in Unicode": ({"données.py": b""}, None, "'données.py' is no path"),
    "a deep name": ({"a/b/c/d/e/f/g/h/i.py": b""}, None, "'a/b/c/d/e/f/g/h/i.py' is no path"),
    "a long name": ({"m" * 241: b""}, None, "is no path"),
    "a device's name": ({"aux.py": b""}, None, "'aux.py' is no path"),
    "names that differ in case": ({"Helper.py": b"", "helper.py": b""}, None, "collides with 'Helper.py'"),
    "a file and a directory": ({"a": b"", "A/x.py": b""}, None, "collides with 'a'"),
    "an attestation": ({}, {"x": bytes(MAX_ATTESTATION_BYTES + 1)}, f"limit of {MAX_ATTESTATION_BYTES}"),
    "attestations": (
        {},
        {f"x{number}": b"" for number in range(MAX_ATTESTATIONS)},
        f"limit of {MAX_ATTESTATIONS}",
    ),
}


@pytest.mark.parametrize("kind", OVER)
def test_a_writer_applies_the_limits_that_a_reader_applies(tmp_path: Path, kind: str) -> None:
    members, attestations, said = OVER[kind]
    bundle = _with(members, attestations)
    for write in (zip_bytes, lambda each: write_bundle(each, tmp_path / "out")):
        with pytest.raises(CannotDoError, match="no bundle can hold this recording") as caught:
            write(bundle)
        assert said in caught.value.message
        assert caught.value.hint is not None
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_at_the_limit_is_written_and_read(tmp_path: Path) -> None:
    spare = MAX_BUNDLE_BYTES - len(zip_bytes(_with({"fill.bin": b""})))
    whole = zip_bytes(_with({"fill.bin": bytes(spare)}))
    assert len(whole) == MAX_BUNDLE_BYTES
    (tmp_path / "whole.zip").write_bytes(whole)
    assert read_bundle(tmp_path / "whole.zip").members["fill.bin"] == bytes(spare)
    with pytest.raises(CannotDoError, match=f"{MAX_BUNDLE_BYTES + 1} bytes, over the limit"):
        zip_bytes(_with({"fill.bin": bytes(spare + 1)}))


def test_where_the_wheel_is_what_is_too_large_the_way_is_without_it() -> None:
    with pytest.raises(CannotDoError) as caught:
        check_limits(_with({"wheels/openai_agents-0.20.0-py3-none-any.whl": bytes(MAX_BUNDLE_BYTES)}))
    assert "--thin" in (caught.value.hint or "")


def test_a_fault_of_ours_is_named_and_the_recording_kept_but_not_as_a_bundle(tmp_path: Path) -> None:
    draft = forge.draft()
    draft.manifest["judgement"]["verdict"] = "holds"
    with pytest.raises(
        RecorderError, match=r"claims: .*the manifest says 'holds' \(other_verdict\)"
    ) as caught:
        check_sound(draft.seal())
    (kept,) = (tmp_path / "cache" / "refused").iterdir()
    assert str(kept) in caught.value.message
    assert "a fault of agentproof" in (caught.value.hint or "")
    with zipfile.ZipFile(kept) as archive:
        names = archive.namelist()
        assert archive.read("manifest.json") == draft.seal().manifest
    assert "reproduction.py" in names
    assert not any(name.startswith("wheels/") for name in names)
    with pytest.raises(BundleError):
        read_bundle(kept)


def test_no_more_than_a_few_of_them_are_kept(tmp_path: Path) -> None:
    for number in range(7):
        draft = forge.draft()
        draft.manifest["judgement"]["verdict"] = "holds"
        draft.manifest["environment"]["installed_files"] = number
        with pytest.raises(RecorderError):
            check_sound(draft.seal())
    assert len(list((tmp_path / "cache" / "refused").iterdir())) == 4


def test_a_limit_that_only_a_check_applies_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "MAX_REFERRED_BYTES", 10)
    with pytest.raises(CannotDoError, match=r"no bundle can hold this .* more than 10 bytes") as caught:
        check_sound(SOUND)
    assert "smaller states" in (caught.value.hint or "")
