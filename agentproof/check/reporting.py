"""What a check comes to: the outcome of each step, the one word, and the report."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..errors import BundleError
from ..models.manifest import ClaimResult, Judgement, Manifest, name_of_build
from ..models.report import (
    ON_REQUEST,
    REQUIRED,
    BundleStatus,
    CheckName,
    CheckResult,
    Report,
    ReportedClaim,
    ReportedTarget,
    Signer,
    StatedClaim,
    Verdict,
)
from ..models.statement import Role

Outcome = tuple[Literal["passed", "failed", "not_made"], str | None, str]
"""The status of one step, its reason code, and a sentence."""

EARLIER: Outcome = ("not_made", "earlier_failed", "an earlier check failed")
NOT_ASKED: Outcome = ("not_made", "on_request", "made on request")


@dataclass(frozen=True)
class Outcomes:
    """The required checks of something that is checked elsewhere; a check that is None was skipped."""

    members: Outcome | None = None
    encoding: Outcome | None = None
    signature: Outcome | None = None
    environment: Outcome | None = None
    source: Outcome | None = None
    claims: Outcome | None = None
    checkout: Outcome = NOT_ASKED
    installed: Outcome = NOT_ASKED
    replay: Outcome = NOT_ASKED


def report_on(
    outcomes: Outcomes,
    *,
    label: str | None,
    identity: str | None,
    signers: tuple[Signer, ...] = (),
    also: tuple[ReportedClaim, ...] = (),
    not_recomputed: tuple[StatedClaim, ...] = (),
    rests_on: Role | None = None,
    hint: str | None = None,
) -> Report:
    """The report on what is no single recording, or could not be read: without target and verdict."""
    results = [result_of(name, getattr(outcomes, name) or EARLIER) for name in REQUIRED]
    results += [result_of(name, getattr(outcomes, name)) for name in ON_REQUEST]
    return Report(
        bundle=label,
        status=status_of(results),
        bundle_id=identity,
        evidence_id=None,
        target=None,
        verdict=None,
        checks=tuple(results),
        signers=signers,
        rests_on=rests_on,
        sdk_changes=None,
        differences=(),
        stated=(),
        also=also,
        not_recomputed=not_recomputed,
        hint=hint,
    )


def is_fatal(result: CheckResult) -> bool:
    """Whether nothing after this may be believed."""
    # A sound bundle about another source than the reader's is still worth judging: it is STALE.
    return result.status == "failed" and result.reason != "other_source"


def result_of(name: CheckName, outcome: Outcome) -> CheckResult:
    """One line of the report."""
    status, reason, detail = outcome
    return CheckResult(name=name, status=status, reason=reason, detail=detail[:4096])


_TRUST = ("untrusted", "not_accepted", "threshold")
"""Reasons for which a sound bundle is UNTRUSTED."""


def status_of(results: Iterable[CheckResult]) -> BundleStatus:
    """The one word for these checks."""
    made = list(results)
    required = [result for result in made if result.name in REQUIRED]
    failed = [result.reason for result in made if result.status == "failed"]
    if any(reason not in (*_TRUST, "other_source") for reason in failed):
        return "INVALID"
    if any(reason in _TRUST for reason in failed):
        return "UNTRUSTED"
    if failed:
        return "STALE"
    return "CURRENT" if all(result.status == "passed" for result in required) else "INTACT"


def target_of(manifest: Manifest) -> ReportedTarget:
    """The distribution under test."""
    target = manifest.target
    build = name_of_build(target)
    return ReportedTarget(
        name=target.name,
        version=target.version,
        build=None if build == target.version else build,
        wheel=target.wheel,
        sha256=target.sha256,
    )


def verdict_of(judgement: Judgement) -> Verdict:
    """What this tool's own judgement says."""
    return Verdict(
        status=judgement.verdict,
        reasons=judgement.reasons,
        claims=tuple(map(reported, judgement.claims)),
    )


def reported(claim: ClaimResult) -> ReportedClaim:
    """A claim without what only the manifest needs."""
    return ReportedClaim(
        id=claim.id,
        kind=claim.kind,
        version=claim.version,
        mode=claim.mode,
        status=claim.status,
        because=claim.because,
    )


def stated_claim(claim: ClaimResult) -> StatedClaim:
    """A claim that was not recomputed."""
    return StatedClaim(
        id=claim.id, kind=claim.kind, version=claim.version, mode=claim.mode, stated=claim.status
    )


def unreadable(error: BundleError, label: str) -> Report:
    """The report about a container that could not be read."""
    members: Outcome = ("failed", error.reason, str(error))
    return report_on(Outcomes(members=members), label=label, identity=None, hint=error.hint)
