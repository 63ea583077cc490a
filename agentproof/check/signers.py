"""Step 3 of `check`: attestations, what they must say, and who made them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..bundle.store import ATTESTATIONS, Bundle
from ..errors import BundleError
from ..models.diff import diff
from ..models.manifest import Manifest
from ..models.report import Covers, Signer
from ..models.statement import (
    ROLES,
    Replay,
    Role,
    Statement,
    build_endorsed_statement,
    build_recorded_statement,
    build_replayed_statement,
    read_account,
    read_replay,
)
from ..trust.allowed_signers import UNKNOWN, Trust, is_same, people
from ..trust.signing import PublicKey, attestation_name, verify_envelope
from .members import at
from .reporting import Outcome


@dataclass(frozen=True)
class Attestation:
    """An attestation whose signature is good."""

    path: str
    role: Role
    key: PublicKey
    covers: Covers
    statement: Statement
    payload: bytes


def parse_attestations(bundle: Bundle) -> list[Attestation]:
    """The attestations, each one good signature in the canonical encoding under its own name."""
    return [_parse_attestation(name, raw) for name, raw in sorted(bundle.attestations.items())]


def _parse_attestation(name: str, raw: bytes) -> Attestation:
    path = ATTESTATIONS + name
    with at(path):
        key, payload = verify_envelope(raw, path=path)
        statement = Statement.from_bytes(payload)
    role = ROLES.get(statement.predicateType)
    if role is None:
        raise BundleError("unknown_role", f"predicateType {statement.predicateType!r}", path=path)
    if name != attestation_name(role, key):
        raise BundleError("other_name", f"it belongs under {attestation_name(role, key)}", path=path)
    covers = _COVERS[role]
    if role == "replayed":
        with at(path):
            replay = read_replay(statement)
        if not isinstance(replay, Replay):
            covers = "evidence"
        elif replay.not_captured:
            covers = "observations_but_bodies"
    return Attestation(path, role, key, covers, statement, payload)


_COVERS: Mapping[Role, Covers] = {
    "recorded": "recording",
    "replayed": "observations",
    "endorsed": "endorsement",
}


def check_statement(attestation: Attestation, manifest: Manifest, bundle_id: str) -> None:
    """The statement is the one that this manifest gives for its role, byte for byte."""
    match attestation.role:
        case "recorded":
            said = read_account(attestation.statement)
            expected = build_recorded_statement(manifest, bundle_id=bundle_id, signer=said)
        case "endorsed":
            expected = build_endorsed_statement(manifest, bundle_id=bundle_id)
        case "replayed":
            replay = read_replay(attestation.statement)
            expected = build_replayed_statement(manifest, replay, bundle_id=bundle_id)
    if attestation.payload != expected:
        wanted = Statement.from_bytes(expected).to_shape()
        change = next(diff(wanted, attestation.statement.to_shape()), None)
        where = change.pointer if change else "its encoding"
        raise BundleError("other_statement", f"signed about something else ({where})", path=attestation.path)


def judge_signer(attestation: Attestation, trust: Trust, at: datetime) -> Signer:
    """What the reader's trust says about who made an attestation."""
    judged = trust.judge(attestation.key, attestation.role, at)
    said = read_account(attestation.statement) if attestation.role == "recorded" else None
    return Signer(
        role=attestation.role,
        key=attestation.key.line,
        fingerprint=attestation.key.fingerprint,
        principals=judged.principals,
        covers=attestation.covers,
        detail=judged.reason,
        says=said,
        known_otherwise=said is not None and not judged.principals and trust.knows(said),
    )


def counted(signers: Iterable[Signer]) -> list[Signer]:
    """The trusted signers whose signature counts: one that compared the evidence alone does not."""
    return [signer for signer in signers if signer.principals and signer.covers != "evidence"]


def rests_on(signers: Iterable[Signer]) -> Role | None:
    """The strongest role in which somebody trusted signed; None: nobody whose signature counts did."""
    roles = {signer.role for signer in counted(signers)}
    return next((role for role in ROLES.values() if role in roles), None)


def judge_signature(signers: Iterable[Signer], trust: Trust, *, accepted: Collection[Role]) -> Outcome:
    """What good signatures of these signers come to for this reader, who accepts these roles alone."""
    made = list(signers)
    role = rests_on(made)
    if role in accepted:
        return "passed", None, name_signers(counted(made))
    if role is not None:
        names = name_signers(counted(made))
        return "failed", "not_accepted", f"nobody whom you trust recorded it, only {names}"
    if trust.given or any(signer.detail == "revoked" for signer in made):
        return "failed", "untrusted", name_signers(made)
    return "not_made", "no_trust", name_signers(made)


def count_distinct(signers: Iterable[Signer]) -> int:
    """How many signers there are when no key and no person counts twice.

    The names of one line, and lines that share a name, are one person. A key may be known as several
    people and a person may hold several keys, so this is a matching: as many pairs as can be chosen
    without using either side again (Kuhn's algorithm).
    """
    made = list(signers)
    person = people(principals for signer in made for principals in signer.principals)
    names = {signer.key: tuple(person[each] for each in signer.principals) for signer in made}
    taken: dict[str, str] = {}

    def place(key: str, tried: set[str]) -> bool:
        for name in names[key]:
            if name in tried:
                continue
            tried.add(name)
            if name not in taken or place(taken[name], tried):
                taken[name] = key
                return True
        return False

    return sum(place(key, set()) for key in names)


def name_signers(signers: Iterable[Signer]) -> str:
    """The signers in one line for people."""
    made = list(signers)
    unknown = [signer for signer in made if not signer.principals and signer.detail == UNKNOWN]
    lines = [_named(signer) for signer in made if signer not in unknown]
    if unknown:
        keys = "; ".join(f"{signer.fingerprint}{says(signer)}" for signer in unknown)
        many = "a key" if len(unknown) == 1 else "keys"
        since = "it" if len(unknown) == 1 else "they"
        lines.append(
            f"signed by {many} that you do not know yet ({keys}): nothing was changed since {since} signed"
        )
    return "; ".join(lines)


def _named(signer: Signer) -> str:
    who = " and ".join(signer.principals) or "somebody"
    role = "" if signer.role == "recorded" else f"{signer.role} by "
    return f"{role}{who} (ed25519 {signer.fingerprint}{says(signer)}), {signer.detail}"


def says(signer: Signer) -> str:
    """Whose account it is by the signer's own word, where the reader does not know the key as theirs."""
    if signer.says is None or any(is_same(signer.says, name) for name in signer.principals):
        return ""
    if signer.known_otherwise:
        return f", says it is {signer.says}, but is none of the keys that you trust as that"
    return f", says it is {signer.says}"
