"""Writing to a path: what is there is written through, `-` is stdout, and nothing else is replaced."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from agentproof.bundle.store import from_zip_bytes
from agentproof.system.files import write_atomic

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "bundles" / "sibling-approval" / "0.20.0"


def _run(
    *arguments: str, cwd: Path, stdout: int | BinaryIO = subprocess.PIPE
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "agentproof", *arguments],
        cwd=cwd,
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
        timeout=120,
    )


def _device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        path.open("wb").close()
    except OSError:
        pytest.skip("no device can be made or opened here")


REPORT = ("report", str(BUNDLE), "--format", "summary", "--output")


def test_a_full_device_stays_one_and_is_told(tmp_path: Path) -> None:
    full = tmp_path / "full"
    _device(full)
    for arguments in ((*REPORT, "full"), ("check-current-bundle", str(BUNDLE), "--junit", "full", "-q")):
        done = _run(*arguments, cwd=tmp_path)
        assert done.returncode == 4, done.stderr
        assert b"cannot write full: No space left on device" in done.stderr
        assert b"next:" in done.stderr
        assert stat.S_ISCHR(full.lstat().st_mode)
    assert os.listdir(tmp_path) == ["full"]


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    done = _run(*REPORT, "pipe", cwd=tmp_path)
    reader.join(60)
    assert done.returncode == 0, done.stderr
    assert b"sibling-approval" in got[0]
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_file_is_written(tmp_path: Path, *, there: bool) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "file.md"
    if there:
        target.write_bytes(b"old")
    (tmp_path / "link.md").symlink_to("elsewhere/file.md")
    done = _run(*REPORT, "link.md", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "link.md").is_symlink()
    assert b"sibling-approval" in target.read_bytes()


def test_a_loop_of_links_and_a_directory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    done = _run(*REPORT, "a", cwd=tmp_path)
    assert done.returncode in (2, 4)
    assert b"Traceback" not in done.stderr
    assert _run(*REPORT, ".", cwd=tmp_path).returncode == 2


def test_a_dash_is_stdout_and_all_else_is_told_beside_it(tmp_path: Path) -> None:
    assert b"sibling-approval" in _run(*REPORT, "-", cwd=tmp_path).stdout
    done = _run("pack", str(BUNDLE), "--thin", "--output", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert from_zip_bytes(done.stdout).manifest == (BUNDLE / "manifest.json").read_bytes()
    done = _run("check-current-bundle", str(BUNDLE), "--junit", "-", "--allow-intact", cwd=tmp_path)
    assert b"<testsuites" in done.stdout
    assert b"members" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_stdout_by_another_name_is_stdout_too(tmp_path: Path, name: str) -> None:
    with (tmp_path / "log").open("ab") as log:
        log.write(b"before\n")
        log.flush()
        done = _run(*REPORT, name, cwd=tmp_path, stdout=log)
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "log").read_bytes()
    assert written.startswith(b"before\n")
    assert b"sibling-approval" in written


def test_a_key_is_not_written_to_stdout(tmp_path: Path) -> None:
    done = _run("keygen", "--output", "-", cwd=tmp_path)
    assert (done.returncode, done.stdout, os.listdir(tmp_path)) == (2, b"", [])
    assert b"two files are written" in done.stderr


def test_a_file_in_the_way_is_replaced_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    old = (tmp_path / "file").stat().st_ino
    write_atomic(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "file").stat().st_ino != old
