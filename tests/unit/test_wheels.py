"""The wheel store and the reading of wheels."""

import contextlib
import hashlib
import io
import multiprocessing
import random
import stat
import zipfile
from pathlib import Path

import pytest

from agentproof.environment import wheelfile
from agentproof.environment.wheel_store import Provenance, WheelStore, cache_root
from agentproof.environment.wheelfile import check_contents, read_wheel
from agentproof.errors import CannotDoError, UsageError
from agentproof.trust import seal as _seal
from tests.wheels import make_wheel

INDEX = Provenance(origin="index", project="demo")
FILE = Provenance(origin="file")


@pytest.fixture(autouse=True)
def _own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))


@pytest.fixture
def store(tmp_path: Path) -> WheelStore:
    return WheelStore(tmp_path / "cache")


def test_a_wheel_comes_out_as_it_went_in(store: WheelStore) -> None:
    name, data = make_wheel()
    sha256 = hashlib.sha256(data).hexdigest()
    path = store.add(data, name=name, provenance=INDEX)
    assert store.get(sha256) == path
    assert path.name == name
    assert store.read(sha256) == data
    assert store.provenance(sha256) == INDEX


def test_a_changed_wheel_is_taken_for_absent(store: WheelStore) -> None:
    name, data = make_wheel()
    sha256 = hashlib.sha256(data).hexdigest()
    path = store.add(data, name=name, provenance=INDEX)
    path.write_bytes(data[:-1] + b"!")
    assert store.get(sha256) is None
    with pytest.raises(CannotDoError, match=sha256):
        store.read(sha256)


def test_a_changed_wheel_is_replaced_by_the_next_good_one(store: WheelStore) -> None:
    name, data = make_wheel()
    path = store.add(data, name=name, provenance=INDEX)
    path.write_bytes(b"not a wheel")
    store.add(data, name=name, provenance=INDEX)
    assert path.read_bytes() == data


def test_provenance_from_an_index_is_kept_when_the_same_wheel_comes_as_a_file(store: WheelStore) -> None:
    name, data = make_wheel()
    sha256 = hashlib.sha256(data).hexdigest()
    store.add(data, name=name, provenance=FILE)
    assert store.provenance(sha256) == FILE
    store.add(data, name=name, provenance=INDEX)
    store.add(data, name=name, provenance=FILE)
    assert store.provenance(sha256) == INDEX


def test_provenance_written_by_somebody_else_is_not_believed(store: WheelStore) -> None:
    name, data = make_wheel()
    sha256 = hashlib.sha256(data).hexdigest()
    path = store.add(data, name=name, provenance=FILE)
    path.with_name("provenance").write_bytes(INDEX.to_bytes())
    assert store.provenance(sha256) is None
    assert store.get(sha256) == path


def test_provenance_of_one_wheel_is_not_that_of_another(store: WheelStore) -> None:
    one = store.add(make_wheel(version="1.0")[1], name=make_wheel(version="1.0")[0], provenance=INDEX)
    name, data = make_wheel(version="2.0")
    other = store.add(data, name=name, provenance=FILE)
    other.with_name("provenance").write_bytes(one.with_name("provenance").read_bytes())
    assert store.provenance(hashlib.sha256(data).hexdigest()) is None


def test_an_error_while_a_wheel_comes_in_leaves_nothing(store: WheelStore) -> None:
    def fail() -> None:
        with store.receive(name="demo-1.0-py3-none-any.whl", provenance=FILE) as half:
            half.path.write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(store.root.iterdir()) == []


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(b"a file where the directory should be")
    with pytest.raises(CannotDoError, match=r"wheel store .* cannot be written"):
        WheelStore(tmp_path / "cache").add(b"", name="demo-1.0-py3-none-any.whl", provenance=FILE)


@pytest.mark.parametrize("name", ["../demo.whl", "demo.zip", "a/b.whl"])
def test_only_a_wheels_plain_file_name_goes_in(store: WheelStore, name: str) -> None:
    with pytest.raises(ValueError, match="file name"):
        store.add(b"", name=name, provenance=FILE)


def _add_often(root: Path, name: str, data: bytes) -> None:
    for _ in range(10):
        WheelStore(root).add(data, name=name, provenance=FILE)


def test_processes_fill_one_store_side_by_side(tmp_path: Path, store: WheelStore) -> None:
    name, data = make_wheel()
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_add_often, args=(tmp_path / "cache", name, data)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0]
    sha256 = hashlib.sha256(data).hexdigest()
    assert store.read(sha256) == data
    assert [path.name for path in store.root.iterdir()] == [sha256]


def test_the_cache_goes_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(tmp_path))
    assert cache_root() == tmp_path


def test_a_wheel_tells_its_name_version_and_record() -> None:
    name, data = make_wheel("Demo.Thing", "1.0", metadata="Requires-Python: >=3.10\n")
    read = read_wheel(data, name.replace("Demo.Thing", "demo_thing"))
    assert (read.name, read.version, read.requires_python) == ("demo-thing", "1.0", ">=3.10")
    assert {path.rpartition("/")[2] for path in read.record} == {"__init__.py", "METADATA", "WHEEL"}


def test_a_source_archive_is_no_wheel() -> None:
    with pytest.raises(UsageError, match="is not a wheel"):
        read_wheel(b"", "demo-1.0.tar.gz")


def test_a_wheel_of_another_version_than_its_name_is_refused() -> None:
    name, data = make_wheel(version="1.0")
    with pytest.raises(UsageError, match=r"METADATA says demo 1\.0"):
        read_wheel(data, name.replace("1.0", "2.0"))


