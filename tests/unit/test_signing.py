"""Keys and signatures: in OpenSSH's forms, over DSSE envelopes, one spelling each."""

import base64
import json
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from securesystemslib.dsse import Envelope as TheirEnvelope
from securesystemslib.signer._crypto_signer import CryptoSigner
from securesystemslib.signer._key import SSlibKey

from agentproof.errors import BundleError, TrustError, UsageError
from agentproof.models.manifest import Manifest
from agentproof.models.statement import Statement, Uri, build_recorded_statement
from agentproof.models.wire import encode
from agentproof.trust import signing
from tests import forge

BUNDLE = forge.draft().seal()
STATEMENT = build_recorded_statement(Manifest.from_bytes(BUNDLE.manifest), bundle_id="0" * 64)
ENVELOPE = signing.sign_statement(STATEMENT, forge.REPORTER)


def _write(path: Path, key: object, password: bytes | None = None, *, openssh: bool = True) -> Path:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    form = serialization.PrivateFormat.OpenSSH if openssh else serialization.PrivateFormat.PKCS8
    assert isinstance(key, ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey)
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, encryption))
    return path


def _bent(**changes: object) -> bytes:
    return encode({**json.loads(ENVELOPE), **changes})


def _resigned(**changes: object) -> bytes:
    (signature,) = json.loads(ENVELOPE)["signatures"]
    return _bent(signatures=[{**signature, **changes}])


def test_what_was_signed_verifies_and_comes_back_as_it_was() -> None:
    assert signing.verify_envelope(ENVELOPE) == (forge.REPORTER.public, STATEMENT)


def test_securesystemslib_verifies_our_envelope() -> None:
    theirs = TheirEnvelope.from_dict(
        {**json.loads(ENVELOPE), "signatures": [{**json.loads(ENVELOPE)["signatures"][0], "keyid": "k"}]}
    )
    public = ed25519.Ed25519PublicKey.from_public_bytes(forge.REPORTER.public.raw)
    assert theirs.verify([SSlibKey.from_crypto(public, "k")], 1)
    assert theirs.payload == STATEMENT


def test_we_verify_an_envelope_that_securesystemslib_signed() -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    signer = CryptoSigner(private)
    theirs = TheirEnvelope(STATEMENT, Uri.PAYLOAD.value, {})
    theirs.sign(signer)
    (signature,) = theirs.to_dict()["signatures"]
    key = signing.PublicKey(private.public_key().public_bytes_raw())
    raw = encode({**theirs.to_dict(), "signatures": [{**signature, "keyid": key.line}]})
    assert signing.verify_envelope(raw) == (key, STATEMENT)


def test_the_statement_has_the_shape_that_in_toto_publishes() -> None:
    statement = Statement.from_bytes(STATEMENT)
    shape = json.loads(STATEMENT)
    assert shape["_type"] == "https://in-toto.io/Statement/v1"
    assert [subject["name"] for subject in shape["subject"]] == ["manifest.json", forge.WHEEL_NAME]
    assert all(set(subject) == {"name", "digest"} for subject in shape["subject"])
    assert statement.predicateType == "https://in-toto.io/attestation/test-result/v0.1"
    assert shape["predicate"]["result"] == "FAILED"
    assert {each["name"] for each in shape["predicate"]["configuration"]} == {
        "reproduction.py",
        "pylock.toml",
        "recorder",
    }


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (ENVELOPE + b"\n", "not_canonical"),
        (ENVELOPE.replace(b"\n", b""), "not_canonical"),
        (b"\xef\xbb\xbf" + ENVELOPE, "not_canonical"),
        (_bent(signatures=[]), "malformed"),
        (_bent(signatures=json.loads(ENVELOPE)["signatures"] * 2), "malformed"),
        (_bent(payloadType="application/json"), "malformed"),
        (_bent(extra=1), "malformed"),
        (_bent(payload=base64.b64encode(STATEMENT + b" ").decode()), "bad_signature"),
        (_bent(payload="_-8="), "malformed"),
        (_bent(payload="QQ"), "not_canonical"),
        (_bent(payload="QQ="), "not_canonical"),
        (_bent(payload="QR=="), "not_canonical"),
        (_resigned(sig=base64.b64encode(bytes(64)).decode()), "bad_signature"),
        (_resigned(sig=""), "bad_signature"),
        (_resigned(keyid=forge.STRANGER.public.line), "bad_signature"),
        (_resigned(keyid=forge.REPORTER.public.line + "="), "malformed"),
        (_resigned(keyid="ssh-rsa AAAA"), "malformed"),
        (_resigned(keyid="ssh-ed25519 AAAA"), "malformed"),
    ],
)
def test_an_envelope_in_another_form_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(BundleError) as caught:
        signing.verify_envelope(raw)
    assert caught.value.reason == reason


