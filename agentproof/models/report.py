"""What a check says: the JSON of `--json`, one object a bundle.

Every key is always there; what is not known is null. Sentences (`detail`) are for people and may be
reworded; statuses, names and reason codes are stable.
"""

from typing import Literal

from .manifest import Finding
from .manifest import Status as ClaimStatus
from .statement import Account, Role
from .wire import Count, ListOf, Sha256, Text, Wire

CheckName = Literal[
    "members",
    "encoding",
    "signature",
    "environment",
    "source",
    "claims",
    "checkout",
    "installed",
    "replay",
]
"""The checks in their order; the first six are required (frozen)."""

REQUIRED: tuple[CheckName, ...] = ("members", "encoding", "signature", "environment", "source", "claims")
ON_REQUEST: tuple[CheckName, ...] = ("checkout", "installed", "replay")

BundleStatus = Literal["CURRENT", "INTACT", "UNTRUSTED", "INVALID", "STALE"]


class CheckResult(Wire):
    """One check."""

    name: CheckName
    status: Literal["passed", "failed", "not_made"]
    reason: Text | None
    """A stable code; null where the check passed."""
    detail: Text
    """One sentence for people."""


Covers = Literal["recording", "observations", "observations_but_bodies", "evidence", "endorsement"]
"""What a signature is about. `recording`: the whole bundle, as the signer's recorder saw it.
`observations`: judgement, conduct and every event agreed on the signer's machine, but for what may differ
between machines; `observations_but_bodies`: the same where that machine could not see functions' bodies.
`evidence`: the evidence id agreed and nothing else was compared; it counts for nothing. `endorsement`: the
signer vouches for the bundle and ran nothing."""


class Signer(Wire):
    """One attestation."""

    role: Role
    key: Text
    """The OpenSSH public key line."""
    fingerprint: Text
    principals: ListOf[Text]
    """Whom the reader's trust knows by this key; empty where it is not trusted."""
    covers: Covers
    detail: Text
    says: Account | None = None
    """Whose account it is by the signer's own word, which proves nothing; absent where they say nothing."""
    known_otherwise: bool = False
    """Whether the reader trusts other keys as that account's; absent where not."""


class ReportedTarget(Wire):
    """The distribution under test."""

    name: Text
    version: Text
    build: Text | None = None
    """What a build of a checkout, or a wheel of a file, is called; absent for a release."""
    wheel: Text
    sha256: Sha256


class ReportedClaim(Wire):
    """A claim as it was recomputed."""

    id: Text
    kind: Text
    version: Count
    mode: Literal["as-written", "streamed", "both"]
    status: ClaimStatus
    because: ListOf[Finding]


class StatedClaim(Wire):
    """A claim of a rule, or of a version of one, that the checking tool lacks."""

    id: Text
    kind: Text
    version: Count
    mode: Literal["as-written", "streamed", "both"]
    stated: ClaimStatus
    """What the manifest says; it was not recomputed, and counts neither as violated nor as holding."""


class Verdict(Wire):
    """The verdict of the checking tool, over all claims that it can judge."""

    status: Literal["violated", "holds", "inconclusive"]
    reasons: ListOf[Text]
    claims: ListOf[ReportedClaim]
    """Those of the manifest that were recomputed, then those of `also`."""


class Difference(Wire):
    """What the bundle is about, and what the reader holds instead."""

    what: Text
    bundle: Text
    yours: Text


class Report(Wire):
    """What a check says about one bundle."""

    bundle: Text | None
    """The path as the reader gave it."""
    status: BundleStatus
    bundle_id: Sha256 | None
    evidence_id: Sha256 | None
    target: ReportedTarget | None
    verdict: Verdict | None
    """Null unless the claims were recomputed."""
    checks: ListOf[CheckResult]
    signers: ListOf[Signer]
    rests_on: Role | None
    """The strongest role in which somebody trusted signed; `replayed` and `endorsed` only pass where the
    reader accepts them. Null where nobody trusted did."""
    sdk_changes: Literal["allowed"] | None
    """`allowed`: recorded with `--allow-sdk-changes`, so that the script may have changed what it accuses."""
    differences: ListOf[Difference]
    """For STALE."""
    stated: ListOf[Text]
    """What rests on the recorder's word alone."""
    also: ListOf[ReportedClaim]
    """Claims of rules, or of versions of rules, that the manifest lacks; they count for the verdict."""
    not_recomputed: ListOf[StatedClaim]
    """Claims of the manifest that the checking tool lacks; with one of them a bundle is at most INTACT."""
    hint: Text | None
    """The next step."""
