"""Forged signatures and statements."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agentproof.bundle.store import Bundle, bundle_id
from agentproof.models.manifest import Manifest
from agentproof.models.statement import Uri, build_endorsed_statement, build_recorded_statement
from agentproof.models.wire import encode
from agentproof.trust.signing import (
    HeldKey,
    attest_endorsed,
    attest_recorded,
    attestation_name,
    sign_statement,
)
from tests import forge
from tests.forge import Shape
from tests.forgeries._tools import ORIGINAL, OTHER, Forger, Forgery, on_bundle


def attested(make: Callable[[Bundle], dict[str, bytes]]) -> Forger:
    return on_bundle(lambda bundle: replace(bundle, attestations=make(bundle)))


def _statement(
    change: Callable[[Shape], object], key: HeldKey = forge.STRANGER, role: Any = "recorded"
) -> Forger:
    def make(bundle: Bundle) -> dict[str, bytes]:
        manifest = Manifest.from_bytes(bundle.manifest)
        shape = json.loads(build_recorded_statement(manifest, bundle_id=bundle_id(bundle)))
        change(shape)
        return {attestation_name(role, key.public): sign_statement(encode(shape), key)}

    return attested(make)


def _endorsed_statement(bundle: Bundle) -> bytes:
    return build_endorsed_statement(Manifest.from_bytes(bundle.manifest), bundle_id=bundle_id(bundle))


def first_of(attestations: dict[str, bytes] | Any) -> bytes:
    return next(iter(attestations.values()))


def _envelope(**changes: object) -> Forger:
    def make(bundle: Bundle) -> dict[str, bytes]:
        (name, raw) = next(iter(bundle.attestations.items()))
        return {name: encode({**json.loads(raw), **changes})}

    return attested(make)


FORGERIES = [
    Forgery(
        "an account that is none",
        _statement(lambda shape: shape["predicate"].update(signer="bob@example.org")),
        "other_statement",
    ),
    Forgery("attestations deleted", attested(lambda _bundle: {}), "no_attestation"),
    Forgery(
        "the signature of another bundle",
        attested(lambda _bundle: dict(OTHER.attestations)),
        "other_statement",
    ),
    Forgery(
        "an envelope of another bundle beside the own one",
        attested(
            lambda bundle: {**bundle.attestations, **dict([attest_recorded(OTHER.manifest, forge.STRANGER)])}
        ),
        "other_statement",
    ),
    Forgery(
        "an endorsement under the name of a recording",
        attested(
            lambda bundle: {
                attestation_name("recorded", forge.STRANGER.public): sign_statement(
                    _endorsed_statement(bundle), forge.STRANGER
                )
            }
        ),
        "other_name",
    ),
    Forgery(
        "an endorsement instead of a recording",
        attested(lambda bundle: dict([attest_endorsed(bundle.manifest, forge.STRANGER)])),
        "not_recorded",
    ),
    Forgery(
        "an attestation under another signer's name",
        attested(
            lambda bundle: {
                attestation_name("recorded", forge.MAINTAINER.public): first_of(bundle.attestations)
            }
        ),
        "other_name",
    ),
    Forgery(
        "a key in the keyid that did not sign",
        _envelope(
            signatures=[
                {
                    "keyid": forge.STRANGER.public.line,
                    "sig": json.loads(first_of(ORIGINAL.attestations))["signatures"][0]["sig"],
                }
            ]
        ),
        "bad_signature",
    ),
    Forgery(
        "two signatures",
        _envelope(signatures=json.loads(first_of(ORIGINAL.attestations))["signatures"] * 2),
        "malformed",
    ),
    Forgery("a payload of another type", _envelope(payloadType="text/plain"), "malformed"),
    Forgery(
        "a payload with another ending",
        _envelope(payload=base64.b64encode(b"{}\n").decode()),
        "bad_signature",
    ),
    Forgery(
        "a statement that passed",
        _statement(lambda shape: shape["predicate"].update(result="PASSED")),
        "other_statement",
    ),
    Forgery(
        "a statement without its failed tests",
        _statement(lambda shape: shape["predicate"].update(failedTests=[])),
        "other_statement",
    ),
    Forgery(
        "a statement about another manifest",
        _statement(lambda shape: shape["subject"][0]["digest"].update(sha256="0" * 64)),
        "other_statement",
    ),
    Forgery(
        "a statement about another wheel", _statement(lambda shape: shape["subject"].pop()), "other_statement"
    ),
    Forgery(
        "a statement with a subject more",
        _statement(lambda shape: shape["subject"].append(shape["subject"][0])),
        "other_statement",
    ),
    Forgery(
        "a statement about other evidence",
        _statement(lambda shape: shape["predicate"].update(evidence_id="0" * 64)),
        "other_statement",
    ),
    Forgery(
        "a statement with a field more",
        _statement(lambda shape: shape["predicate"].update(url="https://example.org")),
        "other_statement",
    ),
    Forgery(
        "a statement of an unknown role",
        _statement(lambda shape: shape.update(predicateType="https://example.org")),
        "unknown_role",
    ),
    Forgery(
        "a recording called a replay",
        _statement(
            lambda shape: shape.update(predicateType="https://in-toto.io/attestation/svr/v0.1"),
            role="replayed",
        ),
        "malformed",
    ),
    Forgery(
        "a recording called an endorsement",
        _statement(
            lambda shape: shape.update(predicateType=Uri.ENDORSED.value),
            role="endorsed",
        ),
        "other_statement",
    ),
    Forgery(
        "a statement of another in-toto version",
        _statement(lambda shape: shape.update(_type="https://in-toto.io/Statement/v0.1")),
        "malformed",
    ),
]
