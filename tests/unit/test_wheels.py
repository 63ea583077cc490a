"""The wheel store."""

import hashlib
import multiprocessing
import stat
from pathlib import Path

import pytest

from agentproof.environment.wheel_store import Provenance, WheelStore, cache_root
from agentproof.errors import CannotDoError
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
