"""Locking, with uv's answers made up and wheels from a directory."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentproof.environment import index as _index
from agentproof.environment import interpreters, locking, resolver, uv
from agentproof.environment.wheel_store import Provenance, WheelStore
from agentproof.errors import AgentproofError, CannotDoError, UsageError
from agentproof.models.manifest import Origin
from tests.wheels import make_wheel

PYTHON = interpreters.find()


class _Index:
    """An index of files, asked the way uv is asked."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.releases: dict[str, str] = {}
        self.refusal: str | None = None
        self.constraints: list[str] = []
        monkeypatch.setattr(uv, "run_uv", self)

    def publish(self, name: str, version: str, *, day: str | None) -> str:
        """Add a wheel; its SHA-256."""
        filename, data = make_wheel(name, version)
        path = self.directory / filename
        path.write_bytes(data)
        sha256 = hashlib.sha256(data).hexdigest()
        time = f"upload-time = {day}T12:00:00Z, " if day else ""
        self.releases[name] = (
            f'[[packages]]\nname = "{name}"\nversion = "{version}"\n'
            f"wheels = [{{ url = {json.dumps(path.as_uri())}, "
            f'{time}size = {len(data)}, hashes = {{ sha256 = "{sha256}" }} }}]\n'
        )
        return sha256

    def __call__(
        self, arguments: Sequence[str], *, stdin: str, files: Mapping[str, str] | None = None, **_: object
    ) -> uv.UvResult:
        self.calls.append((stdin, tuple(arguments)))
        self.constraints.append((files or {}).get("constraints.txt", ""))
        if self.refusal is not None:
            return uv.UvResult(1, "", self.refusal)
        alone = "--no-deps" in arguments
        chosen = [text for name, text in self.releases.items() if not alone or stdin.startswith(name)]
        return uv.UvResult(0, 'lock-version = "1.0"\n' + "\n".join(chosen), "")

    def until(self) -> list[str]:
        """The `--exclude-newer` of each call that had one."""
        return [
            call[call.index("--exclude-newer") + 1] for _, call in self.calls if "--exclude-newer" in call
        ]


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://index.invalid/simple")


@pytest.fixture
def store(tmp_path: Path) -> WheelStore:
    return WheelStore(tmp_path / "cache")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Index:
    (tmp_path / "index").mkdir()
    made = _Index(tmp_path / "index", monkeypatch)
    made.publish("demo", "1.0", day="2026-08-11")
    made.publish("dep", "3.0", day="2025-01-01")
    return made


def test_a_release_is_locked_as_of_the_day_after_its_upload(index: _Index, store: WheelStore) -> None:
    locked = locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    assert locked.as_of == "2026-08-12"
    assert index.until() == ["2026-08-13T00:00:00Z"]
    assert [(package.name, package.version) for package in locked.packages] == [
        ("demo", "1.0"),
        ("dep", "3.0"),
    ]
    assert locked.target.origin == Origin(kind="index")
    assert all(store.get(package.sha256) is not None for package in locked.packages)
    assert all(store.provenance(package.sha256).origin == "index" for package in locked.packages)  # type: ignore[union-attr]  # None fails too


def test_the_same_lock_needs_no_index_again(index: _Index, store: WheelStore) -> None:
    first = locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    index.calls.clear()
    assert locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store, offline=True) == first
    assert index.calls == []


@pytest.mark.parametrize(
    "other",
    [
        {"requirement": "demo[x]==1.0"},
        {"as_of": "2026-08-20"},
        {"extra": ("dep",)},
        {"interpreter": replace(PYTHON, version="3.99.0")},
        {"interpreter": replace(PYTHON, tags=PYTHON.tags[1:])},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_question_is_asked_anew(index: _Index, store: WheelStore, other: dict[str, object]) -> None:
    question = {"requirement": "demo==1.0", "interpreter": PYTHON, "store": store}
    locking.lock(**question)  # type: ignore[arg-type]  # a mapping of keyword arguments
    with pytest.raises(CannotDoError, match="no lock of demo"):
        locking.lock(**(question | other), offline=True)  # type: ignore[arg-type]


def test_another_index_is_asked_anew(
    index: _Index, store: WheelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://other.invalid/simple")
    with pytest.raises(CannotDoError, match="no lock of demo"):
        locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store, offline=True)


def test_other_credentials_for_one_index_are_the_same_question(
    index: _Index, store: WheelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://user:secret@index.invalid/simple")
    locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store, offline=True)


def test_a_kept_lock_is_made_again_where_nobody_knows_that_the_wheel_came_from_the_index(
    index: _Index, store: WheelStore
) -> None:
    first = locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    (store.root / first.target.sha256 / "provenance").write_bytes(b"from another machine")
    index.calls.clear()
    assert locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store) == first
    assert index.calls
    assert store.provenance(first.target.sha256) is not None


def test_a_kept_lock_that_was_changed_is_made_again(index: _Index, store: WheelStore) -> None:
    first = locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    (kept,) = (store.cache / "locks").iterdir()
    kept.write_bytes(kept.read_bytes().replace(b'"3.0"', b'"3.1"'))
    index.calls.clear()
    assert locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store) == first
    assert index.calls


