"""The key that the user signs with: a private key file, with or without a passphrase, or ssh-agent.

`--key FILE` names a private key, or a public key whose private half an agent keeps (as git's
`user.signingkey` does). The agent is asked over its own socket and for this one key only.
"""

import getpass
import os
import socket
import struct
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import CannotDoError, TrustError
from ..limits import MAX_KEY_BYTES
from ..system.files import read_bounded
from .signing import KEY_TYPE, Passphrase, PrivateKey, PublicKey, load_private_key

# https://datatracker.ietf.org/doc/html/draft-ietf-sshm-ssh-agent, section 6.1
_SIGN_REQUEST, _SIGN_RESPONSE = 13, 14
_FAILURE = 5
_MAX_ANSWER = 2**18
_SECONDS = 120
"""An agent may ask its user to confirm."""


def signing_key(path: Path, *, passphrase_variable: str | None = None) -> PrivateKey:
    """The key that `path` names; `passphrase_variable` names the variable that holds its passphrase.

    Raises:
        UsageError: there is no such file.
        TrustError: it cannot be used: another type, a missing or wrong passphrase, not in the agent.
        CannotDoError: the agent does not answer.
    """
    data = read_bounded(path, limit=MAX_KEY_BYTES, what="key")
    if data.startswith(KEY_TYPE.encode("ascii")):
        return AgentKey(PublicKey.from_line(data.decode("utf-8", "replace").splitlines()[0]))
    return load_private_key(path, passphrase=passphrase_from(passphrase_variable))


def passphrase_from(variable: str | None) -> Passphrase | None:
    """How to come by a passphrase: from that variable, else by asking on the terminal, else not at all."""
    if variable is not None:

        def read(name: str) -> bytes:
            value = os.environ.get(variable)
            if value is None:
                raise TrustError(f"{name} needs a passphrase, and ${variable} is not set")
            return value.encode("utf-8", "surrogateescape")

        return read
    if not sys.stdin.isatty():
        return None
    return lambda name: getpass.getpass(f"Passphrase for {name}: ", stream=sys.stderr).encode("utf-8")


@dataclass(frozen=True)
class AgentKey:
    """A private key that ssh-agent keeps."""

    public: PublicKey
    says: str | None = None

    def saying(self, account: str) -> "AgentKey":
        """The same key, whose holder says that it is this account's."""
        return replace(self, says=account)

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes of the signature.

        Raises:
            TrustError: the agent does not have this key, or refuses.
            CannotDoError: there is no agent, or it does not answer.
        """
        request = _string(self.public.blob) + _string(message) + struct.pack(">I", 0)
        kind, body = _ask(_SIGN_REQUEST, request)
        if kind == _FAILURE:
            raise TrustError(
                f"ssh-agent does not sign with {self.public.fingerprint}", hint="ssh-add the key, or confirm"
            )
        signature = _signature(body) if kind == _SIGN_RESPONSE else None
        if signature is None or not self.public.verifies(signature, message):
            raise CannotDoError(f"ssh-agent gave no signature by {self.public.fingerprint}")
        return signature


def _ask(kind: int, body: bytes) -> tuple[int, bytes]:
    """One request to the agent; the type and the body of its answer."""
    place = os.environ.get("SSH_AUTH_SOCK")
    if not place or not hasattr(socket, "AF_UNIX"):
        raise CannotDoError(
            "there is no ssh-agent (SSH_AUTH_SOCK is not set)", hint="give the private key file with --key"
        )
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
            agent.settimeout(_SECONDS)
            agent.connect(place)
            agent.sendall(struct.pack(">IB", len(body) + 1, kind) + body)
            (length,) = struct.unpack(">I", _receive(agent, 4))
            if not 1 <= length <= _MAX_ANSWER:
                raise CannotDoError(f"ssh-agent answered with {length} bytes")
            answer = _receive(agent, length)
    except OSError as error:
        raise CannotDoError(f"ssh-agent at {place}: {error}") from error
    return answer[0], answer[1:]


def _receive(agent: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = agent.recv(count - len(data))
        if not more:
            raise CannotDoError("ssh-agent closed the connection")
        data += more
    return data


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _signature(body: bytes) -> bytes | None:
    """The raw signature in an answer: a string that holds the key's type and the signature as strings."""
    raw = body[-64:]
    inner = _string(KEY_TYPE.encode("ascii")) + _string(raw)
    return raw if body == _string(inner) else None
