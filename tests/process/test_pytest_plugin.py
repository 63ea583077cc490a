"""Bundles as regression tests; what is recorded on the target is made here, not by a real recording."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from agentproof.bundle.store import Bundle, write_bundle, zip_bytes
from agentproof.errors import CannotDoError
from agentproof.pytest_plugin import plugin
from tests.forge import draft

pytest_plugins = ["pytester"]

INSTALLED = bool(entry_points(group="pytest11", name="agentproof"))
LOADED = () if INSTALLED else ("-p", "agentproof.pytest_plugin.plugin")
"""The plugin comes by its entry point where the package is installed, and can come only once."""

ON = (*LOADED, "--agentproof-target", "0.21.0", "-p", "no:cacheprovider")


def a_store(root: Path) -> None:
    """Two bundles of one reproduction, and one of another."""
    for version, holds in (("0.20.0", False), ("0.21.0", True)):
        place = root / "bundles" / "leak" / version
        write_bundle(draft(holds=holds).seal(), place, wheels=root / "bundles" / "wheels")
    other = draft(holds=True)
    other.files["reproduction.py"] += b"# another one\n"
    write_bundle(
        other.judged().seal(), root / "bundles" / "other" / "0.20.0", wheels=root / "bundles" / "wheels"
    )


def record_as(monkeypatch: pytest.MonkeyPatch, bundle: Bundle | Exception) -> list[str]:
    """Have every recording give this; tells the targets that were asked for."""
    asked: list[str] = []

    def record_on(_subject: object, target: str) -> Bundle:
        asked.append(target)
        if isinstance(bundle, Exception):
            raise bundle
        return bundle

    monkeypatch.setattr(plugin, "record_on", record_on)
    return asked


@pytest.mark.parametrize("target", ["nonsense", "dist/nowhere.whl", "openai-agents"])
def test_a_target_that_makes_no_sense_ends_the_session_once(pytester: pytest.Pytester, target: str) -> None:
    a_store(pytester.path)
    done = pytester.runpytest_inprocess(*LOADED, "--agentproof-target", target, "bundles")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: --agentproof-target {target}: *; next: *"])
    assert "bundles" not in done.stdout.str()


def test_a_violation_on_the_target_fails_in_the_words_of_its_claims(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_store(pytester.path)
    asked = record_as(monkeypatch, draft().seal())
    done = pytester.runpytest_inprocess(*ON, "bundles")
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(
        [
            "*leak on 0.21.0*",
            "violated on openai-agents 0.20.0",
            "approval-respected (as-written and streamed): tool pay ran for call_1; the resumed state S2 *",
            "state-integrity (as-written and streamed): S2 changed while only S1 was decided at /context/*",
        ]
    )
    assert asked == ["0.21.0", "0.21.0"]


def test_a_reproduction_that_holds_on_the_target_passes_once_for_all_its_bundles(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_store(pytester.path)
    record_as(monkeypatch, draft(holds=True).seal())
    pytester.runpytest_inprocess(*ON, "bundles").assert_outcomes(passed=2)


def test_a_zip_is_collected_too_and_a_recording_that_cannot_be_made_says_why(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pytester.path / "x.agentproof.zip").write_bytes(zip_bytes(draft().seal()))
    record_as(monkeypatch, CannotDoError("no such release", hint="name another"))
    done = pytester.runpytest_inprocess(*ON)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["could not be recorded on 0.21.0: no such release", "next: name another"])


def test_a_broken_bundle_is_an_error_not_a_pass(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = draft()
    broken.manifest["evidence_id"] = "0" * 64
    (pytester.path / "x.agentproof.zip").write_bytes(zip_bytes(broken.seal()))
    record_as(monkeypatch, draft(holds=True).seal())
    done = pytester.runpytest_inprocess(*ON)
    done.assert_outcomes(errors=1)


def test_without_the_option_nothing_is_collected_and_nothing_heavy_is_imported(
    pytester: pytest.Pytester,
) -> None:
    a_store(pytester.path)
    done = pytester.runpytest_inprocess(*LOADED, "-p", "no:cacheprovider", "bundles")
    done.assert_outcomes()
    probe = (
        "import sys, agentproof.pytest_plugin.plugin; "
        "print(*sorted({'pydantic', 'cryptography'} & {*sys.modules}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", probe],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert loaded.stdout.strip() == ""