@pytest.mark.parametrize("age", [0, 1])
def test_a_lock_as_of_today_is_not_kept(index: _Index, store: WheelStore, age: int) -> None:
    today = datetime.now(UTC).date()
    index.publish("demo", "1.0", day=(today - timedelta(days=age)).isoformat())
    locked = locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    assert locked.as_of == today.isoformat()
    assert not (store.cache / "locks").exists()


def test_the_newest_release_is_not_kept_as_if_it_stayed_so(index: _Index, store: WheelStore) -> None:
    locking.lock(requirement="demo", interpreter=PYTHON, store=store)
    assert not (store.cache / "locks").exists()


def test_as_of_now_looks_at_no_upload_time(index: _Index, store: WheelStore) -> None:
    index.publish("demo", "1.0", day=None)
    locked = locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store, as_of="now")
    assert locked.as_of == datetime.now(UTC).date().isoformat()
    assert index.until() == []


def test_offline_the_missing_wheels_are_listed(index: _Index, store: WheelStore) -> None:
    locked = locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    path = store.get(locked.packages[1].sha256)
    assert path is not None
    path.unlink()
    with pytest.raises(
        CannotDoError, match=r"1 of 2 wheels are not in the store: dep-3\.0-py3-none-any\.whl"
    ):
        locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store, offline=True)


def test_offline_what_is_known_is_told(index: _Index, store: WheelStore) -> None:
    with pytest.raises(CannotDoError, match=r"no lock of demo==1\.0 is known") as raised:
        locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store, offline=True)
    assert (raised.value.hint or "").startswith("run once without --offline")
    locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    with pytest.raises(CannotDoError, match=r"no lock of demo==2\.0 is known") as raised:
        locking.lock(requirement="demo==2.0", interpreter=PYTHON, store=store, offline=True)
    assert f"known: demo 1.0 on CPython {PYTHON.version}, as of 20" in (raised.value.hint or "")


def test_what_is_not_in_use_elsewhere_is_told(index: _Index, store: WheelStore, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("demo==1.0\n")
    like = str(tmp_path / "requirements.txt")
    made = locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store, like=like)
    assert made.loose == ("dep",)
    (tmp_path / "requirements.txt").write_text("demo==1.0\ndep==3.0\n")
    for _ in range(2):  # made, and taken from the cache
        made = locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store, like=like)
        assert made.loose == ()
    assert locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store).loose == ()


def test_without_a_version_the_target_is_the_one_in_use_elsewhere(
    index: _Index, store: WheelStore, tmp_path: Path
) -> None:
    like = tmp_path / "requirements.txt"
    like.write_text("demo==1.0\ndep==3.0\n")
    for options, asked in (({}, "demo==1.0\n"), ({"as_of": "now"}, "dep==3.0\n")):
        index.calls.clear()
        made = locking.lock(
            requirement="demo",
            interpreter=PYTHON,
            store=store,
            like=str(like),
            **options,  # type: ignore[arg-type]  # by name
        )
        assert made.target.version == "1.0"
        assert asked in index.constraints[-1]
        assert (asked == "demo==1.0\n") == ("demo" in index.constraints[-1])
    like.write_text("dep==3.0\n")
    index.calls.clear()
    with pytest.raises(UsageError, match="does not have demo") as raised:
        locking.lock(requirement="demo", interpreter=PYTHON, store=store, like=str(like))
    assert "--sdk" in (raised.value.hint or "")
    assert index.calls == []


def test_the_newest_beside_what_is_in_use_elsewhere_is_looked_up_each_time(
    index: _Index, store: WheelStore, tmp_path: Path
) -> None:
    (tmp_path / "requirements.txt").write_text("demo==0.9\ndep==3.0\n")
    for _ in range(2):
        index.calls.clear()
        locking.lock(
            requirement="demo",
            interpreter=PYTHON,
            store=store,
            like=str(tmp_path / "requirements.txt"),
            as_of="now",
        )
        assert index.calls


