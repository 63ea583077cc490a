"""The reader's own configuration: their key, made on first use, and the keys that they chose to trust.

<config>/key, key.pub       the user's own key, trusted as `you`
<config>/allowed_signers    what `agentproof trust add` kept, in OpenSSH's form
<config>/revoked_keys       keys that are trusted by nothing, by line or fingerprint
"""

from pathlib import Path

from ..errors import TrustError
from ..limits import MAX_TRUST_BYTES
from ..system.files import read_bounded, shown, write_atomic
from .allowed_signers import PRINCIPAL, Trust, TrustedKey, parse_trust, read_revoked, read_trust
from .signing import HeldKey, Passphrase, config_dir, default_key_path, generate_key_file, load_private_key

YOU = "you"


def default_key(*, passphrase: Passphrase | None = None) -> tuple[HeldKey, Path, bool]:
    """The user's own key, where it is, and whether it was made just now.

    Raises:
        TrustError: the file there cannot be used.
        CannotDoError: the directory cannot be written.
    """
    path = default_key_path()
    made = not path.exists()
    if made:
        generate_key_file(path)
    return load_private_key(path, passphrase=passphrase), path, made


def own_trust() -> Trust:
    """What the reader's own configuration trusts and revokes.

    Raises:
        TrustError: a file there cannot be understood.
    """
    directory = config_dir()
    trust = Trust()
    if (directory / "key.pub").exists():
        # One's own key alone is no answer to "whom do you trust?": `given` stays false.
        trust |= Trust(keys=read_trust(directory / "key.pub", principal=YOU).keys)
    added = listed()
    trust |= Trust(keys=added, given=bool(added))
    if (directory / "revoked_keys").exists():
        trust |= read_revoked(directory / "revoked_keys")
    return trust


def listed() -> tuple[TrustedKey, ...]:
    """The keys that `add` kept.

    Raises:
        TrustError: the file cannot be understood.
    """
    path = _allowed_signers()
    text = _read(path)
    return parse_trust(text, source=shown(path)).keys if text.strip() else ()


def add(keys: Trust, *, principal: str) -> list[TrustedKey]:
    """Trust these keys from now on, under one principal; returns those that are new.

    Raises:
        TrustError: the principal cannot be written there.
        CannotDoError: the directory cannot be written.
    """
    if not PRINCIPAL.fullmatch(principal) or principal == YOU:
        raise TrustError(f"{principal!r} cannot be a principal", hint="such as github:USER or NAME@HOST")
    known = {line.key for line in listed() if line.principal == principal}
    new = [line for line in keys.keys if line.key not in known]
    if new:
        old = _read(_allowed_signers())
        text = "".join(f"{principal} {line.key.line}\n" for line in new)
        separator = b"" if not old or old.endswith(b"\n") else b"\n"
        write_atomic(_allowed_signers(), old + separator + text.encode("utf-8"))
    return new


def remove(name: str) -> list[TrustedKey]:
    """Trust no longer what has this principal or fingerprint; returns what was removed.

    Raises:
        TrustError: there is no such key.
    """
    path = _allowed_signers()
    gone = [line for line in listed() if name in (line.principal, line.key.fingerprint)]
    if not gone:
        raise TrustError(f"{path} has no key of {name}", hint="agentproof trust list")
    numbers = {line.line for line in gone}
    lines = _read(path).decode("utf-8").splitlines(keepends=True)
    kept = [text for number, text in enumerate(lines, start=1) if number not in numbers]
    write_atomic(path, "".join(kept).encode("utf-8"))
    return gone


def _allowed_signers() -> Path:
    return config_dir() / "allowed_signers"


def _read(path: Path) -> bytes:
    return read_bounded(path, limit=MAX_TRUST_BYTES, what="trust file") if path.exists() else b""
