"""A bundle on disk: read within bounds, written whole or not at all, one zip form."""

import io
import os
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from agentproof.bundle import folder, store
from agentproof.bundle.folder import read_folder
from agentproof.bundle.store import Bundle, from_zip_bytes, read_bundle, write_bundle, zip_bytes
from agentproof.bundle.zip import stored_zip
from agentproof.errors import BundleError, CannotDoError, UsageError
from agentproof.limits import MAX_BUNDLE_BYTES, MAX_FILES, MAX_PATH_DEPTH
from tests import forge

BUNDLE = forge.draft().seal()
ZIP = zip_bytes(BUNDLE)


def _refused(raw: bytes) -> BundleError:
    with pytest.raises(BundleError) as caught:
        from_zip_bytes(raw)
    return caught.value


def _rezipped(compression: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(ZIP)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name), old.read(name), compression)
    return out.getvalue()


def _zip_of(names: dict[str, bytes]) -> bytes:
    return stored_zip(names.items())


def test_a_zip_gives_back_what_was_written() -> None:
    read = from_zip_bytes(ZIP)
    assert (read.manifest, read.members, read.attestations) == (
        BUNDLE.manifest,
        BUNDLE.members,
        BUNDLE.attestations,
    )


def test_the_zip_is_one_that_other_readers_accept() -> None:
    with zipfile.ZipFile(io.BytesIO(ZIP)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == sorted(archive.namelist())
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        assert archive.read("manifest.json") == BUNDLE.manifest


def test_a_directory_gives_back_what_was_written(tmp_path: Path) -> None:
    write_bundle(BUNDLE, tmp_path / "b")
    read = read_bundle(tmp_path / "b")
    assert (read.manifest, read.members, read.attestations) == (
        BUNDLE.manifest,
        BUNDLE.members,
        BUNDLE.attestations,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b"]


def test_a_detached_wheel_comes_from_the_shelf_and_gives_the_same_id(tmp_path: Path) -> None:
    place = tmp_path / "bundles" / "case" / "0.20.0"
    write_bundle(BUNDLE, place, wheels=tmp_path / "bundles" / "wheels")
    read = read_bundle(place)
    assert f"wheels/{forge.WHEEL_NAME}" not in read.members
    assert read.wheel(forge.WHEEL_NAME) == forge.WHEEL
    assert store.bundle_id(read) == store.bundle_id(BUNDLE)


def test_another_bundle_is_replaced_only_on_demand(tmp_path: Path) -> None:
    write_bundle(BUNDLE, tmp_path / "b")
    other = forge.draft(holds=True).seal()
    with pytest.raises(CannotDoError, match="another bundle"):
        write_bundle(other, tmp_path / "b")
    assert read_bundle(tmp_path / "b").manifest == BUNDLE.manifest
    write_bundle(other, tmp_path / "b", replace=True)
    assert read_bundle(tmp_path / "b").manifest == other.manifest
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b"]


def test_the_same_recording_keeps_the_attestations_that_are_there(tmp_path: Path) -> None:
    write_bundle(BUNDLE, tmp_path / "b")
    write_bundle(forge.sign(BUNDLE, [forge.MAINTAINER]), tmp_path / "b")
    assert len(read_bundle(tmp_path / "b").attestations) == 2


def test_a_directory_that_is_no_bundle_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.txt").write_text("years of work")
    with pytest.raises(CannotDoError, match="no bundle"):
        write_bundle(BUNDLE, tmp_path / "b", replace=True)
    assert (tmp_path / "b" / "thesis.txt").read_text() == "years of work"


def test_a_write_that_fails_leaves_nothing_and_keeps_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bundle(BUNDLE, tmp_path / "b")
    renames = []

    def rename(old: str, new: str, **directories: int) -> None:
        if not directories:  # else the removal of what was half made
            renames.append(new)
            if len(renames) == 2:
                raise OSError(28, "No space left on device")
        os.replace(old, new, **directories)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(CannotDoError, match="No space left"):
        write_bundle(forge.draft(holds=True).seal(), tmp_path / "b", replace=True)
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b"]
    assert read_bundle(tmp_path / "b").manifest == BUNDLE.manifest


def test_a_wheel_of_other_bytes_on_the_shelf_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / forge.WHEEL_NAME).write_bytes(b"other")
    with pytest.raises(CannotDoError, match="other bytes"):
        write_bundle(BUNDLE, tmp_path / "case" / "b", wheels=tmp_path / "wheels")
    assert not (tmp_path / "case" / "b").exists()


def test_bundles_are_found_in_a_store_and_in_zips(tmp_path: Path) -> None:
    write_bundle(BUNDLE, tmp_path / "bundles" / "case" / "0.20.0", wheels=tmp_path / "bundles" / "wheels")
    (tmp_path / "bundles" / "case" / "reproduction.py").write_bytes(forge.REPRODUCTION)
    (tmp_path / "bundles" / "x.agentproof.zip").write_bytes(ZIP)
    found = store.find_bundles(tmp_path / "bundles")
    assert [path.name for path in found] == ["0.20.0", "x.agentproof.zip"]


def test_a_directory_without_any_bundle_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no bundle here"):
        store.find_bundles(tmp_path)
    with pytest.raises(UsageError, match="no such file"):
        store.find_bundles(tmp_path / "absent")


def test_a_bundle_that_lost_its_manifest_is_damaged_not_absent(tmp_path: Path) -> None:
    write_bundle(BUNDLE, tmp_path / "b")
    (tmp_path / "b" / "manifest.json").unlink()
    assert store.find_bundles(tmp_path / "b") == [tmp_path / "b"]
    with pytest.raises(BundleError) as caught:
        read_bundle(tmp_path / "b")
    assert caught.value.reason == "no_manifest"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not_a_zip"),
        (b"hello", "not_a_zip"),
        (b"#!/bin/sh\n" + ZIP, "not_a_zip"),
        (ZIP + b"\0", "not_canonical"),
        (ZIP[:-1], "not_canonical"),
        (ZIP[:-30], "not_canonical"),
        (ZIP[: len(ZIP) // 2], "truncated"),
        (ZIP[:20], "truncated"),
        (_rezipped(compression=zipfile.ZIP_DEFLATED), "zipped_again"),
        (_rezipped(), "not_canonical"),
        (zip_bytes(Bundle(b"", {}, {}))[:-22], "not_canonical"),
        (_zip_of({"x.agentproof.zip": ZIP}), "no_manifest"),
        (_zip_of({"sibling/manifest.json": b"{}"}), "no_manifest"),
        (_zip_of({"../manifest.json": b"{}", "manifest.json": b"{}"}), "unsafe_path"),
        (_zip_of({"/manifest.json": b"{}", "manifest.json": b"{}"}), "unsafe_path"),
        (_zip_of({"a\\b": b"{}", "manifest.json": b"{}"}), "unsafe_path"),
        (_zip_of({"a/./b": b"{}", "manifest.json": b"{}"}), "unsafe_path"),
        (_zip_of({"a//b": b"{}", "manifest.json": b"{}"}), "unsafe_path"),
        (_zip_of({"c:x": b"{}", "manifest.json": b"{}"}), "unsafe_path"),
        (_zip_of({"nul.json": b"{}", "manifest.json": b"{}"}), "unsafe_path"),
        (_zip_of({"a" * 241: b"{}", "manifest.json": b"{}"}), "too_large"),
        (_zip_of({"a/" * (MAX_PATH_DEPTH + 1) + "b": b"{}", "manifest.json": b"{}"}), "unsafe_path"),
        (_zip_of({"A.py": b"", "a.py": b"", "manifest.json": b"{}"}), "colliding_paths"),
        (_zip_of({"A/x.py": b"", "a/y.py": b"", "manifest.json": b"{}"}), "colliding_paths"),
        (_zip_of({"a": b"", "a/y.py": b"", "manifest.json": b"{}"}), "colliding_paths"),
        (_zip_of({f"attestations/{n}.json": b"" for n in range(65)} | {"manifest.json": b"{}"}), "too_many"),
    ],
)
def test_a_zip_in_another_form_is_refused_with_its_reason(raw: bytes, reason: str) -> None:
    assert _refused(raw).reason == reason


def test_zipping_again_is_explained() -> None:
    assert "as agentproof wrote it" in str(_refused(_rezipped(compression=zipfile.ZIP_DEFLATED)).hint)
    assert "x.agentproof.zip" in str(_refused(_zip_of({"x.agentproof.zip": ZIP})).hint)


def test_data_between_records_is_refused() -> None:
    second = ZIP.index(b"PK\x03\x04", 4)
    assert _refused(ZIP[:second] + b"hidden" + ZIP[second:]).reason in ("not_canonical", "not_a_zip")


def test_an_encrypted_record_is_refused() -> None:
    assert _refused(ZIP[:6] + b"\x01\x00" + ZIP[8:]).reason == "encrypted"


def test_zip64_sizes_are_refused() -> None:
    raw = bytearray(ZIP)
    struct.pack_into("<II", raw, 18, 0xFFFFFFFF, 0xFFFFFFFF)
    assert _refused(bytes(raw)).reason == "too_large"


def test_a_record_that_is_there_twice_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("manifest.json"), b"{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(zipfile.ZipInfo("manifest.json"), b"[]")
    assert _refused(out.getvalue()).reason == "not_canonical"


def test_a_file_over_the_cap_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "big.zip"
    with path.open("wb") as stream:
        stream.truncate(MAX_BUNDLE_BYTES + 1)
    with pytest.raises(BundleError) as caught:
        read_bundle(path)
    assert caught.value.reason == "too_large"


def test_a_directory_of_too_many_files_is_refused_before_they_are_listed(tmp_path: Path) -> None:
    write_bundle(BUNDLE, tmp_path / "b")
    for number in range(MAX_FILES + 1):
        (tmp_path / "b" / "traces" / f"{number}").touch()
    with pytest.raises(BundleError) as caught:
        read_bundle(tmp_path / "b")
    assert caught.value.reason == "too_many"


@pytest.mark.parametrize("name", ["MANIFE~1.JSO", "traces~2/x.py", "a/b~10.p"])
def test_a_short_name_that_windows_gives_to_another_file_is_refused(name: str) -> None:
    assert _refused(_zip_of({name: b"", "manifest.json": b"{}"})).reason == "unsafe_path"


def test_a_tilde_is_no_short_name_elsewhere() -> None:
    assert all(folder.is_safe_path(name) for name in ("a~", "~1/x", "case~1-old.py", "longername~1.json"))


def test_links_pipes_and_foreign_names_in_a_directory_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("{}")

    def broken(break_it: "os.PathLike[str] | str", make: object) -> str:
        root = tmp_path / f"b{len(list(tmp_path.iterdir()))}"
        write_bundle(BUNDLE, root)
        assert callable(make)
        make(root / break_it)
        with pytest.raises(BundleError) as caught:
            read_bundle(root)
        return caught.value.reason

    assert broken("link.py", lambda path: path.symlink_to(secret)) == "link"
    assert broken("folder", lambda path: path.symlink_to(tmp_path, target_is_directory=True)) == "link"
    assert broken("pipe.py", os.mkfifo) == "not_a_file"
    assert broken("é.py", lambda path: path.write_text("")) == "unsafe_path"
    assert broken("empty", lambda path: path.mkdir()) == "empty_directory"


def test_a_file_that_has_other_names_is_read_and_never_written_through(tmp_path: Path) -> None:
    write_bundle(BUNDLE, tmp_path / "b")
    for path in [*(tmp_path / "b").rglob("*")]:
        if path.is_file():
            (tmp_path / f"elsewhere-{path.name}").hardlink_to(path)
    assert read_bundle(tmp_path / "b") == BUNDLE
    before = {path.name: path.read_bytes() for path in tmp_path.glob("elsewhere-*")}
    write_bundle(forge.draft(holds=True).seal(), tmp_path / "b", replace=True)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("elsewhere-*")} == before


