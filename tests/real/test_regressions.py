"""What `init` writes records at once, and a bundle is a regression test: real recordings on real releases."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.real, pytest.mark.slow]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "AGENTPROOF_CONFIG_DIR": str(cwd / "config")},
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )


def test_what_init_writes_records_at_once_and_holds(tmp_path: Path) -> None:
    assert run("agentproof", "init", "sum", "--sdk", "0.21.0", cwd=tmp_path).returncode == 0
    done = run("agentproof", "record", "sum.py", "--expect", "holds", cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert list(tmp_path.glob("sum-0.21.0*.agentproof.zip"))


def test_a_bundle_fails_on_the_release_that_shows_it_and_passes_on_the_one_that_mends_it(
    tmp_path: Path,
) -> None:
    script = ROOT / "bundles" / "sibling-approval" / "reproduction.py"
    recorded = run("agentproof", "record", str(script), "--output", "leak.agentproof.zip", cwd=tmp_path)
    assert recorded.returncode == 0, recorded.stderr
    loaded = (
        () if entry_points(group="pytest11", name="agentproof") else ("-p", "agentproof.pytest_plugin.plugin")
    )
    plain = ("pytest", *loaded, "-p", "no:cacheprovider", "-q")
    shows = run(*plain, "--agentproof-target", "0.20.0", cwd=tmp_path)
    assert shows.returncode == 1, shows.stdout
    assert "S2 changed while only S1 was decided" in shows.stdout
    assert "1 failed" in shows.stdout
    mended = run(*plain, "--agentproof-target", "0.21.0", cwd=tmp_path)
    assert mended.returncode == 0, mended.stdout
    assert "1 passed" in mended.stdout