def test_a_wheel_that_left_the_store_is_fetched_again(index: _Index, store: WheelStore) -> None:
    locked = locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    path = store.get(locked.target.sha256)
    assert path is not None
    path.write_bytes(b"changed in the store")
    assert locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store) == locked
    assert store.get(locked.target.sha256) is not None


def test_an_index_that_serves_other_bytes_than_it_lists_is_refused(index: _Index, store: WheelStore) -> None:
    (index.directory / "demo-1.0-py3-none-any.whl").write_bytes(make_wheel(files={"demo.py": b"evil"})[1])
    with pytest.raises(CannotDoError, match="should have SHA-256"):
        locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    assert not list(store.root.glob("*/demo-*"))


def test_a_pinned_digest_that_differs_is_refused_also_from_the_cache(
    index: _Index, store: WheelStore
) -> None:
    for _ in range(2):
        with pytest.raises(CannotDoError, match=r"not 0{64} as --sha256 says"):
            locking.lock(requirement="demo==1.0", sha256="0" * 64, interpreter=PYTHON, store=store)
        locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)


def test_an_index_without_upload_times_names_the_ways_out(index: _Index, store: WheelStore) -> None:
    index.publish("demo", "1.0", day=None)
    with pytest.raises(CannotDoError, match="no upload time") as raised:
        locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    assert all(way in (raised.value.hint or "") for way in ("--as-of now", "--lock", "--like"))