@pytest.mark.skipif(not folder._IS_HELD, reason="this system has no way to read an open directory")
def test_a_directory_that_is_exchanged_while_it_is_read_is_not_looked_into(tmp_path: Path) -> None:
    root = tmp_path / "b"
    write_bundle(BUNDLE, root)
    (tmp_path / "other" / "traces").mkdir(parents=True)
    for mode in ("as-written", "streamed"):
        (tmp_path / "other" / "traces" / f"{mode}.json").write_text("another file")
    found = {}
    for path, data in read_folder(root):
        found[path] = data
        if path == "traces/as-written.json":
            (root / "traces").rename(tmp_path / "moved")
            (tmp_path / "other" / "traces").rename(root / "traces")
    assert found["traces/streamed.json"] == BUNDLE.members["traces/streamed.json"]


@pytest.mark.skipif(not folder._IS_HELD, reason="this system has no way to read an open directory")
@pytest.mark.parametrize("what", ["traces", "pylock.toml"])
def test_what_becomes_a_link_while_it_is_read_is_not_followed(what: str, tmp_path: Path) -> None:
    root = tmp_path / "b"
    write_bundle(BUNDLE, root)
    reading = read_folder(root)
    assert next(reading)[0].startswith("attestations/")
    (root / what).rename(tmp_path / "moved")
    (root / what).symlink_to(tmp_path / "moved")
    with pytest.raises(CannotDoError, match=what):
        list(reading)


