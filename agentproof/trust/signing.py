"""Keys and signatures: Ed25519, in the forms that OpenSSH writes, over DSSE envelopes.

1. An envelope holds one signature; its `keyid` is the signer's public key itself, so that a
   signature can be verified before anybody is trusted. Whom to trust is for `trust` to say.
2. The payload that was verified is returned as it was received; nothing is encoded again between.
3. Base64 is accepted in its canonical form; a key's blob holds one key of 32 bytes and nothing else.
4. A file name under `attestations/` is `<role>-<key>.json`, <key> being the first 16 hexadecimal
   digits of the SHA-256 of the raw public key.
"""

import base64
import binascii
import hashlib
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ..errors import BundleError, CannotDoError, TrustError, UsageError
from ..limits import MAX_ATTESTATION_BYTES, MAX_KEY_BYTES
from ..models.manifest import Manifest
from ..models.statement import (
    Envelope,
    Role,
    Signature,
    Uri,
    build_endorsed_statement,
    build_recorded_statement,
)
from ..system.files import read_bounded, write_atomic

KEY_TYPE = "ssh-ed25519"
_TYPE_BLOB = struct.pack(">I", len(KEY_TYPE)) + KEY_TYPE.encode("ascii")
_RAW_LENGTH = 32
_FIELD_PRIME = 2**255 - 19

_MAX_AROUND = 1024
"""What an envelope holds beside its payload."""

Passphrase = Callable[[str], bytes]
"""Asks for the passphrase of the key file that it is given the name of."""


@dataclass(frozen=True)
class PublicKey:
    """An Ed25519 public key."""

    raw: bytes

    @property
    def blob(self) -> bytes:
        """The key as SSH sends it (RFC 8709, section 4)."""
        return _TYPE_BLOB + struct.pack(">I", _RAW_LENGTH) + self.raw

    @property
    def line(self) -> str:
        """The OpenSSH public key line, without a comment."""
        return f"{KEY_TYPE} {base64.b64encode(self.blob).decode('ascii')}"

    @cached_property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it."""
        digest = hashlib.sha256(self.blob).digest()
        return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")

    @property
    def short(self) -> str:
        """The part of an attestation's file name that names its signer."""
        return hashlib.sha256(self.raw).hexdigest()[:16]

    @classmethod
    def from_line(cls, line: str) -> "PublicKey":
        """The key in `ssh-ed25519 AAAA… [comment]`.

        Raises:
            TrustError: another type of key, or not well formed.
        """
        kind, encoded, *_ = [*line.split(None, 2), "", ""]
        if kind != KEY_TYPE:
            raise TrustError(f"a key of type {kind[:40]!r}; agentproof reads {KEY_TYPE}")
        blob = _strict_base64(encoded)
        if blob is None or blob[:-_RAW_LENGTH] != _TYPE_BLOB + struct.pack(">I", _RAW_LENGTH):
            raise TrustError(f"not a well-formed {KEY_TYPE} key: {line.strip()[:60]!r}")
        return cls(blob[-_RAW_LENGTH:])

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether this key made `signature` over `message`."""
        if _is_degenerate(self.raw):
            return False
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except InvalidSignature:
            return False
        return True


class PrivateKey(Protocol):
    """Something that signs: a key in memory, or one that an agent keeps."""

    @property
    def public(self) -> PublicKey:
        """The public half."""

    @property
    def says(self) -> str | None:
        """Whose account its holder says it is: `github:USER`."""

    def saying(self, account: str) -> "PrivateKey":
        """The same key, whose holder says that."""

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes of the signature."""


class HeldKey:
    """A private key in memory."""

    def __init__(self, key: Ed25519PrivateKey, *, says: str | None = None) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw())
        self.says = says

    def saying(self, account: str) -> "HeldKey":
        """The same key, whose holder says that it is this account's."""
        return HeldKey(self._key, says=account)

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes of the signature."""
        return self._key.sign(message)

    def to_openssh(self) -> bytes:
        """The unencrypted private key file, as `ssh-keygen` writes it."""
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 (50 ms; checks need none)

        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )


def generate_key() -> HeldKey:
    """A new key."""
    return HeldKey(Ed25519PrivateKey.generate())


def generate_key_file(path: Path, *, comment: str = "") -> PublicKey:
    """Make a key and write it to `path`, for its owner only, and its public half to `path`.pub.

    Raises:
        UsageError: there is something at `path` already; a key is never written over.
        CannotDoError: the place cannot be written.
    """
    public = path.with_name(path.name + ".pub")
    for each in (path, public):
        if os.path.lexists(each):
            raise UsageError(f"{each} exists", hint="a key is never written over: choose another name")
    key = generate_key()
    write_atomic(path, key.to_openssh(), mode=0o600)
    write_atomic(public, f"{key.public.line} {comment}".rstrip().encode("utf-8") + b"\n")
    return key.public


def config_dir() -> Path:
    """Where the user's own key and trust are kept: AGENTPROOF_CONFIG_DIR, else the system's place for it."""
    chosen = os.environ.get("AGENTPROOF_CONFIG_DIR")
    if chosen:
        return Path(chosen).absolute()
    import platformdirs  # noqa: PLC0415 (10 ms that a caller with its own directory need not spend)

    return platformdirs.user_config_path("agentproof-bundles")


def default_key_path() -> Path:
    """The user's own key, which may not be there yet."""
    return config_dir() / "key"


