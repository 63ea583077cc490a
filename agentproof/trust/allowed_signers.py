"""Whom the reader trusts: `allowed_signers` files, key lines as GitHub serves them, revoked keys.

Rules:
1. Trust comes from files that the reader names and from the reader's own configuration; never from a
   bundle, and never because of the working directory.
2. A file in OpenSSH's `allowed_signers` form gives each key principals, and may bound it by time
   (`valid-after`, `valid-before`) and by role (`namespaces`: `agentproof-recorded`,
   `agentproof-replayed`, `agentproof-endorsed`). What is not read (`cert-authority`, principals that are
   negated or quoted, options that nobody knows) is refused, with the line's place.
3. A file of bare key lines (GitHub's `.keys`, a `.pub`, a PEM public key) is one principal's, named by
   the reader or after the file. Keys of other types are skipped and counted.
4. A revoked key is trusted by nothing, whatever else names it.
5. A time without `Z` is local, as OpenSSH has it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..errors import TrustError
from ..limits import MAX_TRUST_BYTES
from ..models.statement import Role
from ..system.files import read_bounded, shown
from .signing import KEY_TYPE, PublicKey

_KEY_TYPES = re.compile(r"(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[A-Za-z0-9@._-]+")
_TIME = re.compile(r"(?P<day>\d{8})(?:(?P<minute>\d{4})(?P<second>\d{2})?)?(?P<utc>Z?)", re.ASCII)
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_OPTION = re.compile(r'(?P<name>[A-Za-z-]+)(?:="(?P<value>[^"]*)")?(?P<end>,|\s+)')
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, other ends of lines, and what changes the direction of a text."""
_ORIGIN = re.compile(r"(?:github\.com|file)@\d{4}-\d{2}-\d{2}", re.ASCII)
PRINCIPAL = re.compile(r"(?!(?:.*,)?!)[^\s\"#]+")
"""What the principals of a line are made of; OpenSSH's quoted and negated ones are not read."""


@dataclass(frozen=True)
class TrustedKey:
    """One line of trust."""

    key: PublicKey
    principal: str
    """Who this is: the principals of an `allowed_signers` line as written, or the file's one name."""
    source: str
    """The file, for people."""
    line: int
    """Its line there, from 1."""
    namespaces: tuple[str, ...] | None = None
    valid_after: datetime | None = None
    valid_before: datetime | None = None
    is_named: bool = False
    """Whether the line itself names its principals."""
    origin: str | None = None
    """Where and when it was taken from, as `agentproof trust add github:USER` notes it behind the key:
    `github.com@2026-12-01`, or `file@…`."""

    @property
    def limits(self) -> str:
        """The options that bound the key, as they are written in such a line; empty: none."""
        given = {
            "namespaces": None if self.namespaces is None else ",".join(self.namespaces),
            "valid-after": _written(self.valid_after),
            "valid-before": _written(self.valid_before),
        }
        return ",".join(f'{name}="{value}"' for name, value in given.items() if value is not None)

    @property
    def text(self) -> str:
        """The line of an `allowed_signers` file that says the same."""
        return " ".join(filter(None, (self.principal, self.limits, self.key.line, self.origin)))

    def refusal(self, role: Role, at: datetime) -> str | None:
        """Why this line does not speak for an attestation of `role` at that time; None if it does."""
        if self.namespaces is not None and not _matches(f"agentproof-{role}", self.namespaces):
            return f"{self.source} does not trust it with {role} attestations"
        if self.valid_after is not None and at < self.valid_after:
            return f"{self.source} trusts it only from {self.valid_after:%Y-%m-%d %H:%M:%SZ}"
        if self.valid_before is not None and at >= self.valid_before:
            return f"{self.source} trusted it only before {self.valid_before:%Y-%m-%d %H:%M:%SZ}"
        return None


UNKNOWN = "in no trust file that you gave"


def is_same(account: str, principal: str) -> bool:
    """Whether a principal is that account; GitHub tells no case apart."""
    return account.casefold() == principal.casefold()


@dataclass(frozen=True)
class TrustDecision:
    """What the reader's trust says about one signer."""

    principals: tuple[str, ...]
    """Empty where it is not trusted."""
    reason: str
    """A sentence fragment: where the trust comes from, or why there is none."""