@pytest.mark.skipif(not hasattr(os, "mknod") or os.geteuid() != 0, reason="only root makes devices")
def test_a_device_in_a_directory_is_refused_unopened(tmp_path: Path) -> None:
    write_bundle(BUNDLE, tmp_path / "b")
    try:
        os.mknod(tmp_path / "b" / "null.py", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this container may not make devices")
    with pytest.raises(BundleError) as caught:
        read_bundle(tmp_path / "b")
    assert caught.value.reason == "not_a_file"


def test_a_wheel_name_cannot_leave_the_shelf(tmp_path: Path) -> None:
    shelf = store.Shelf(tmp_path)
    for name in ("../secret", "/etc/passwd", "a/b"):
        with pytest.raises(BundleError):
            shelf(name)
    assert shelf("absent.whl") is None


def test_the_checksum_of_each_record_is_held() -> None:
    raw = bytearray(ZIP)
    at = 14
    (crc,) = struct.unpack_from("<I", raw, at)
    struct.pack_into("<I", raw, at, crc ^ 1)
    assert _refused(bytes(raw)).reason == "not_canonical"


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (["case-0.20.0.agentproof.zip"], "it holds case-0.20.0.agentproof.zip: unpack it"),
        (["case/0.20.0/manifest.json"], "unpack it and check case/0.20.0"),
        (["word/document.xml"], "no agentproof bundle"),
    ],
)
def test_a_zip_around_a_bundle_and_a_foreign_one_are_told_apart(
    names: list[str], hint: str, tmp_path: Path
) -> None:
    path = tmp_path / "artifact.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in names:
            made.writestr(name, "text " * 50)
    with pytest.raises(BundleError) as refused:
        read_bundle(path)
    assert hint in (refused.value.hint or "")
    assert refused.value.place == str(path)
