"""What the conformance vectors are: each one bundle, how a reader looks at it, and what must be said."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentproof.bundle.store import zip_bytes
from tests import forge
from tests import vector_makers as make
from tests.forgeries import ORIGINAL

WHEEL = forge.WHEEL_NAME
LEFT_OUT = ("approval-respected", "state-integrity")
"""What the forged bundle violates."""
READERS: dict[str, dict[str, Any]] = {
    "trusting": {"trust": "trust/reporter", "wheel": WHEEL},
    "without trust": {"wheel": WHEEL},
    "without a source": {"trust": "trust/reporter"},
    "trusting another": {"trust": "trust/another", "wheel": WHEEL},
    "trusting for endorsements only": {"trust": "trust/endorsing", "wheel": WHEEL},
    "trusting until last year": {"trust": "trust/expired", "wheel": WHEEL},
    "trusting a revoked key": {"trust": "trust/reporter", "revoked": "trust/revoked", "wheel": WHEEL},
    "demanding a replay": {"trust": "trust/both", "threshold": {"replayed": 1}, "wheel": WHEEL},
    "accepting replays": {"trust": "trust/another", "accept": ["replayed"], "wheel": WHEEL},
    "accepting endorsements": {"trust": "trust/another", "accept": ["endorsed"], "wheel": WHEEL},
    "demanding two replays": {"trust": "trust/both", "threshold": {"replayed": 2}, "wheel": WHEEL},
}


@dataclass(frozen=True)
class Vector:
    """One folder."""

    name: str
    why: str
    """What is wrong, or why nothing is; the folder's README."""
    make: Callable[[], bytes]
    status: str
    reader: str = "trusting"
    check: str | None = None
    reason: str | None = None
    verdict: str | None = None
    """What a checker that evaluates claims concludes, where that is not what the manifest says."""
    beyond: tuple[str, ...] = ()
    """Claims that such a checker finds violated and the manifest does not have in their version."""


