"""Writes `tests/conformance/`: `python -m tests.vectors`. A test holds the two together.

A vector is a bundle, how a reader looks at it, and what a checker must say. The bundles are forged, so
that they are small and the same in every run.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentproof._zip import stored_zip
from agentproof.models._wire import encode
from agentproof.signing import attest_endorsed
from agentproof.store import Bundle, zip_bytes
from tests import forge
from tests.forgeries import FORGERIES, ORIGINAL, forged

PLACE = Path(__file__).parent / "conformance"
READERS: dict[str, dict[str, str]] = {
    "trusting": {"trust": "trust/reporter", "wheel": forge.WHEEL_NAME},
    "without trust": {"wheel": forge.WHEEL_NAME},
    "without a source": {"trust": "trust/reporter"},
    "trusting another": {"trust": "trust/another", "wheel": forge.WHEEL_NAME},
    "trusting for endorsements only": {"trust": "trust/endorsing", "wheel": forge.WHEEL_NAME},
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


def _zip(bundle: Bundle) -> Callable[[], bytes]:
    return lambda: zip_bytes(bundle)


def _forged(name: str) -> Callable[[], bytes]:
    """A forgery of `tests/forgeries`, by its name there."""
    return lambda: zip_bytes(forged(next(each for each in FORGERIES if each.name == name)))


def _raw(change: Callable[[bytes], bytes]) -> Callable[[], bytes]:
    return lambda: change(zip_bytes(ORIGINAL))


def _manifest(change: Callable[[bytes], bytes]) -> Callable[[], bytes]:
    """Change the manifest's bytes and nothing else."""
    return lambda: zip_bytes(replace(ORIGINAL, manifest=change(ORIGINAL.manifest)))


def _between(raw: bytes) -> bytes:
    second = raw.index(b"PK\x03\x04", 4)
    return raw[:second] + b"hidden" + raw[second:]


def _detached() -> Bundle:
    members = {path: data for path, data in ORIGINAL.members.items() if not path.startswith("wheels/")}
    return replace(ORIGINAL, members=members)


def _endorsed() -> Bundle:
    more = dict([attest_endorsed(ORIGINAL.manifest, forge.MAINTAINER)])
    return replace(ORIGINAL, attestations={**ORIGINAL.attestations, **more})


def _with_default() -> bytes:
    draft = forge.draft()
    draft.manifest["conduct"] = {"allowed": False}
    return zip_bytes(draft.seal_unparsed())


def _case_collision() -> bytes:
    files = {"manifest.json": ORIGINAL.manifest, "A.py": b"", "a.py": b"", **ORIGINAL.members}
    return stored_zip(files.items())