def test_a_day_before_the_upload_is_refused(index: _Index, store: WheelStore) -> None:
    with pytest.raises(UsageError, match="uploaded on 2026-08-11"):
        locking.lock(requirement="demo==1.0", as_of="2026-08-01", interpreter=PYTHON, store=store)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "no target"),
        ({"requirement": "demo=1"}, "no requirement"),
        ({"requirement": "demo @ https://x.invalid/demo.whl"}, "names a URL"),
        ({"requirement": "demo==1.0 ; python_version < '3'"}, "has a marker"),
        ({"requirement": "demo==1.0", "as_of": "yesterday"}, "not a day"),
        ({"requirement": "demo==1.0", "as_of": "9999-01-01"}, "in the future"),
        ({"requirement": "demo==1.0", "as_of": "2026-09-01", "like": "x"}, "--as-of and --like both say"),
        ({"requirement": "demo==1.0", "like": "/no/such/python"}, "no such file"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_before_the_index_is_asked(
    index: _Index, store: WheelStore, options: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        locking.lock(**options, interpreter=PYTHON, store=store)  # type: ignore[arg-type]  # options by name
    assert index.calls == []


REFUSALS = {
    "error: Failed to fetch: `https://index.invalid/demo/`\n  cause: dns error": (
        CannotDoError,
        "no package index in reach",
    ),
    "cause: Because demo was not found in the package registry": (UsageError, "no project demo"),
    "cause: Because oops was not found in the package registry\nwarning: b is missing an upload date": (
        UsageError,
        "no project oops",
    ),
    "cause: Because there is no version of demo==1.0 and you": (UsageError, "the index has no demo==1.0"),
    "cause: Because demo==1.0 has no usable wheels and you": (CannotDoError, "demo 1.0 has no wheel"),
    "cause: the current Python version (3.9) does not satisfy Python>=3.10": (UsageError, "does not fit"),
    "cause: Because a depends on b<2 and you require b>2": (UsageError, "cannot be resolved"),
}


@pytest.mark.parametrize("said", REFUSALS)
def test_a_refusal_of_uv_becomes_an_error_with_a_next_step(
    index: _Index, store: WheelStore, said: str
) -> None:
    index.refusal = said
    error, words = REFUSALS[said]
    with pytest.raises(error, match=words) as raised:
        locking.lock(requirement="demo==1.0", interpreter=PYTHON, store=store)
    assert isinstance(raised.value, AgentproofError)
    assert raised.value.hint


def _wheel_file(directory: Path, name: str = "demo", version: str = "1.0+mine", **options: object) -> Path:
    filename, data = make_wheel(name, version, **options)  # type: ignore[arg-type]  # passed on
    path = directory / filename
    path.write_bytes(data)
    return path


def test_a_wheel_file_takes_the_place_of_the_release(
    index: _Index, store: WheelStore, tmp_path: Path
) -> None:
    wheel = _wheel_file(tmp_path)
    locked = locking.lock(wheel=wheel, interpreter=PYTHON, store=store, as_of="2026-09-01")
    assert (locked.target.version, locked.target.origin.kind) == ("1.0+mine", "file")
    assert [package.version for package in locked.packages] == ["1.0+mine", "3.0"]
    assert store.provenance(locked.target.sha256) == Provenance(origin="file")
    assert index.calls[-1][0].startswith("demo @ file://")


def test_the_origin_of_a_built_wheel_is_kept(index: _Index, store: WheelStore, tmp_path: Path) -> None:
    origin = Origin(kind="checkout", commit="c" * 40, tree="d" * 40)
    wheel = _wheel_file(tmp_path)
    for _ in range(2):  # made, then from the cache
        locked = locking.lock(wheel=wheel, origin=origin, interpreter=PYTHON, store=store, as_of="2026-09-01")
        assert locked.target.origin == origin


@pytest.mark.parametrize(
    ("stamp", "day"),
    [
        ((2026, 9, 3, 1, 2, 4), "2026-09-04"),
        ((2020, 1, 1, 0, 0, 0), "2026-08-12"),
        ((2107, 1, 1, 0, 0, 0), None),
    ],
)
def test_a_checkouts_wheel_is_locked_as_of_its_commit_but_not_before_its_release(
    index: _Index, store: WheelStore, tmp_path: Path, stamp: tuple[int, ...], day: str | None
) -> None:
    origin = Origin(kind="checkout", commit="c" * 40, tree="d" * 40)
    wheel = _wheel_file(tmp_path, version="1.0", stamp=stamp)
    locked = locking.lock(wheel=wheel, origin=origin, interpreter=PYTHON, store=store)
    assert locked.as_of == (day or datetime.now(UTC).date().isoformat())


@pytest.mark.parametrize(
    ("make", "requirement", "words"),
    [
        ({"name": "other"}, "demo", "is other .*, not demo"),
        ({"version": "2.0"}, "demo==1.0", "is version 2.0, not ==1.0"),
        ({"metadata": "Requires-Python: <3\n"}, None, "needs Python <3"),
        ({"tag": "cp39-cp39-win_arm64"}, None, "does not fit Python"),
        ({"tag": "cp399-cp399-any"}, None, "does not fit Python"),
        ({"without": ("demo-1.0+mine.dist-info/WHEEL",)}, None, "without a file"),
        ({"unlisted": {"demo/more.py": b""}}, None, "RECORD does not list demo/more.py"),
    ],
    ids=["project", "version", "python", "platform", "another python", "format", "contents"],
)
def test_a_wheel_file_that_is_not_what_was_asked_for_is_refused(
    index: _Index,
    store: WheelStore,
    tmp_path: Path,
    *,
    make: dict[str, object],
    requirement: str | None,
    words: str,
) -> None:
    wheel = _wheel_file(tmp_path, **make)  # type: ignore[arg-type]  # passed on
    with pytest.raises(AgentproofError, match=words):
        locking.lock(wheel=wheel, requirement=requirement, interpreter=PYTHON, store=store)
    assert index.calls == []


def test_a_source_archive_is_refused_with_the_way_out(store: WheelStore, tmp_path: Path) -> None:
    (tmp_path / "demo-1.0.tar.gz").write_bytes(b"")
    with pytest.raises(UsageError, match="not a wheel") as raised:
        locking.lock(wheel=tmp_path / "demo-1.0.tar.gz", interpreter=PYTHON, store=store)
    assert "uv build" in (raised.value.hint or "")


def test_the_best_fitting_wheel_is_taken() -> None:
    tags = ("cp312-cp312-linux_x86_64", "cp312-abi3-linux_x86_64", "py3-none-any")
    ranked = [
        resolver.rank(f"a-1-{tag}.whl", tags)
        for tag in (
            "cp312-cp312-linux_x86_64",
            "2-cp312-abi3-linux_x86_64",
            "cp312-abi3-linux_x86_64",
            "py3-none-any",
        )
    ]
    assert ranked == sorted(ranked, key=lambda place: place or (9, (0, "")))
    assert resolver.rank("a-1-cp313-cp313-linux_x86_64.whl", tags) is None


def test_credentials_are_cut_from_what_uv_says() -> None:
    text = _index.without_credentials("see https://user:secret@index.invalid/simple and https://x.invalid/@y")
    assert text == "see https://index.invalid/simple and https://x.invalid/@y"
