"""The test vectors for other checkers: ours says what they expect, and `tests.vectors` writes them."""

import json
from pathlib import Path

import pytest

from agentproof.check.bundle import Reader, check_path
from agentproof.check.source import Sources, read_held_wheel
from agentproof.trust.allowed_signers import Trust, read_revoked, read_trust
from tests import vectors
from tests.vector_cases import VECTORS

FOLDERS = sorted(path.parent for path in vectors.PLACE.glob("*/expected.json"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_vector_is_judged_as_it_expects(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_bytes())
    looks = expected["reader"]
    trust = read_trust(vectors.PLACE / looks["trust"]) if "trust" in looks else Trust()
    if "revoked" in looks:
        trust |= read_revoked(vectors.PLACE / looks["revoked"])
    wheels = (read_held_wheel(vectors.PLACE / looks["wheel"]),) if "wheel" in looks else ()
    reader = Reader(
        trust=trust,
        sources=Sources(wheels=wheels),
        thresholds=looks.get("threshold", {}),
        accept=frozenset(looks.get("accept", ())),
    )
    report = check_path(folder / "bundle.zip", reader=reader).report
    failed = [
        {"check": each.name, "reason": each.reason} for each in report.checks if each.status == "failed"
    ]
    assert report.status == expected["status"]
    if "verdict" in expected:
        assert report.verdict is not None
        assert report.verdict.status == expected["verdict"]
        assert {each.id for each in report.also if each.status == "violated"} == {*expected["beyond"]}
    assert failed == ([expected["failed"]] if expected["failed"] else [])


def test_a_bundle_that_was_kept_stays_as_it_is() -> None:
    assert vectors.SUMS.read_text("utf-8") == vectors.sums()


def test_what_is_said_of_the_vectors_is_what_is_written() -> None:
    written = dict(vectors.files())
    held = {
        path.relative_to(vectors.PLACE).as_posix(): path.read_bytes()
        for path in vectors.PLACE.rglob("*")
        if path.is_file()
        and path.name != "bundle.zip"
        and path not in (vectors.PLACE / "README.md", vectors.SUMS)
    }
    differing = sorted(path for path in written.keys() | held.keys() if written.get(path) != held.get(path))
    assert not differing, f"run `python -m tests.vectors`: {differing}"


def test_every_word_and_every_required_check_has_a_vector() -> None:
    assert {vector.status for vector in VECTORS} == {
        "CURRENT",
        "INTACT",
        "UNTRUSTED",
        "INVALID",
        "STALE",
    }
    failing = {vector.check for vector in VECTORS} - {None}
    assert failing == {"members", "encoding", "signature", "environment", "source", "claims"}
