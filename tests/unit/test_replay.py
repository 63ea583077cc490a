"""Replays, without running any: what is refused, what is attested, how environments differ."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

from agentproof.bundle.store import WHEELS, Bundle, read_bundle, write_bundle
from agentproof.check.bundle import CheckedBundle, Reader, check_bundle
from agentproof.environment import interpreters, locking
from agentproof.errors import BundleError, CannotDoError
from agentproof.models.manifest import Manifest
from agentproof.record.conditions import Conditions
from agentproof.record.progress import Silent
from agentproof.record.replay import (
    ReplayResult,
    attest,
    environment_differences,
    replay,
    write_attested,
)
from agentproof.render.console import render_report
from tests import forge
from tests.changes import changed

BUNDLE = forge.draft().seal()
MANIFEST = Manifest.from_bytes(BUNDLE.manifest)


def _replayed(seen: Bundle) -> ReplayResult:
    return ReplayResult(BUNDLE, MANIFEST.judgement, seen, environment=(), differences=())


def _check(bundle: Bundle, **needed: int) -> CheckedBundle:
    trust = forge.trust_in(forge.REPORTER, forge.MAINTAINER)
    thresholds = {"replayed": needed["replayed"]} if needed else {}
    return check_bundle(
        bundle,
        reader=Reader(trust=trust, sources=forge.sources(), thresholds=thresholds),  # type: ignore[arg-type]  # a role
    )


def test_a_damaged_bundle_is_never_run() -> None:
    broken = Bundle(BUNDLE.manifest, {**BUNDLE.members, "reproduction.py": b"print('other')\n"}, {})
    with pytest.raises(BundleError) as caught:
        replay(_check(broken), conditions=Conditions(), progress=Silent())
    assert caught.value.reason == "other_bytes"


def test_the_same_evidence_is_attested_and_counts_towards_a_threshold() -> None:
    replayed = _replayed(forge.draft().seal())
    assert replayed.is_same
    attested = attest(replayed, forge.MAINTAINER, at=datetime(2026, 11, 30, 2, 4, 5, tzinfo=UTC))
    assert _check(attested, replayed=1).status == "CURRENT"
    assert _check(BUNDLE, replayed=1).status == "UNTRUSTED"
    assert _check(attested, replayed=2).status == "UNTRUSTED"


def test_what_is_attested_elsewhere_than_in_its_store_takes_the_wheel_along(tmp_path: Path) -> None:
    case, wheels = tmp_path / "bundles" / "case" / "0.20.0", tmp_path / "bundles" / "wheels"
    write_bundle(BUNDLE, case, wheels=wheels)
    stored = read_bundle(case, wheels=wheels)
    attested = attest(replace(_replayed(forge.draft().seal()), bundle=stored), forge.MAINTAINER)
    for place in (tmp_path / "sent.agentproof.zip", tmp_path / "sent"):
        assert read_bundle(write_attested(attested, place)).members[WHEELS + forge.WHEEL_NAME] == forge.WHEEL
    write_attested(attested, case)
    assert not (case / "wheels").exists()
    assert len(read_bundle(case).attestations) == 2


def test_a_threshold_that_is_not_reached_is_not_said_to_be_nobody_trusted() -> None:
    *_, last = render_report(_check(BUNDLE, replayed=1).report)
    assert click.unstyle(last) == "UNTRUSTED: it has fewer signatures of those that you trust than you demand"
    nobody = check_bundle(BUNDLE, reader=Reader(trust=forge.trust_in(forge.STRANGER)))
    assert "UNTRUSTED: no signer of this bundle is among those that you trust" in map(
        click.unstyle, render_report(nobody.report)
    )


def test_other_evidence_is_never_attested() -> None:
    replayed = _replayed(forge.draft(holds=True).seal())
    assert not replayed.is_same
    with pytest.raises(CannotDoError, match="attests nothing"):
        attest(replayed, forge.MAINTAINER)


def _lock_like(manifest: Manifest) -> locking.Lock:
    environment = manifest.environment
    interpreter = replace(
        interpreters.find(), version=environment.python.version, platform=environment.platform
    )
    return locking.Lock(interpreter, environment.packages, manifest.target, environment.as_of)


def test_the_recorded_environment_differs_in_nothing_from_itself() -> None:
    assert list(environment_differences(MANIFEST, _lock_like(MANIFEST))) == []


def test_every_kind_of_difference_is_a_sentence() -> None:
    lock = _lock_like(MANIFEST)
    first, target = lock.packages
    other = replace(
        lock,
        python=replace(lock.python, version="3.11.7"),
        packages=(
            changed(first, sha256="00" * 32),
            changed(first, name="anyio", version="4.9.0"),
            changed(target, version="0.21.0"),
        ),
    )
    assert list(environment_differences(MANIFEST, other)) == [
        "CPython 3.11.7 instead of 3.12.1",
        "anyio 4.9.0 is here too",
        "openai-agents 0.21.0 instead of 0.20.0",
        "other wheels of the same versions: annotated-types 0.7.0",
    ]
    fewer = replace(lock, packages=(target,))
    assert list(environment_differences(MANIFEST, fewer)) == ["annotated-types 0.7.0 is not here"]
