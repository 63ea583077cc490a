"""`test` and `minimise` on real wheels: what they write does what they say."""

import ast
from pathlib import Path

import pytest

from tests.command import agentproof

BUNDLES = Path(__file__).parents[2] / "bundles"
SIBLING = BUNDLES / "sibling-approval" / "0.20.0"

pytestmark = [pytest.mark.real, pytest.mark.slow]


def test_the_test_of_a_bundle_fails_there_by_its_assertion_and_passes_where_it_is_repaired(
    tmp_path: Path,
) -> None:
    done = agentproof("test", SIBLING, "--fixed", "0.21.0", "--output", "test_it.py", place=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "on openai-agents 0.20.0: failed: AssertionError" in done.stderr
    assert "on openai-agents 0.21.0" in done.stderr
    text = (tmp_path / "test_it.py").read_text()
    assert "agentproof" not in text.lower()
    asserted = [ast.unparse(node.test) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assert)]
    assert any("to_json()['context']['approvals']" in each for each in asserted)
    assert "tool_runs == []" in asserted


def test_of_a_bundle_that_shows_nothing_there_is_no_test(tmp_path: Path) -> None:
    place = BUNDLES / "sibling-approval" / "0.24.0"
    done = agentproof("test", place, "--output", "test_it.py", place=tmp_path)
    assert done.returncode == 2
    assert "nothing is violated" in done.stderr
    assert not (tmp_path / "test_it.py").exists()


def test_a_smaller_script_shows_the_same_and_nothing_else(tmp_path: Path) -> None:
    options = ("--good", "0.21.0", "--runs", "60", "--output", "small.py")
    done = agentproof("minimise", SIBLING, *options, place=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "approval-respected, state-integrity: still violated" in done.stderr
    small = (tmp_path / "small.py").read_text()
    whole = (BUNDLES / "sibling-approval" / "reproduction.py").read_text()
    assert len(small.splitlines()) < len(whole.splitlines()) * 2 / 3
    assert small.startswith("# /// script")