def load_private_key(path: Path, *, passphrase: Passphrase | None = None) -> HeldKey:
    """The Ed25519 private key in an OpenSSH or PEM file.

    Raises:
        UsageError: there is no such file.
        TrustError: another type of key, a passphrase that is missing or wrong, or no private key.
    """
    data = read_bounded(path, limit=MAX_KEY_BYTES, what="key")
    key = _load(data, path, None)
    if key is None:
        if passphrase is None:
            raise TrustError(
                f"{path} is protected by a passphrase",
                hint="name a variable that holds it, use ssh-agent, or give a key without one",
            )
        key = _load(data, path, passphrase(str(path)))
    if not isinstance(key, Ed25519PrivateKey):
        kind = type(key).__name__.removesuffix("PrivateKey").lstrip("_")
        raise TrustError(
            f"{path} holds a {kind} key", hint="agentproof signs with Ed25519: agentproof keygen"
        )
    return HeldKey(key)


def _load(data: bytes, path: Path, passphrase: bytes | None) -> object | None:
    """The key, or None where it needs a passphrase."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 (50 ms; checks need none)

    openssh = b"BEGIN OPENSSH PRIVATE KEY" in data
    load = serialization.load_ssh_private_key if openssh else serialization.load_pem_private_key
    try:
        return load(data, passphrase)
    except TypeError as error:  # cryptography's word for "encrypted, but no password given"
        if passphrase is None:
            return None
        raise TrustError(f"{path}: {error}") from error
    except UnsupportedAlgorithm as error:
        raise TrustError(f"{path}: {error}") from error
    except ValueError as error:
        if passphrase is not None:
            raise TrustError(f"{path}: the passphrase does not open it") from error
        if data.startswith((b"ssh-", b"-----BEGIN PUBLIC")):
            raise TrustError(f"{path} is a public key", hint="give the private one") from error
        raise TrustError(
            f"{path} is no private key in OpenSSH or PEM form", hint="agentproof keygen makes one"
        ) from error


_AROUND = 2**10
"""More than an envelope takes beside its payload."""


def sign_statement(statement: bytes, key: PrivateKey) -> bytes:
    """The envelope of `statement`, signed with `key`.

    Raises:
        CannotDoError: it names more files and claims than an attestation holds.
    """
    payload = base64.b64encode(statement).decode("ascii")
    if len(payload) + _AROUND > MAX_ATTESTATION_BYTES:
        raise CannotDoError(
            f"no bundle can hold this recording: its attestation names each file and claim and has "
            f"{len(payload) + _AROUND} bytes, over the limit of {MAX_ATTESTATION_BYTES}",
            hint="let the script use fewer files, or check and observe less: a reproduction is short",
        )
    signature = key.sign(_pre_authentication(Uri.PAYLOAD, statement))
    return Envelope(
        payload=payload,
        payloadType=Uri.PAYLOAD.value,
        signatures=(Signature(keyid=key.public.line, sig=base64.b64encode(signature).decode("ascii")),),
    ).to_bytes()


def verify_envelope(raw: bytes, *, path: str | None = None) -> tuple[PublicKey, bytes]:
    """The signer and the payload of an envelope whose signature is good; trusts nobody.

    Raises:
        BundleError: not one envelope in the canonical encoding, or the signature does not verify.
    """
    envelope = Envelope.from_bytes(raw)
    (signature,) = envelope.signatures
    payload, sig = _strict_base64(envelope.payload), _strict_base64(signature.sig)
    if payload is None or sig is None:
        raise BundleError("not_canonical", "base64 that is not canonical", path=path)
    try:
        key = PublicKey.from_line(signature.keyid)
    except TrustError as error:
        raise BundleError("malformed", f"keyid: {error.message}", path=path) from error
    if key.line != signature.keyid:
        raise BundleError("not_canonical", "keyid is not the key's one line", path=path)
    if not key.verifies(sig, _pre_authentication(envelope.payloadType, payload)):
        raise BundleError("bad_signature", f"the signature is not by {key.fingerprint}", path=path)
    return key, payload


def attestation_name(role: Role, key: PublicKey) -> str:
    """The file name below `attestations/`."""
    return f"{role}-{key.short}.json"


def attest_recorded(manifest: bytes, key: PrivateKey) -> tuple[str, bytes]:
    """The file name and the envelope that `record` adds to a bundle with this manifest."""
    statement = build_recorded_statement(
        Manifest.from_bytes(manifest), bundle_id=_sha256(manifest), signer=key.says
    )
    return attestation_name("recorded", key.public), sign_statement(statement, key)


def attest_endorsed(manifest: bytes, key: PrivateKey) -> tuple[str, bytes]:
    """The file name and the envelope that `sign` adds."""
    statement = build_endorsed_statement(Manifest.from_bytes(manifest), bundle_id=_sha256(manifest))
    return attestation_name("endorsed", key.public), sign_statement(statement, key)


def attest_replayed(statement: bytes, key: PrivateKey) -> tuple[str, bytes]:
    """The file name and the envelope that `replay` adds for a statement that it built."""
    return attestation_name("replayed", key.public), sign_statement(statement, key)


def _pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """PAE, the bytes that DSSE signs."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _strict_base64(text: str) -> bytes | None:
    if not text.isascii():
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    return data if base64.b64encode(data).decode("ascii") == text else None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _is_degenerate(raw: bytes) -> bool:
    """Whether this encodes a point for which one signature fits many messages, or encodes it oddly.

    RFC 8032 decodes no y of 2^255 - 19 and above; the eight points of small order are those with
    the y below and its negative (https://eprint.iacr.org/2020/1244, table 1).
    """
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    return y >= _FIELD_PRIME or y in _SMALL_ORDER


_SMALL_ORDER = frozenset(
    {
        0,
        1,
        _FIELD_PRIME - 1,
        2707385501144840649318225287225658788936804267575313519463743609750303402022,
        55188659117513257062467267217118295137698188065244968500265048394206261417927,
    }
)
