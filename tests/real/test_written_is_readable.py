"""What `record` writes, `check` reads: with real wheels, real scripts, and what used to come apart."""

import io
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentproof.bundle.store import from_zip_bytes
from agentproof.models.manifest import Manifest

ROOT = Path(__file__).parents[2]
SCRIPT = (ROOT / "bundles" / "sibling-approval" / "reproduction.py").read_text("utf-8")
WHEEL = ROOT / "bundles" / "wheels" / "openai_agents-0.20.0-py3-none-any.whl"
LARGE_STATE = """
async def large():
    agent = Agent(name="A", model=Scripted(CALL), tools=[pay])
    result = await Runner.run(agent, "go", context={"blob": "x" * 6_000_000})
    result.to_state().to_json()

asyncio.run(large())
"""

pytestmark = pytest.mark.real


def _run(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "agentproof", *arguments]
    return subprocess.run(command, cwd=cwd, check=False, capture_output=True, timeout=600)


def test_a_script_with_any_name_is_recorded_and_goes_to_stdout(tmp_path: Path) -> None:
    folder = tmp_path / "mein ördner 🐛"
    folder.mkdir()
    (folder / "mein répro.py").write_text(SCRIPT, "utf-8")
    named = "mein ördner 🐛/mein répro.py"
    done = _run("record", named, "--expect", "violated", "--output", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"VIOLATED" in done.stderr
    manifest = Manifest.from_bytes(from_zip_bytes(done.stdout).manifest)
    assert manifest.reproduction.entry == "mein repro.py"
    (tmp_path / "b.zip").write_bytes(done.stdout)
    checked = _run("check-current-bundle", "b.zip", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    assert [path.name for path in tmp_path.iterdir() if path.suffix] == ["b.zip"]


_READ_ALL = "\nfor each in __import__('pathlib').Path(__file__).parent.glob('d/*'): each.read_bytes()\n"


@pytest.mark.parametrize(
    ("more", "files", "said"),
    [
        pytest.param(LARGE_STATE, (), b"bytes is over the limit of 4194304", id="a state of 6 MB"),
        pytest.param(
            _READ_ALL,
            [f"d/{number}" for number in range(1500)],
            b"its attestation names each file and claim",
            id="1,500 files",
        ),
        # These names without a recording: tests/unit/test_final_check.py.
        pytest.param(
            "\nimport Helper, helper\n",
            ("Helper.py", "helper.py"),
            b"collides with 'Helper.py'",
            id="names that differ in case",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "\n__import__('donn' + chr(233) + 'es')\n",
            ("données.py",),
            "'données.py'".encode(),
            id="a name in Unicode",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_no_bundle_can_hold_is_told_and_not_written(
    tmp_path: Path, more: str, files: Sequence[str], said: bytes
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "pyproject.toml").touch()  # a project: what stands in it comes along
    (tmp_path / "x.py").write_text(SCRIPT + more, "utf-8")
    before = {*tmp_path.iterdir()}
    done = _run("record", "x.py", cwd=tmp_path)
    assert done.returncode in (2, 4), done.stdout
    assert said in done.stderr
    assert b"next: " in done.stderr
    assert b"Traceback" not in done.stderr
    assert {*tmp_path.iterdir()} == before


def _again(**options: Any) -> bytes:  # Any: of ZipFile.writestr
    out = io.BytesIO()
    with zipfile.ZipFile(WHEEL) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            new.writestr(info.filename, old.read(info), **options)
    return out.getvalue()


def test_a_wheel_that_was_packed_again_is_recorded_or_refused_by_both(tmp_path: Path) -> None:
    """Deflated as build backends do, and stored: both are the wheel's files and give the same evidence."""
    (tmp_path / "x.py").write_text(SCRIPT, "utf-8")
    (tmp_path / WHEEL.name).write_bytes(_again(compress_type=zipfile.ZIP_STORED))
    done = _run("record", "x.py", "--wheel", WHEEL.name, "--output", "b.zip", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    checked = _run("check-current-bundle", "b.zip", "--wheel", WHEEL.name, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    (tmp_path / WHEEL.name).write_bytes(_again(compress_type=zipfile.ZIP_LZMA))
    done = _run("record", "x.py", "--wheel", WHEEL.name, "--output", "c.zip", cwd=tmp_path)
    assert done.returncode == 2
    assert b"in another way than deflate" in done.stderr
    assert not (tmp_path / "c.zip").exists()
