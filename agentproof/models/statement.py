"""What is signed: an in-toto Statement v1, one per role, in a DSSE envelope.

Statement and predicates: https://github.com/in-toto/attestation (test-result v0.1, svr v0.1).
Envelope: https://github.com/secure-systems-lab/dsse, one signature.

The role is the statement's `predicateType`. All that a `recorded` or `endorsed` statement says
follows from the manifest, so a reader builds it again and compares the bytes; of a `replayed` one
the subjects and both ids follow, the rest is what the replayer states about its own machine.
"""

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field

from .manifest import Isolation, Manifest, Platform, Python, Recorder
from .values import Value
from .wire import ListOf, Sha256, Text, Wire, encode


class Uri(StrEnum):
    """Each URI and media type, spelled once; our own claim no domain (docs/decisions/0015)."""

    STATEMENT = "https://in-toto.io/Statement/v1"
    PAYLOAD = "application/vnd.in-toto+json"
    TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
    SVR = "https://in-toto.io/attestation/svr/v0.1"
    ENDORSED = "urn:uuid:6fb0f6b9-adf6-4ef3-bae6-34164a2392af#endorsed-v0"
    VERIFIER = "urn:uuid:6fb0f6b9-adf6-4ef3-bae6-34164a2392af#replay-v1"
    EVIDENCE_VERIFIER = "urn:uuid:6fb0f6b9-adf6-4ef3-bae6-34164a2392af#replay-v0"


Role = Literal["recorded", "replayed", "endorsed"]

ROLES: Mapping[str, Role] = {
    Uri.TEST_RESULT: "recorded",
    Uri.SVR: "replayed",
    Uri.ENDORSED: "endorsed",
}

Base64 = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]*={0,2}$", max_length=2**18)]
"""Standard base64 with padding; the reader also requires the one spelling of its bytes."""

Time = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$", max_length=20)]
"""A moment in UTC, to the second."""


GITHUB = "github:"
Account = Annotated[
    str, Field(pattern=r"^github:[A-Za-z0-9](?:-?[A-Za-z0-9])*$", max_length=len(GITHUB) + 39)
]
"""An account where public keys are served: `github:USER`, in GitHub's own pattern of names."""


class Signature(Wire):
    """One signature of an envelope."""

    keyid: Annotated[str, Field(pattern=r"^ssh-ed25519 [A-Za-z0-9+/]+={0,2}$", max_length=100)]
    """MUST be the signer's OpenSSH public key line without a comment."""
    sig: Base64


class Envelope(Wire):
    """A DSSE envelope."""

    payload: Base64
    payloadType: Literal["application/vnd.in-toto+json"]
    signatures: Annotated[ListOf[Signature], Field(min_length=1, max_length=1)]


class Digest(Wire):
    """A DigestSet with the one algorithm that agentproof uses."""

    sha256: Sha256


class Resource(Wire):
    """A ResourceDescriptor: a name and its digest."""

    name: Text
    digest: Digest

    @classmethod
    def of(cls, name: str, sha256: Sha256) -> Self:
        """The descriptor of these bytes."""
        return cls(name=name, digest=Digest(sha256=sha256))


class TestResult(Wire):
    """The test-result v0.1 predicate, for the role `recorded`."""

    __test__ = False  # pytest: this is no test class

    result: Literal["PASSED", "WARNED", "FAILED"]
    configuration: ListOf[Resource]
    """The lock, the reproduction's files and the recorder."""
    passedTests: ListOf[Text]
    warnedTests: ListOf[Text]
    failedTests: ListOf[Text]
    """Claim ids by status; `not_observed` ones are the warned."""
    evidence_id: Sha256
    signer: Account | None = None
    """Who the signer says they are; it proves nothing until the reader knows the key as theirs."""


class Verifier(Wire):
    """Who made an SVR: the `replay` command."""

    id: Literal["urn:uuid:6fb0f6b9-adf6-4ef3-bae6-34164a2392af#replay-v1"]


class EvidenceVerifier(Wire):
    """Who made an SVR of the first version, which compared evidence ids and nothing else."""

    id: Literal["urn:uuid:6fb0f6b9-adf6-4ef3-bae6-34164a2392af#replay-v0"]


Agreed = Literal[
    "AGENTPROOF_SAME_EVIDENCE",
    "AGENTPROOF_SAME_JUDGEMENT",
    "AGENTPROOF_SAME_CONDUCT",
    "AGENTPROOF_SAME_EVENTS",
]
"""What agreed in a replay: events but for what may differ between machines (docs/format.md, section 7)."""

AGREED: tuple[Agreed, ...] = get_args(Agreed)


class _Machine(Wire):
    """What a replayer states about their own machine."""

    timeCreated: Time
    """As the replayer's clock had it; nothing rests on it."""
    bundle_id: Sha256
    evidence_id: Sha256
    python: Python
    platform: Platform
    lock: Sha256
    """Of the `pylock.toml` that the replay ran with."""
    isolation: Isolation
    recorder: Recorder


class Replay(_Machine):
    """The svr v0.1 predicate, for the role `replayed`: all of the recording was seen on another machine."""

    verifier: Verifier
    properties: ListOf[Agreed]
    """MUST be all four, in their order."""
    not_captured: ListOf[Literal["bodies"]]
    """What that machine could not see although the recording has it, and was not compared."""


