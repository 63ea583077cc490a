"""A certificate authority of one run, by which the relay's hosts are certified.

Its key stays in this process, and touches no disk; it certifies the names that are asked for and no others,
and what it signs ends after a day.
"""

import datetime
import os
import ssl
from collections.abc import Sequence
from typing import Final, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY: Final = datetime.timedelta(days=1)
_PRIVATE: Final = (
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
)
_CA_USAGE: Final = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """The authority of one run."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self._key = key
        self._certificate = certificate
        self._contexts: dict[str, ssl.SSLContext] = {}

    @classmethod
    def create(cls) -> Self:
        """A new one."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("agentproof, one run's authority")
        of_itself = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        extensions = [(x509.BasicConstraints(True, 0), True), (_CA_USAGE, True), (of_itself, False)]
        return cls(key, _certificate(name, key.public_key(), issuer=name, signer=key, extensions=extensions))

    @property
    def pem(self) -> bytes:
        """Its certificate: what the script's clients are to trust."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def context(self, host: str) -> ssl.SSLContext:
        """What ends TLS for a host: HTTP/1.1 alone is offered."""
        if host not in self._contexts:
            self._contexts[host] = self._context(host)
        return self._contexts[host]

    def _context(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        extensions: list[tuple[x509.ExtensionType, bool]] = [
            (x509.SubjectAlternativeName([x509.DNSName(host)]), False),
            (x509.BasicConstraints(False, None), True),
            (identifier, False),
            (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
        ]
        issuer = self._certificate.subject
        subject = _name("agentproof relay")  # a host's name may be longer than a common name can be
        leaf = _certificate(subject, key.public_key(), issuer=issuer, signer=self._key, extensions=extensions)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        _load(context, leaf.public_bytes(serialization.Encoding.PEM) + key.private_bytes(*_PRIVATE))
        context.set_alpn_protocols(["http/1.1"])
        # A session ticket makes a client's socket readable before there is anything to read. A client that
        # reads in one thread and writes in another (websockets' own) then uses one TLS object twice at once.
        context.num_tickets = 0
        return context


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePublicKey,
    *,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
    extensions: Sequence[tuple[x509.ExtensionType, bool]],
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)  # clocks differ
        .not_valid_after(now + _DAY)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    return builder.sign(signer, hashes.SHA256())


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """OpenSSL reads certificates with keys from files alone: this one is in memory."""
    descriptor = os.memfd_create("agentproof-leaf")
    try:
        os.write(descriptor, pem)
        os.lseek(descriptor, 0, os.SEEK_SET)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
