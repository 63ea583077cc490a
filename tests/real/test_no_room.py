"""Full disks and read-only caches: an error that says where, nothing half made, and a recording all the same
where nothing that it needs is missing.

The disks are small ones in memory, mounted in a mount namespace of the test's own (`unshare --user --mount`).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentproof.bundle.store import read_bundle
from agentproof.models.manifest import Manifest
from agentproof.record.output import STORE_PYTHON

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
CASE = ROOT / "bundles" / "sibling-approval"
VERSION = "0.20.0"
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
LABEL = VERSION if TAG == STORE_PYTHON else f"{VERSION}-{TAG}"
"""Where the store keeps what this Python records."""
UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-e", "-c")


def _can_mount() -> bool:
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    tried = subprocess.run([*UNSHARE, "mount -t tmpfs none /mnt"], capture_output=True, check=False)
    return tried.returncode == 0


if not _can_mount():
    pytest.skip("nothing can be mounted here without being root", allow_module_level=True)


def run(
    place: Path, *arguments: str, cache: Path, mounts: Sequence[str] = (), after: Sequence[str] = ()
) -> "subprocess.CompletedProcess[str]":
    """`agentproof record` in mounts of its own, with shell commands before and after it."""
    (place / "tmp").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "agentproof", "record", *arguments]
    return subprocess.run(
        [
            *UNSHARE,
            "\n".join([*mounts, '"$@" || code=$?', *after, "exit ${code:-0}"]),
            *("sh", *command),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
        timeout=600,
        env=os.environ
        | {"AGENTPROOF_CACHE_DIR": str(cache), "TMPDIR": str(place / "tmp"), "PYTHONPATH": str(ROOT)},
    )


def record(place: Path, **more: object) -> "subprocess.CompletedProcess[str]":
    """The committed case, to a zip in `place`."""
    script, out = str(CASE / "reproduction.py"), str(place / "out.zip")
    return run(place, script, "--output", out, **more)  # type: ignore[arg-type]  # passed on


def disk(at: Path | str, size: str = "1m") -> str:
    """A command that mounts an empty disk in memory."""
    return f"mkdir -p '{at}'; mount -t tmpfs -o size={size} none '{at}'"


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds all that the case needs."""
    place = tmp_path_factory.mktemp("warm")
    done = record(place, cache=place / "cache")
    assert done.returncode == 0, done.stderr
    return place / "cache"


def evidence(path: Path) -> str:
    return Manifest.from_bytes(read_bundle(path).manifest).evidence_id


COMMITTED = evidence(CASE / VERSION)


def test_a_full_disk_for_the_zip_leaves_no_half_of_it(tmp_path: Path, warm: Path) -> None:
    out = tmp_path / "out"
    done = run(
        tmp_path,
        *(str(CASE / "reproduction.py"), "--output", str(out / "b.zip")),
        cache=warm,
        mounts=[disk(out)],
        after=[f"ls -A '{out}' > listed"],
    )
    assert done.returncode == 4, done.stderr
    assert f"cannot write {out}/b.zip: No space left on device" in done.stderr
    assert (tmp_path / "listed").read_text() == ""


def test_a_full_disk_for_the_bundle_leaves_the_old_one(tmp_path: Path, warm: Path) -> None:
    store = tmp_path / "bundles"
    room = sum(path.stat().st_size // 4096 * 4 + 4 for path in CASE.rglob("*") if path.is_file())
    done = run(
        tmp_path,
        *(str(store / CASE.name / "reproduction.py"), "--replace"),
        cache=warm,
        mounts=[
            disk(store, f"{room + 2048}k"),
            f"mkdir '{store}/wheels'; cp '{ROOT}'/bundles/wheels/*-{VERSION}-* '{store}/wheels'",
            f"cp -r '{CASE}' '{store}'",
            f"test {LABEL} = {VERSION} || mv '{store}/{CASE.name}/{VERSION}' '{store}/{CASE.name}/{LABEL}'",
            f"dd if=/dev/zero of='{store}/rest' bs=4k 2>/dev/null || true",
            f"truncate --size=-32k '{store}/rest'",
        ],
        after=[f"cp -r '{store}' '{tmp_path}/copied'"],
    )
    assert done.returncode == 4, done.stderr
    assert f"cannot write {store}/{CASE.name}/{LABEL}: No space left on device" in done.stderr
    assert evidence(tmp_path / "copied" / CASE.name / LABEL) == COMMITTED
    assert {path.name for path in (tmp_path / "copied" / CASE.name).iterdir()} == {
        LABEL if path.name == VERSION else path.name for path in CASE.iterdir()
    }


def test_a_full_disk_for_an_empty_cache_is_named_and_leaves_nothing_half_made(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    done = record(
        tmp_path,
        cache=cache,
        mounts=[disk(cache)],
        after=[f"find '{cache}' -name '*agentproof-tmp*' > listed"],
    )
    assert done.returncode == 4, done.stderr
    assert "No space left on device" in done.stderr
    assert str(cache) in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "listed").read_text() == ""
    assert not (tmp_path / "out.zip").exists()


@pytest.mark.slow  # that a cache which takes nothing more is read: the next one
def test_a_full_disk_for_a_filled_cache_costs_time_and_not_the_recording(tmp_path: Path, warm: Path) -> None:
    cache = tmp_path / "cache"
    done = record(
        tmp_path,
        cache=cache,
        mounts=[
            disk(cache, "512m"),
            f"cp -r '{warm}/.' '{cache}'",
            f"rm -r '{cache}/bytecode' '{cache}/locks'",
            f"dd if=/dev/zero of='{cache}/rest' bs=64k 2>/dev/null || true",
        ],
        after=[f"find '{cache}' -name '*agentproof-tmp*' > listed"],
    )
    assert done.returncode == 0, done.stderr
    assert evidence(tmp_path / "out.zip") == COMMITTED
    assert (tmp_path / "listed").read_text() == ""


@pytest.mark.slow  # a full disk below is another such cache
def test_a_cache_that_cannot_be_written_is_read(tmp_path: Path, warm: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in warm.rglob("*")}
    done = record(
        tmp_path, cache=warm, mounts=[f"mount --bind '{warm}' '{warm}'; mount -o remount,bind,ro '{warm}'"]
    )
    assert done.returncode == 0, done.stderr
    assert evidence(tmp_path / "out.zip") == COMMITTED
    assert {path: path.stat().st_mtime_ns for path in warm.rglob("*")} == before


def test_an_empty_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    done = record(tmp_path, cache=cache, mounts=[disk(cache), f"mount -o remount,ro '{cache}'"])
    assert done.returncode == 4, done.stderr
    assert f"the wheel store {cache}/wheels cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_room_for_the_environment_is_named(tmp_path: Path, warm: Path) -> None:
    done = record(tmp_path, cache=warm, mounts=[disk("/dev/shm"), disk(tmp_path / "tmp")])
    assert done.returncode == 4, done.stderr
    assert str(tmp_path / "tmp") in done.stderr
    assert "make room there" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_recording_needs_no_room_in_memory(tmp_path: Path, warm: Path) -> None:
    done = record(tmp_path, cache=warm, mounts=[disk("/dev/shm", "64k")], after=["ls -A /dev/shm > listed"])
    assert done.returncode == 0, done.stderr
    assert evidence(tmp_path / "out.zip") == COMMITTED
    assert (tmp_path / "listed").read_text() == ""
    assert list((tmp_path / "tmp").iterdir()) == []
