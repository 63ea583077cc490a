"""Replays, without running any: what is refused, what is attested, how environments differ."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agentproof._assemble import Assembled
from agentproof._environment import _lock, _pythons
from agentproof.check import Checked, Reader, check_bundle
from agentproof.errors import BundleError, CannotDoError
from agentproof.models.manifest import Manifest
from agentproof.replay import Options, Replayed, attest, environment_differences, replay
from agentproof.store import Bundle
from tests import forge

BUNDLE = forge.draft().seal()
MANIFEST = Manifest.from_bytes(BUNDLE.manifest)


class Story:
    """Tells nobody."""

    def working(self, text: str) -> None:
        """Nothing."""

    def done(self, label: str, text: str) -> None:
        """Nothing."""


def _replayed(seen: Bundle) -> Replayed:
    manifest = Manifest.from_bytes(seen.manifest)
    return Replayed(BUNDLE, MANIFEST, Assembled(manifest, seen), environment=(), differences=())


def _check(bundle: Bundle, **needed: int) -> Checked:
    trust = forge.trust_in(forge.REPORTER, forge.MAINTAINER)
    thresholds = {"replayed": needed["replayed"]} if needed else {}
    return check_bundle(
        bundle,
        reader=Reader(trust=trust, sources=forge.sources(), thresholds=thresholds),  # type: ignore[arg-type]  # a role
    )


def test_a_damaged_bundle_is_never_run() -> None:
    broken = Bundle(BUNDLE.manifest, {**BUNDLE.members, "reproduction.py": b"print('other')\n"}, {})
    with pytest.raises(BundleError) as caught:
        replay(_check(broken), options=Options(), story=Story())
    assert caught.value.reason == "other_bytes"


def test_the_same_evidence_is_attested_and_counts_towards_a_threshold() -> None:
    replayed = _replayed(forge.draft().seal())
    assert replayed.is_same
    attested = attest(replayed, forge.MAINTAINER, at=datetime(2026, 11, 30, 2, 4, 5, tzinfo=UTC))
    assert _check(attested, replayed=1).status == "CURRENT"
    assert _check(BUNDLE, replayed=1).status == "UNTRUSTED"
    assert _check(attested, replayed=2).status == "UNTRUSTED"


def test_other_evidence_is_never_attested() -> None:
    replayed = _replayed(forge.draft(holds=True).seal())
    assert not replayed.is_same
    with pytest.raises(CannotDoError, match="attests nothing"):
        attest(replayed, forge.MAINTAINER)


def _lock_like(manifest: Manifest) -> _lock.Lock:
    environment = manifest.environment
    interpreter = replace(_pythons.find(), version=environment.python.version, platform=environment.platform)
    return _lock.Lock(interpreter, environment.packages, manifest.target, environment.as_of)


def test_the_recorded_environment_differs_in_nothing_from_itself() -> None:
    assert list(environment_differences(MANIFEST, _lock_like(MANIFEST))) == []


def test_every_kind_of_difference_is_a_sentence() -> None:
    lock = _lock_like(MANIFEST)
    first, target = lock.packages
    other = replace(
        lock,
        python=replace(lock.python, version="3.11.7"),
        packages=(
            first.model_copy(update={"sha256": "00" * 32}),
            first.model_copy(update={"name": "anyio", "version": "4.9.0"}),
            target.model_copy(update={"version": "0.21.0"}),
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
