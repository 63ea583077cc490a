"""The reader's own configuration: their key, made on first use, and the keys that they chose to trust.

<config>/key, key.pub       the user's own key, trusted as `you`
<config>/allowed_signers    what `agentproof trust add` kept, in OpenSSH's form
<config>/revoked_keys       keys that are trusted by nothing, by line or fingerprint
"""

from dataclasses import replace
from pathlib import Path

from ..errors import TrustError
from ..limits import MAX_TRUST_BYTES
from ..system.files import read_bounded, shown, write_atomic
from .allowed_signers import PRINCIPAL, Trust, TrustedKey, parse_trust, people, read_revoked, read_trust
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


def named(keys: Trust, *, principal: str | None = None) -> tuple[TrustedKey, ...]:
    """The lines of a trust file as they would be kept: each with its limits, nobody under another's name.

    `principal` names the person whose keys these are; without it each line must name its own.

    Raises:
        TrustError: the file is about several people and one name is given, or about somebody without a
            name, or the name cannot be written.
    """
    lines = keys.keys
    source = lines[0].source if lines else "the file"
    unnamed = [line for line in lines if not line.is_named]
    own = {line.principal for line in lines if line.is_named}
    if principal is None and unnamed:
        raise TrustError(
            f"{source}:{unnamed[0].line} names nobody", hint="say whose key it is: --as github:USER"
        )
    if principal is not None and (len(set(people(own).values())) > 1 or (own and unnamed)):
        others = ", ".join(sorted(own)) + (" and keys without a name" if unnamed else "")
        raise TrustError(
            f"{source} is about several people ({others}), who must not become one name",
            hint="leave out --as to keep their names" if not unnamed else "one file for each of them",
        )
    for name in (principal,) if principal is not None else sorted(own):
        if not PRINCIPAL.fullmatch(name) or YOU in name.split(","):
            raise TrustError(f"{name!r} cannot be a principal", hint="such as github:USER or NAME@HOST")
    return tuple(line if principal is None else replace(line, principal=principal) for line in lines)


def add(keys: Trust, *, principal: str | None = None) -> list[TrustedKey]:
    """Trust these keys from now on, within the limits of their lines; returns those that are new.

    Raises:
        TrustError: as `named`; or a key is kept already under that name within other limits.
        CannotDoError: the directory cannot be written.
    """
    kept = {(line.principal, line.key): line for line in listed()}
    new: dict[str, TrustedKey] = {}
    for line in named(keys, principal=principal):
        known = kept.get((line.principal, line.key))
        if known is None:
            new.setdefault(line.text, line)
        elif known.limits != line.limits:
            raise TrustError(
                f"{known.source}:{known.line} trusts {line.key.fingerprint} as {line.principal} already, "
                f"{_within(known)} instead of {_within(line)}",
                hint=f"agentproof trust remove {line.key.fingerprint}",
            )
    if new:
        old = _read(_allowed_signers())
        text = "".join(f"{line}\n" for line in new)
        separator = b"" if not old or old.endswith(b"\n") else b"\n"
        write_atomic(_allowed_signers(), old + separator + text.encode("utf-8"))
    return list(new.values())


def of_account(data: bytes, account: str, *, source: str, origin: str) -> Trust:
    """The keys in the bytes that are served for `account`, each trusted with recordings alone; `origin` is
    noted behind them.

    Raises:
        TrustError: there is no Ed25519 key in it, or a line that names somebody.
    """
    keys = parse_trust(data, source=source, principal=account)
    if named_line := next((line for line in keys.keys if line.is_named), None):
        raise TrustError(
            f"{source}:{named_line.line} names {named_line.principal}",
            hint=f"served for {account} are bare key lines; for other files: agentproof trust add FILE",
        )
    return replace(
        keys,
        keys=tuple(replace(line, namespaces=("agentproof-recorded",), origin=origin) for line in keys.keys),
    )


def _within(line: TrustedKey) -> str:
    return f"within {line.limits}" if line.limits else "without limits"


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
    # The lines as they were counted: only LF ends one.
    lines = _read(path).decode("utf-8").split("\n")
    kept = [text for number, text in enumerate(lines, start=1) if number not in numbers]
    write_atomic(path, "\n".join(kept).encode("utf-8"))
    return gone


def _allowed_signers() -> Path:
    return config_dir() / "allowed_signers"


def _read(path: Path) -> bytes:
    return read_bounded(path, limit=MAX_TRUST_BYTES, what="trust file") if path.exists() else b""
