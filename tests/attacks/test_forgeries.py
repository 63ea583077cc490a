"""A forger without a trusted key never gets CURRENT or exit 0 from a reader who names whom they trust.

Without a trust file, each forgery ends as INVALID with a reason, or is listed as INTACT: nothing in a
bundle can tell. `docs/format.md` has the same list.
"""

import base64
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from agentproof.check.bundle import Reader, check_bundle, exit_code
from agentproof.errors import Exit
from agentproof.models.statement import Statement
from agentproof.trust.allowed_signers import Trust, parse_trust
from agentproof.trust.signing import attest_endorsed
from tests import forge
from tests.forgeries import FORGERIES, ORIGINAL, Forgery, forged
from tests.forgeries.manifest import EVIL_WHEEL, exchanged_wheel, swap_loaded

TRUSTING = Reader(trust=forge.trust_in(forge.REPORTER), sources=forge.sources())


def test_there_are_enough_forgeries_and_each_has_a_name() -> None:
    assert len({forgery.name for forgery in FORGERIES}) == len(FORGERIES) >= 60


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_a_forgery_is_never_current_for_a_reader_who_names_whom_they_trust(forgery: Forgery) -> None:
    report = check_bundle(forged(forgery), reader=TRUSTING).report
    assert report.status in ("INVALID", "UNTRUSTED")
    assert exit_code(report, allow_intact=True) is Exit.INVALID


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_without_trust_a_forgery_is_noticed_wherever_something_can_be_recomputed(forgery: Forgery) -> None:
    report = check_bundle(forged(forgery), reader=Reader()).report
    failed = [check.reason for check in report.checks if check.status == "failed"]
    assert failed == ([forgery.noticed] if forgery.noticed else [])
    assert report.status == ("INVALID" if forgery.noticed else "INTACT")


@dataclass(frozen=True)
class _Index:
    origin: str = "index"
    project: str | None = "openai-agents"


def test_a_changed_wheel_under_a_releases_name_is_not_current_even_by_a_trusted_signer() -> None:
    draft = forge.draft()
    exchanged_wheel(EVIL_WHEEL)(draft)
    bundle = draft.seal()
    assert check_bundle(bundle, reader=TRUSTING).status == "STALE"
    known = {forge.sha256(forge.WHEEL)}
    store = replace(
        forge.sources(), wheels=(), provenance=lambda digest: _Index() if digest in known else None
    )
    assert check_bundle(bundle, reader=replace(TRUSTING, sources=store)).status == "INTACT"


def test_a_wheel_that_would_not_match_cannot_be_left_out_to_get_current() -> None:
    draft = forge.draft()
    swap_loaded(draft)
    whole = draft.seal()
    detached = replace(whole, members={k: v for k, v in whole.members.items() if not k.startswith("wheels/")})
    assert check_bundle(detached, reader=replace(TRUSTING, sources=forge.sources())).status == "INVALID"
    assert check_bundle(detached, reader=Reader(trust=TRUSTING.trust)).status == "INTACT"


@pytest.mark.parametrize(
    ("options", "at", "status"),
    [
        ('valid-before="20260101Z"', None, "UNTRUSTED"),
        ('valid-after="20990101Z"', None, "UNTRUSTED"),
        ('namespaces="agentproof-endorsed"', None, "UNTRUSTED"),
        ('namespaces="git"', None, "UNTRUSTED"),
        ('valid-before="20260101Z"', datetime(2025, 1, 1, tzinfo=UTC), "CURRENT"),
    ],
)
def test_an_expired_or_narrowed_signer_is_untrusted(options: str, at: datetime | None, status: str) -> None:
    trust = forge.trust_in(forge.REPORTER, options=options)
    assert check_bundle(ORIGINAL, reader=replace(TRUSTING, trust=trust, at=at)).status == status


@pytest.mark.parametrize("at", [None, datetime(2025, 1, 1, tzinfo=UTC)])
def test_a_revoked_signer_is_untrusted_at_any_time_and_without_a_trust_file(at: datetime | None) -> None:
    revoked = Trust(revoked=frozenset({forge.REPORTER.public.fingerprint}))
    for trust in (revoked, forge.trust_in(forge.REPORTER) | revoked):
        assert check_bundle(ORIGINAL, reader=replace(TRUSTING, trust=trust, at=at)).status == "UNTRUSTED"


def test_sign_does_not_reach_a_threshold_of_recordings() -> None:
    more = dict(attest_endorsed(ORIGINAL.manifest, key) for key in (forge.MAINTAINER, forge.STRANGER))
    bundle = replace(ORIGINAL, attestations={**ORIGINAL.attestations, **more})
    trust = forge.trust_in(forge.REPORTER, forge.MAINTAINER, forge.STRANGER)
    reader = replace(TRUSTING, trust=trust, thresholds={"recorded": 2})
    assert check_bundle(bundle, reader=reader).status == "UNTRUSTED"
    assert check_bundle(bundle, reader=replace(reader, thresholds={"endorsed": 2})).status == "CURRENT"


def test_one_key_under_two_names_does_not_reach_a_threshold_of_two() -> None:
    line = forge.REPORTER.public.line
    trust = parse_trust(f"a@x {line}\nb@x {line}\n".encode(), source="x")
    reader = replace(TRUSTING, trust=trust, thresholds={"recorded": 2})
    assert check_bundle(ORIGINAL, reader=reader).status == "UNTRUSTED"


def test_the_statement_says_the_same_as_the_manifest_to_a_reader_of_in_toto_alone() -> None:
    payload = base64.b64decode(json.loads(next(iter(ORIGINAL.attestations.values())))["payload"])
    predicate = Statement.from_bytes(payload).predicate
    violated = {
        claim["id"]
        for claim in forge.draft().manifest["judgement"]["claims"]
        if claim["status"] == "violated"
    }
    assert set(predicate["failedTests"]) == violated