VECTORS = [
    Vector("valid", "Nothing is wrong. The bundle shows a violation.", make.as_zip(ORIGINAL), "CURRENT"),
    Vector(
        "valid-holds",
        "Nothing is wrong. The bundle shows that every claim holds.",
        lambda: zip_bytes(forge.draft(holds=True).seal()),
        "CURRENT",
    ),
    Vector(
        "valid-without-wheel",
        "The wheel may be left out; the reader's own wheel of the same digest stands in for it.",
        lambda: zip_bytes(make.detached()),
        "CURRENT",
    ),
    Vector(
        "valid-endorsed",
        "A second attestation, by another key.",
        lambda: zip_bytes(make.endorsed()),
        "CURRENT",
    ),
    Vector(
        "valid-replayed",
        "Somebody else saw all of it again: judgement, conduct and every event. The reader demands one such "
        "replay.",
        lambda: zip_bytes(make.replayed(forge.MAINTAINER)),
        "CURRENT",
        "demanding a replay",
    ),
    Vector(
        "valid-replayed-without-bodies",
        "The same on a machine that cannot see functions' bodies, which the statement says.",
        lambda: zip_bytes(make.replayed(forge.MAINTAINER, bodies=False)),
        "CURRENT",
        "demanding a replay",
    ),
    Vector(
        "replayed-evidence-alone",
        "A replay of the first version, `replay-v0`, compared the evidence and nothing else. It is read, and "
        "counts towards no threshold.",
        lambda: zip_bytes(make.replayed(forge.MAINTAINER, evidence_alone=True)),
        "UNTRUSTED",
        "demanding a replay",
        "signature",
        "threshold",
    ),
    Vector(
        "replayed-alone",
        "The reader trusts who replayed it, and nobody who recorded it.",
        lambda: zip_bytes(make.replayed_by_another()),
        "UNTRUSTED",
        "trusting another",
        "signature",
        "not_accepted",
    ),
    Vector(
        "replayed-alone-accepted",
        "The same, for a reader who takes a replay for enough.",
        lambda: zip_bytes(make.replayed_by_another()),
        "CURRENT",
        "accepting replays",
    ),
    Vector(
        "endorsed-alone",
        "The reader trusts who endorsed it, and nobody who recorded it.",
        lambda: zip_bytes(make.endorsed_by_another()),
        "UNTRUSTED",
        "trusting another",
        "signature",
        "not_accepted",
    ),
    Vector(
        "endorsed-alone-accepted",
        "The same, for a reader who takes an endorsement for enough.",
        lambda: zip_bytes(make.endorsed_by_another()),
        "CURRENT",
        "accepting endorsements",
    ),
    Vector(
        "valid-evidence",
        "What the evidence id leaves out, renames and writes in another way: usage details, generated ids, "
        "labels, floats, large integers, keys that begin with `$`, values that became null or another type.",
        lambda: zip_bytes(make.every_rule_of_the_evidence()),
        "CURRENT",
    ),
    Vector(
        "valid-expectations",
        "What the reporter expects is judged before all else, and is part of the evidence (projection 2).",
        lambda: zip_bytes(forge.draft_of_expectations().seal()),
        "CURRENT",
    ),
    Vector(
        "valid-live",
        "A provider was asked twice; its answers are a member. Times and request ids in it are no evidence.",
        make.live(),
        "CURRENT",
    ),
    Vector(
        "valid-live-not-the-provider",
        "A server on loopback answered in the provider's place, which the manifest says.",
        make.live(to="http://127.0.0.1:4010"),
        "CURRENT",
    ),
    Vector(
        "live-answered-for-another-question",
        "Nothing is forged: a model was given the answer to another question than it asked. Then the bundle "
        "is inconclusive.",
        make.live({"mode": "as-written", "exchange": 1, "by": "shape"}),
        "CURRENT",
    ),
    Vector(
        "live-other-answers",
        "A letter of what the provider answered was changed; the evidence id was kept.",
        make.live(change=make.another_letter),
        "INVALID",
        check="claims",
        reason="other_evidence",
    ),
    Vector(
        "live-other-host",
        "The manifest says that another provider answered than the recorded answers do.",
        make.live(change=make.another_host),
        "INVALID",
        check="encoding",
        reason="malformed",
    ),
    Vector(
        "expectation-removed",
        "One of several expectations was removed, with its claims; the evidence id was kept.",
        lambda: zip_bytes(make.without_an_expectation()),
        "INVALID",
        check="claims",
        reason="other_evidence",
    ),
    Vector(
        "valid-nobody-trusted", "The reader names nobody.", make.as_zip(ORIGINAL), "INTACT", "without trust"
    ),
    Vector(
        "valid-no-source",
        "The reader holds no wheel, lock or checkout: the attached wheel proves nothing.",
        make.as_zip(ORIGINAL),
        "INTACT",
        "without a source",
    ),
    Vector(
        "untrusted-signer",
        "The reader trusts somebody else.",
        make.as_zip(ORIGINAL),
        "UNTRUSTED",
        "trusting another",
        "signature",
        "untrusted",
    ),
    Vector(
        "untrusted-role",
        "The reader trusts this key, but with endorsements only (`namespaces`).",
        make.as_zip(ORIGINAL),
        "UNTRUSTED",
        "trusting for endorsements only",
        "signature",
        "untrusted",
    ),
    Vector(
        "expired-signer",
        "The reader trusted this key only before 2025 (`valid-before`).",
        make.as_zip(ORIGINAL),
        "UNTRUSTED",
        "trusting until last year",
        "signature",
        "untrusted",
    ),
    Vector(
        "revoked-signer",
        "The reader trusts this key in one file and revokes it, by its fingerprint, in another.",
        make.as_zip(ORIGINAL),
        "UNTRUSTED",
        "trusting a revoked key",
        "signature",
        "untrusted",
    ),
    Vector(
        "threshold-not-reached",
        "The reader demands replays by two people; there is one.",
        lambda: zip_bytes(make.replayed(forge.MAINTAINER)),
        "UNTRUSTED",
        "demanding two replays",
        "signature",
        "threshold",
    ),
    Vector(
        "replayed-other-evidence",
        "A replay that saw other evidence, signed all the same.",
        lambda: zip_bytes(make.replayed(forge.MAINTAINER, evidence="0" * 64)),
        "INVALID",
        "without trust",
        "signature",
        "other_statement",
    ),
    Vector(
        "state-number-spelled-otherwise",
        "A state holds 7e-1, which is written 0.7.",
        make.changed_state(lambda data: data.replace(b"0.7", b"7e-1")),
        "INVALID",
        "without trust",
        "encoding",
        "not_canonical",
    ),
    Vector(
        "state-keys-not-sorted",
        "A state's keys are in another order.",
        make.changed_state(make.in_another_order),
        "INVALID",
        "without trust",
        "encoding",
        "not_canonical",
    ),
    Vector(
        "trace-default-written-out",
        "`interruptions` is empty and must be left out.",
        make.changed_trace(lambda trace: trace["events"][-3].update(interruptions=[])),
        "INVALID",
        "without trust",
        "encoding",
        "not_canonical",
    ),
    Vector(
        "trace-after-written-out",
        "`after` says what its absence says.",
        make.changed_trace(lambda trace: trace["events"][5].update(after=[5])),
        "INVALID",
        "without trust",
        "encoding",
        "malformed",
    ),
    Vector(
        "zip-short-name",
        "On Windows `MANIFE~1.JSO` is another name of `manifest.json`.",
        make.short_name,
        "INVALID",
        check="members",
        reason="unsafe_path",
    ),
    Vector(
        "wheel-hidden-record",
        "A record of the wheel is not in its directory: readers of streams find a file more.",
        make.hidden_record,
        "INVALID",
        "without trust",
        "source",
        "bad_wheel",
    ),
    Vector(
        "zip-trailing-byte",
        "One byte after the end record.",
        make.changed_zip(lambda raw: raw + b"\0"),
        "INVALID",
        check="members",
        reason="not_canonical",
    ),
    Vector(
        "zip-bytes-before",
        "Bytes before the first record: a zip reader that looks from the end would not see them.",
        make.changed_zip(lambda raw: b"#!/bin/sh\n" + raw),
        "INVALID",
        check="members",
        reason="not_a_zip",
    ),
    Vector(
        "zip-data-between-records",
        "Bytes between two records.",
        make.changed_zip(make.between),
        "INVALID",
        check="members",
        reason="not_canonical",
    ),
    Vector(
        "zip-case-collision",
        "`A.py` and `a.py` are one file on some systems.",
        make.case_collision,
        "INVALID",
        check="members",
        reason="colliding_paths",
    ),
    Vector(
        "manifest-white-space",
        "The manifest ends with one more line feed.",
        make.changed_manifest(lambda raw: raw + b"\n"),
        "INVALID",
        check="members",
        reason="not_canonical",
    ),
    Vector(
        "manifest-duplicate-key",
        "A key is there twice: readers disagree about which one counts.",
        make.changed_manifest(lambda raw: raw.replace(b"{\n", b'{\n  "conduct": {},\n', 1)),
        "INVALID",
        check="members",
        reason="not_canonical",
    ),
    Vector(
        "manifest-version-is-false",
        "The format's version is the number 0; some readers take `false` for it.",
        make.changed_manifest(lambda raw: raw.replace(b'"version": 0\n', b'"version": false\n')),
        "INVALID",
        check="members",
        reason="malformed",
    ),
    Vector(
        "manifest-default-written-out",
        "`allowed` has its default and must be left out.",
        make.with_default,
        "INVALID",
        check="members",
        reason="not_canonical",
    ),
    *(
        Vector(folder, why, make.forgery(name), "INVALID", "without trust", check, reason)
        for folder, name, check, reason, why in (
            (
                "newer-schema",
                "another schema",
                "members",
                "unknown_version",
                "A schema that this page does not describe.",
            ),
            (
                "member-unlisted",
                "a file that the manifest does not list",
                "members",
                "unlisted",
                "A file beside the members.",
            ),
            ("member-missing", "a member deleted", "members", "missing", "A member is not there."),
            (
                "member-of-another-bundle",
                "a member of another bundle",
                "members",
                "other_bytes",
                "A trace of another bundle.",
            ),
            (
                "trace-unknown-event",
                "an event of an unknown kind",
                "encoding",
                "malformed",
                "The vocabulary is closed.",
            ),
            ("two-signatures", "two signatures", "encoding", "malformed", "An envelope holds one signature."),
            (
                "bad-signature",
                "a key in the keyid that did not sign",
                "encoding",
                "bad_signature",
                "`keyid` names a key that did not sign.",
            ),
            (
                "other-name",
                "an attestation under another signer's name",
                "encoding",
                "other_name",
                "The file name belongs to another key.",
            ),
            ("no-attestation", "attestations deleted", "signature", "no_attestation", "Nobody signed."),
            (
                "signature-of-another-bundle",
                "the signature of another bundle",
                "signature",
                "other_statement",
                "A good signature, of another manifest.",
            ),
            (
                "statement-that-passed",
                "a statement that passed",
                "signature",
                "other_statement",
                "The statement says PASSED, the manifest `violated`.",
            ),
            (
                "endorsed-only",
                "an endorsement instead of a recording",
                "signature",
                "not_recorded",
                "An endorsement says nothing about execution.",
            ),
            (
                "other-lock",
                "lock downgraded in the manifest alone",
                "environment",
                "other_lock",
                "`pylock.toml` is not what the environment renders to.",
            ),
            (
                "wheel-record-false",
                "wheel changed, its RECORD kept",
                "source",
                "bad_record",
                "A file of the wheel is not as RECORD says.",
            ),
            (
                "wheel-record-incomplete",
                "wheel changed, RECORD without the file",
                "source",
                "bad_record",
                "A file that RECORD does not list.",
            ),
            (
                "module-of-another-file",
                "digests of two modules exchanged",
                "source",
                "other_module",
                "A loaded module is not that file of the wheel.",
            ),
            (
                "trace-of-another-script",
                "another entry",
                "claims",
                "other_run",
                "The trace is of another entry.",
            ),
            (
                "state-unreferenced",
                "a state that nobody refers to",
                "claims",
                "unlisted",
                "A state that no event refers to.",
            ),
            (
                "other-evidence",
                "evidence id",
                "claims",
                "other_evidence",
                "The evidence id does not follow from the traces.",
            ),
            (
                "other-verdict",
                "verdict changed",
                "claims",
                "other_verdict",
                "The verdict does not follow from the traces.",
            ),
            (
                "other-title",
                "another title",
                "claims",
                "other_header",
                "The title is not that of the script's header.",
            ),
        )
    ),
    Vector(
        "claims-left-out",
        "The violated claims were removed and the verdict with them: whoever made it may not have known "
        "these rules. A checker that has them judges them too.",
        make.forgery("violated claims removed"),
        "INTACT",
        "without trust",
        verdict="violated",
        beyond=LEFT_OUT,
    ),
    Vector(
        "claims-of-a-version-to-come",
        "The violated claims are said to hold by version 99 of their rules. They are not recomputed and "
        "count for nothing; a checker judges the versions that it has.",
        make.by_the_reporter("violated claims of a version to come"),
        "INTACT",
        verdict="violated",
        beyond=LEFT_OUT,
    ),
    Vector(
        "wheel-under-a-releases-name",
        "A changed wheel with a true RECORD under the name of a release, with every id computed again, "
        "signed by somebody whom the reader trusts. Only the reader's own wheel tells.",
        lambda: zip_bytes(make.changed_wheel()),
        "STALE",
        check="source",
        reason="other_source",
    ),
]