def test_the_second_spelling_of_a_signature_is_refused() -> None:
    raw = base64.b64decode(json.loads(ENVELOPE)["signatures"][0]["sig"])
    order = 2**252 + 27742317777372353535851937790883648493
    other = raw[:32] + (int.from_bytes(raw[32:], "little") + order).to_bytes(32, "little")
    with pytest.raises(BundleError, match="not by"):
        signing.verify_envelope(_resigned(sig=base64.b64encode(other).decode()))


@pytest.mark.parametrize("y", [0, 1, 2**255 - 20, 2**255 - 19, 2**255 - 18])
@pytest.mark.parametrize("sign", [0, 1])
def test_a_key_of_small_order_verifies_nothing(y: int, sign: int) -> None:
    key = signing.PublicKey((y | sign << 255).to_bytes(32, "little"))
    # With the identity as public key, R = B and s = 1 fit every message.
    base = (4 * pow(5, -1, 2**255 - 19) % (2**255 - 19)).to_bytes(32, "little")
    assert not key.verifies(base + (1).to_bytes(32, "little"), b"anything")


def test_a_key_file_is_for_its_owner_only_and_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "key"
    public = signing.generate_key_file(path, comment="me@example.org")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.with_name("key.pub").read_text() == f"{public.line} me@example.org\n"
    assert signing.load_private_key(path).public == public
    with pytest.raises(UsageError, match="exists"):
        signing.generate_key_file(path)


@pytest.mark.parametrize("openssh", [True, False])
def test_private_keys_in_both_forms_are_read(tmp_path: Path, openssh: bool) -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    path = _write(tmp_path / "key", private, openssh=openssh)
    assert signing.load_private_key(path).public.raw == private.public_key().public_bytes_raw()


def test_a_key_with_a_passphrase_says_so_and_opens_with_it(tmp_path: Path) -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    path = _write(tmp_path / "key", private, b"open sesame", openssh=False)
    with pytest.raises(TrustError, match="passphrase"):
        signing.load_private_key(path)
    with pytest.raises(TrustError, match="does not open"):
        signing.load_private_key(path, passphrase=lambda _name: b"wrong")
    opened = signing.load_private_key(path, passphrase=lambda _name: b"open sesame")
    assert opened.public.raw == private.public_key().public_bytes_raw()


def test_a_key_of_another_type_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "rsa", rsa.generate_private_key(65537, 2048))
    with pytest.raises(TrustError, match="RSA"):
        signing.load_private_key(path)
    path = _write(tmp_path / "ec", ec.generate_private_key(ec.SECP256R1()), openssh=False)
    with pytest.raises(TrustError, match=r"EllipticCurve|EC"):
        signing.load_private_key(path)


def test_what_is_no_private_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "pub").write_text(forge.REPORTER.public.line + "\n")
    with pytest.raises(TrustError, match="public key"):
        signing.load_private_key(tmp_path / "pub")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(TrustError, match="no private key"):
        signing.load_private_key(tmp_path / "text")
    with pytest.raises(UsageError, match="no such file"):
        signing.load_private_key(tmp_path / "absent")


def test_an_encrypted_openssh_key_opens_with_its_passphrase(tmp_path: Path) -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    path = _write(tmp_path / "key", private, b"open sesame")
    opened = signing.load_private_key(path, passphrase=lambda _name: b"open sesame")
    assert opened.public.raw == private.public_key().public_bytes_raw()
    with pytest.raises(TrustError, match="does not open"):
        signing.load_private_key(path, passphrase=lambda _name: b"wrong")


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="OpenSSH is not installed here")
def test_openssh_reads_our_keys_and_we_read_its_own(tmp_path: Path) -> None:
    tool = shutil.which("ssh-keygen") or ""
    public = signing.generate_key_file(tmp_path / "ours")
    shown = subprocess.run([tool, "-l", "-f", tmp_path / "ours"], capture_output=True, text=True, check=True)
    assert public.fingerprint in shown.stdout
    subprocess.run([tool, "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "theirs"], check=True)
    line = (tmp_path / "theirs.pub").read_text()
    assert signing.load_private_key(tmp_path / "theirs").public == signing.PublicKey.from_line(line)