VECTORS = [
    Vector("valid", "Nothing is wrong. The bundle shows a violation.", _zip(ORIGINAL), "CURRENT"),
    Vector(
        "valid-holds",
        "Nothing is wrong. The bundle shows that every claim holds.",
        lambda: zip_bytes(forge.draft(holds=True).seal()),
        "CURRENT",
    ),
    Vector(
        "valid-without-wheel",
        "The wheel may be left out; the reader's own wheel of the same digest stands in for it.",
        lambda: zip_bytes(_detached()),
        "CURRENT",
    ),
    Vector(
        "valid-endorsed", "A second attestation, by another key.", lambda: zip_bytes(_endorsed()), "CURRENT"
    ),
    Vector("valid-nobody-trusted", "The reader names nobody.", _zip(ORIGINAL), "INTACT", "without trust"),
    Vector(
        "valid-no-source",
        "The reader holds no wheel, lock or checkout: the attached wheel proves nothing.",
        _zip(ORIGINAL),
        "INTACT",
        "without a source",
    ),
    Vector(
        "untrusted-signer",
        "The reader trusts somebody else.",
        _zip(ORIGINAL),
        "UNTRUSTED",
        "trusting another",
        "signature",
        "untrusted",
    ),
    Vector(
        "untrusted-role",
        "The reader trusts this key, but with endorsements only (`namespaces`).",
        _zip(ORIGINAL),
        "UNTRUSTED",
        "trusting for endorsements only",
        "signature",
        "untrusted",
    ),
    Vector(
        "zip-trailing-byte",
        "One byte after the end record.",
        _raw(lambda raw: raw + b"\0"),
        "INVALID",
        check="members",
        reason="not_canonical",
    ),
    Vector(
        "zip-bytes-before",
        "Bytes before the first record: a zip reader that looks from the end would not see them.",
        _raw(lambda raw: b"#!/bin/sh\n" + raw),
        "INVALID",
        check="members",
        reason="not_a_zip",
    ),
    Vector(
        "zip-data-between-records",
        "Bytes between two records.",
        _raw(_between),
        "INVALID",
        check="members",
        reason="not_canonical",
    ),
    Vector(
        "zip-case-collision",
        "`A.py` and `a.py` are one file on some systems.",
        _case_collision,
        "INVALID",
        check="members",
        reason="colliding_paths",
    ),
    Vector(
        "manifest-white-space",
        "The manifest ends with one more line feed.",
        _manifest(lambda raw: raw + b"\n"),
        "INVALID",
        check="members",
        reason="not_canonical",
    ),
    Vector(
        "manifest-duplicate-key",
        "A key is there twice: readers disagree about which one counts.",
        _manifest(lambda raw: raw.replace(b"{\n", b'{\n  "conduct": {},\n', 1)),
        "INVALID",
        check="members",
        reason="not_canonical",
    ),
    Vector(
        "manifest-default-written-out",
        "`allowed` has its default and must be left out.",
        _with_default,
        "INVALID",
        check="members",
        reason="not_canonical",
    ),
    *(
        Vector(folder, why, _forged(name), "INVALID", "without trust", check, reason)
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
                "claims-left-out",
                "violated claims removed",
                "claims",
                "claims_left_out",
                "The violated claims were removed.",
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
        "wheel-under-a-releases-name",
        "A changed wheel with a true RECORD under the name of a release, with every id computed again, "
        "signed by somebody whom the reader trusts. Only the reader's own wheel tells.",
        lambda: zip_bytes(_changed_wheel()),
        "STALE",
        check="source",
        reason="other_source",
    ),
]


def _changed_wheel() -> Bundle:
    draft = forge.draft()
    next(each for each in FORGERIES if each.name == "wheel changed with its RECORD and all digests").make(
        draft
    )
    return draft.seal()


def files() -> Iterator[tuple[str, bytes]]:
    """Every generated file, by its path below `tests/conformance`."""
    yield "trust/reporter", f"reporter@example {forge.REPORTER.public.line}\n".encode()
    yield "trust/another", f"another@example {forge.MAINTAINER.public.line}\n".encode()
    options = 'namespaces="agentproof-endorsed"'
    yield "trust/endorsing", f"reporter@example {options} {forge.REPORTER.public.line}\n".encode()
    yield forge.WHEEL_NAME, forge.WHEEL
    for vector in VECTORS:
        expected: dict[str, Any] = {
            "reader": READERS[vector.reader],
            "status": vector.status,
            "failed": {"check": vector.check, "reason": vector.reason} if vector.check else None,
        }
        yield f"{vector.name}/bundle.zip", vector.make()
        yield f"{vector.name}/expected.json", encode(expected)
        said = f"{vector.status}" + (
            f": `{vector.check}` fails with `{vector.reason}`" if vector.check else ""
        )
        reader = f"Reader: {vector.reader} ({json.dumps(READERS[vector.reader])})."
        yield f"{vector.name}/README.md", f"# {vector.name}\n\n{vector.why}\n\n{reader}\n\n{said}.\n".encode()


def main() -> None:
    """Write the vectors anew."""
    for old in PLACE.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
    for path, data in files():
        place = PLACE / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


if __name__ == "__main__":
    main()