@dataclass(frozen=True)
class Trust:
    """All that the reader trusts."""

    keys: tuple[TrustedKey, ...] = ()
    revoked: frozenset[str] = frozenset()
    """Fingerprints."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Keys of other types in the reader's files, by type."""
    given: bool = False
    """Whether the reader named anybody besides their own keys."""

    def judge(self, key: PublicKey, role: Role, at: datetime) -> TrustDecision:
        """Whether the signer of an attestation of `role` is trusted at that time."""
        if key.fingerprint in self.revoked:
            return TrustDecision((), "revoked")
        refusals = []
        principals = []
        sources = []
        for line in self.keys:
            if line.key != key:
                continue
            refusal = line.refusal(role, at)
            if refusal is None:
                principals.append(line.principal)
                sources.append(line.source)
            else:
                refusals.append(refusal)
        if principals:
            return TrustDecision(tuple(dict.fromkeys(principals)), f"trusted by {sources[0]}")
        return TrustDecision((), refusals[0] if refusals else UNKNOWN)

    def knows(self, principal: str) -> bool:
        """Whether it has any key of that person."""
        return any(is_same(principal, name) for line in self.keys for name in line.principal.split(","))

    def __or__(self, other: "Trust") -> "Trust":
        return Trust(
            keys=self.keys + other.keys,
            revoked=self.revoked | other.revoked,
            skipped=self.skipped + other.skipped,
            given=self.given or other.given,
        )


def people(principals: Iterable[str]) -> dict[str, str]:
    """For each line's principals the one name that stands for everybody who shares a name with them.

    The names of one line, and lines that share a name, are one person.
    """
    head: dict[str, str] = {}

    def first(name: str) -> str:
        while head[name] != name:
            head[name] = head[head[name]]
            name = head[name]
        return name

    lines = list(principals)
    for line in lines:
        names = line.split(",")
        for name in names:
            head.setdefault(name, name)
            head[first(name)] = first(names[0])
    return {line: first(line.split(",")[0]) for line in lines}


def read_trust(path: Path, *, principal: str | None = None) -> Trust:
    """The trust in a file that the reader names.

    Raises:
        UsageError: there is no such file.
        TrustError: a line that cannot be understood, or no Ed25519 key at all.
    """
    return parse_trust(
        read_bounded(path, limit=MAX_TRUST_BYTES, what="trust file"), source=shown(path), principal=principal
    )


def parse_trust(data: bytes, *, source: str, principal: str | None = None) -> Trust:
    """The trust in the bytes of a file that people know as `source`; raises as `read_trust` does."""
    skipped: Counter[str] = Counter()
    keys: list[TrustedKey] = []
    name = principal or Path(source.rpartition(":")[2]).stem
    for number, line in _lines(_without_pem(data, source), source):
        where = f"{source}:{number}"
        first = line.split(None, 1)[0]
        if _KEY_TYPES.fullmatch(first):
            if first != KEY_TYPE:
                skipped[first] += 1
                continue
            keys.append(TrustedKey(_key(line, where), name, source, number))
        else:
            trusted = _signer(line, number, source)
            if isinstance(trusted, str):
                skipped[trusted] += 1
            else:
                keys.append(trusted)
    if not keys:
        others = f" (it has {_counted(skipped)})" if skipped else ""
        raise TrustError(f"{source} holds no {KEY_TYPE} key{others}", hint="agentproof signs with Ed25519")
    return Trust(keys=tuple(keys), skipped=skipped, given=True)


def _counted(skipped: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(skipped.items()))