@pytest.mark.parametrize(
    ("digest", "reason"),
    [
        ("md5=abcd", "digest of kind md5"),
        ("sha256=abcd", "digest of kind sha256"),
        ("plain", "digest of kind plain"),
    ],
)
def test_a_record_with_a_weak_or_broken_digest_is_refused(digest: str, reason: str) -> None:
    name, data = make_wheel(record={"demo/__init__.py": digest})
    with pytest.raises(UsageError, match=reason):
        read_wheel(data, name)


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ("RECORD", r"a wheel without demo-1\.0\.dist-info/RECORD"),
        ("WHEEL", r"a wheel without demo-1\.0\.dist-info/WHEEL"),
        ("METADATA", r"holds one \.dist-info directory with METADATA, this none"),
    ],
)
def test_a_wheel_without_its_own_description_is_refused(member: str, reason: str) -> None:
    name, data = make_wheel(without=(f"demo-1.0.dist-info/{member}",))
    with pytest.raises(UsageError, match=reason):
        read_wheel(data, name)


@pytest.mark.parametrize("version", ["2.0", "x", None])
def test_a_wheel_of_another_format_is_refused(version: str | None) -> None:
    line = f"Wheel-Version: {version}\n" if version else ""
    name, data = make_wheel(unlisted={"demo-1.0.dist-info/WHEEL": f"{line}Generator: tests\n".encode()})
    with pytest.raises(UsageError, match=r"a wheel of version (2\.0|x|\(none\)); known is 1\.0"):
        read_wheel(data, name)


@pytest.mark.parametrize(
    ("renamed", "reason"),
    [
        ("demo.whl", "not a wheel's file name"),
        ("demo-1.0.whl", "not a wheel's file name"),
        ("demo-1.0-py3-none-any.zip", "is not a wheel"),
        ("other-1.0-py3-none-any.whl", r"holds demo-1\.0\.dist-info, which is another project's"),
        ("demo-1.1-py3-none-any.whl", r"its METADATA says demo 1\.0"),
    ],
)
def test_a_wheel_under_a_wrong_name_is_refused(renamed: str, reason: str) -> None:
    _, data = make_wheel()
    with pytest.raises(UsageError, match=reason):
        read_wheel(data, renamed)


def test_an_archive_that_is_encrypted_or_unpacks_to_too_much_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, data = make_wheel()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        start = archive.start_dir
    encrypted = bytearray(data)
    encrypted[start + 8] |= 1  # the flags of the first member in the central directory
    with pytest.raises(UsageError, match="encrypted"):
        read_wheel(bytes(encrypted), name)
    monkeypatch.setattr(wheelfile, "_MAX_UNPACKED_BYTES", 10)
    with pytest.raises(UsageError, match="bytes unpacked"):
        read_wheel(data, name)


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_wheel_is_refused_or_read_and_nothing_else(seed: int) -> None:
    name, data = make_wheel()
    randomness = random.Random(seed)  # noqa: S311  (where the damage is)
    for _ in range(100):
        damaged = bytearray(data)
        for _ in range(randomness.choice((1, 2, 4))):
            damaged[randomness.randrange(len(damaged))] = randomness.randrange(256)
        with contextlib.suppress(UsageError):
            read_wheel(bytes(damaged), name)


def test_what_record_lists_without_a_digest_is_held_to_the_wheels_own_bytes() -> None:
    signature = "demo-1.0.dist-info/RECORD.jws"
    name, data = make_wheel(files={"demo.py": b"", signature: b"{}"}, record={signature: ""})
    read = read_wheel(data, name)
    assert read.record[signature].digest == hashlib.sha256(b"{}").digest()
    assert "demo-1.0.dist-info/RECORD" not in read.record


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, None),
        ({"unlisted": {"demo/more.py": b""}}, r"demo/more\.py is not in its RECORD"),
        ({"record": {"demo/__init__.py": "sha256=" + "A" * 43}}, r"demo/__init__\.py is not what its RECORD"),
        ({"without": ("demo/__init__.py",)}, r"demo/__init__\.py of its RECORD is missing"),
    ],
)
def test_a_wheel_is_held_to_its_record_before_it_is_installed(
    options: dict[str, object], reason: str | None
) -> None:
    name, data = make_wheel(**options)  # type: ignore[arg-type]  # passed on
    read = read_wheel(data, name)
    if reason is None:
        check_contents(data, read)
    else:
        with pytest.raises(UsageError, match=reason):
            check_contents(data, read)


def test_a_truncated_wheel_is_refused() -> None:
    name, data = make_wheel()
    with pytest.raises(UsageError, match="damaged wheel"):
        read_wheel(data[:-40], name)


def test_what_was_sealed_opens_only_as_itself(tmp_path: Path) -> None:
    sealed = _seal.seal(b"data", what="lock")
    assert sealed is not None
    assert _seal.unseal(sealed, what="lock") == b"data"
    assert _seal.unseal(sealed, what="other") is None
    assert _seal.unseal(sealed[:-1] + b"!", what="lock") is None
    assert _seal.unseal(b"", what="lock") is None
    assert stat.S_IMODE((tmp_path / "config" / "cache.key").stat().st_mode) == 0o600


def test_a_key_that_others_can_read_seals_nothing(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    key = tmp_path / "config" / "cache.key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o644)
    assert _seal.seal(b"data", what="lock") is None