class EvidenceReplay(_Machine):
    """The same of the first version: it covers the evidence alone. It is read, and counts for nothing."""

    verifier: EvidenceVerifier
    properties: ListOf[Literal["AGENTPROOF_SAME_EVIDENCE"]]


class Endorsement(Wire):
    """The predicate of the role `endorsed`: it says nothing about execution."""

    bundle_id: Sha256
    evidence_id: Sha256


class Statement(Wire):
    """An in-toto Statement v1 about a manifest and a target wheel."""

    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: Annotated[ListOf[Resource], Field(min_length=1)]
    predicateType: Text
    predicate: Value


_RESULTS: Mapping[str, Literal["PASSED", "WARNED", "FAILED"]] = {
    "violated": "FAILED",
    "holds": "PASSED",
    "inconclusive": "WARNED",
}


def build_recorded_statement(manifest: Manifest, *, bundle_id: Sha256, signer: str | None = None) -> bytes:
    """The statement that `record` signs for this manifest, whose SHA-256 is `bundle_id`; `signer` is the
    account that the signer says is theirs."""
    files = {member.path: member.sha256 for member in manifest.members}
    configuration = [Resource.of(path, files[path]) for path in (*manifest.reproduction.files, "pylock.toml")]
    configuration.append(Resource.of("recorder", manifest.recorder.sha256))
    by_status: dict[str, list[str]] = {"holds": [], "not_observed": [], "violated": []}
    for claim in manifest.judgement.claims:
        by_status[claim.status].append(claim.id)
    predicate = TestResult(
        result=_RESULTS[manifest.judgement.verdict],
        configuration=tuple(configuration),
        passedTests=tuple(by_status["holds"]),
        warnedTests=tuple(by_status["not_observed"]),
        failedTests=tuple(by_status["violated"]),
        evidence_id=manifest.evidence_id,
        signer=signer,
    )
    return _statement(Uri.TEST_RESULT, predicate, manifest, bundle_id)


def build_endorsed_statement(manifest: Manifest, *, bundle_id: Sha256) -> bytes:
    """The statement that `sign` signs."""
    predicate = Endorsement(bundle_id=bundle_id, evidence_id=manifest.evidence_id)
    return _statement(Uri.ENDORSED, predicate, manifest, bundle_id)


def build_comparison_statement(comparison: Sha256, *, recordings: Mapping[Sha256, Sha256]) -> bytes:
    """The statement of whoever assembled the comparison bundle with this id, over its recordings.

    `recordings` maps bundle ids to evidence ids. The role is `endorsed`: what was executed is said by
    the recordings' own attestations, and the rest of a comparison follows from them.
    """
    predicate = Endorsement(
        bundle_id=comparison,
        evidence_id=hashlib.sha256("\n".join(sorted(set(recordings.values()))).encode()).hexdigest(),
    )
    document: dict[str, Any] = {  # Any: a JSON document
        "_type": Uri.STATEMENT.value,
        "subject": [
            _subject("manifest.json", comparison),
            *(_subject(f"bundles/{each}/manifest.json", each) for each in sorted(recordings)),
        ],
        "predicateType": Uri.ENDORSED.value,
        "predicate": predicate.to_shape(),
    }
    return encode(document)


def build_replayed_statement(
    manifest: Manifest, replay: Replay | EvidenceReplay, *, bundle_id: Sha256
) -> bytes:
    """The statement about this manifest that has the replayer's word on their own machine from `replay`."""
    properties = AGREED if isinstance(replay, Replay) else AGREED[:1]
    shape = {
        **replay.to_shape(),
        "bundle_id": bundle_id,
        "evidence_id": manifest.evidence_id,
        "properties": list(properties),
    }
    return _statement(Uri.SVR, type(replay).from_shape(shape), manifest, bundle_id)


def read_replay(statement: Statement) -> Replay | EvidenceReplay:
    """The predicate of a `replayed` statement, of either version.

    Raises:
        FormatError: it is of neither.
    """
    predicate = statement.predicate
    verifier = predicate.get("verifier") if isinstance(predicate, dict) else None
    if verifier == {"id": Uri.EVIDENCE_VERIFIER.value}:
        return EvidenceReplay.from_shape(predicate)
    return Replay.from_shape(predicate)


def read_account(statement: Statement) -> str | None:
    """Whose account the signer of a `recorded` statement says is theirs; None for what is no account, too."""
    said = statement.predicate.get("signer") if isinstance(statement.predicate, dict) else None
    return said if isinstance(said, str) and is_account(said) else None


def is_account(text: str) -> bool:
    """Whether it is written as an `Account`."""
    return _ACCOUNT.fullmatch(text) is not None and len(text) <= len(GITHUB) + 39


_ACCOUNT = re.compile(r"github:[A-Za-z0-9](?:-?[A-Za-z0-9])*", re.ASCII)


def _subject(name: str, sha256: Sha256) -> dict[str, Any]:  # Any: a JSON document
    """The shape of a `Resource`."""
    return {"name": name, "digest": {"sha256": sha256}}


def _statement(role: Uri, predicate: Wire, manifest: Manifest, bundle_id: Sha256) -> bytes:
    document: dict[str, Any] = {  # Any: a JSON document
        "_type": Uri.STATEMENT.value,
        "subject": [
            _subject("manifest.json", bundle_id),
            _subject(manifest.target.wheel, manifest.target.sha256),
        ],
        "predicateType": role.value,
        "predicate": predicate.to_shape(),
    }
    return encode(document)