def _lines(data: bytes, source: str) -> Iterator[tuple[int, str]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TrustError(f"{source}: not UTF-8 (byte {error.start})") from error
    # Only LF ends a line, as for git and ssh-keygen: what a reviewer sees as a comment must not hold a key.
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.removesuffix("\r").strip(" \t")
        if (hidden := _HIDDEN.search(stripped)) is not None:
            raise TrustError(
                f"{source}:{number}: holds the character U+{ord(hidden[0]):04X}, which hides or ends a line",
                hint="delete it; only LF ends a line",
            )
        if stripped and not stripped.startswith("#"):
            yield number, stripped


def _without_pem(data: bytes, source: str) -> bytes:
    """`data` with a PEM public key as a key line."""
    if not data.lstrip().startswith(b"-----BEGIN"):
        return data
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 (50 ms, for PEM only)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    if b"PRIVATE KEY" in data:
        raise TrustError(f"{source} is a private key", hint="give the public one (.pub)")
    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise TrustError(f"{source}: not a public key in PEM form") from error
    if not isinstance(key, Ed25519PublicKey):
        raise TrustError(f"{source} holds a {type(key).__name__.strip('_')}; agentproof reads Ed25519")
    return PublicKey(key.public_bytes_raw()).line.encode("ascii")


def _key(line: str, where: str) -> PublicKey:
    try:
        return PublicKey.from_line(line)
    except TrustError as error:
        raise TrustError(f"{where}: {error.message}", hint=error.hint) from error


def _signer(line: str, number: int, source: str) -> TrustedKey | str:
    """One line of an `allowed_signers` file, or the key's type where it is another one."""
    where = f"{source}:{number}"
    principals, *others = line.split(None, 1)
    rest = others[0] if others else ""
    options: dict[str, str | None] = {}
    if rest and not _KEY_TYPES.fullmatch(rest.split(None, 1)[0]):
        options, rest = _options(rest, where)
    kind = rest.split(None, 1)[0] if rest else ""
    if any(name.startswith("!") for name in principals.split(",")):
        raise TrustError(f"{where}: {principals!r} says who it is not", hint="name who it is, without `!`")
    if not PRINCIPAL.fullmatch(principals) or not _KEY_TYPES.fullmatch(kind):
        raise _unread(where)
    if "cert-authority" in options:
        raise TrustError(f"{where}: cert-authority is not supported", hint="name the keys themselves")
    if kind != KEY_TYPE:
        return kind
    namespaces = options.get("namespaces")
    return TrustedKey(
        key=_key(rest, where),
        principal=principals,
        source=source,
        line=number,
        namespaces=tuple(namespaces.split(",")) if namespaces is not None else None,
        valid_after=_moment(options.get("valid-after"), where),
        valid_before=_moment(options.get("valid-before"), where),
        is_named=True,
        origin=next((word for word in rest.split()[2:3] if _ORIGIN.fullmatch(word)), None),
    )


def _unread(where: str) -> TrustError:
    return TrustError(
        f"{where}: neither a key line nor `principals [options] {KEY_TYPE} KEY`",
        hint="see ALLOWED SIGNERS in ssh-keygen(1)",
    )


def _options(text: str, where: str) -> tuple[dict[str, str | None], str]:
    """The comma-separated options at the start of `text`, and what follows them."""
    options: dict[str, str | None] = {}
    at = 0
    while True:
        match = _OPTION.match(text, at)
        if match is None:
            raise _unread(where)
        name, value = match["name"].lower(), match["value"]
        if name not in ("cert-authority", "namespaces", "valid-after", "valid-before") or name in options:
            raise TrustError(f"{where}: option {name!r} is unknown or there twice")
        if (value is None) != (name == "cert-authority"):
            raise TrustError(f"{where}: option {name!r} with a value in the wrong form")
        options[name] = value
        at = match.end()
        if match["end"] != ",":
            return options, text[at:].strip()


def _written(moment: datetime | None) -> str | None:
    """A time as an option has it; `strftime` does not pad years."""
    return None if moment is None else f"{moment.year:04}{moment:%m%d%H%M%S}Z"


def _moment(text: str | None, where: str) -> datetime | None:
    if text is None:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise TrustError(f"{where}: {text!r} is no time; write YYYYMMDD[HHMM[SS]][Z]")
    digits = match["day"] + (match["minute"] or "0000") + (match["second"] or "00")
    try:
        moment = datetime.strptime(digits, "%Y%m%d%H%M%S")
    except ValueError as error:
        raise TrustError(f"{where}: {text!r} is no time: {error}") from error
    if match["utc"]:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        # At the ends of the calendar, where "never" and "always" are written, hours do not matter.
        return moment.replace(tzinfo=UTC)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    """OpenSSH's pattern list: `*` and `?`, and a `!` pattern that matches refuses."""
    found = False
    for pattern in patterns:
        expression = re.escape(pattern.removeprefix("!")).replace(r"\*", ".*").replace(r"\?", ".")
        if re.fullmatch(expression, name):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def read_revoked(path: Path) -> Trust:
    """The keys in a file of revoked ones: key lines, or fingerprints as `ssh-keygen -l` prints them.

    Raises:
        UsageError: there is no such file.
        TrustError: a line that is neither.
    """
    data = read_bounded(path, limit=MAX_TRUST_BYTES, what="file of revoked keys")
    revoked = set()
    for number, line in _lines(_without_pem(data, shown(path)), shown(path)):
        where = f"{path}:{number}"
        first = line.split(None, 1)[0]
        if _FINGERPRINT.fullmatch(first):
            revoked.add(first)
        elif first == KEY_TYPE:
            revoked.add(_key(line, where).fingerprint)
        elif not _KEY_TYPES.fullmatch(first):
            raise TrustError(f"{where}: neither a key line nor a fingerprint")
    return Trust(revoked=frozenset(revoked))
