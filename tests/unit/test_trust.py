"""Whom the reader trusts: OpenSSH's allowed_signers, key lines as GitHub serves them, revoked keys."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from agentproof.errors import TrustError, UsageError
from agentproof.trust.allowed_signers import Trust, parse_trust, read_revoked, read_trust
from tests import forge

KEY = forge.REPORTER.public
NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
RSA = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7"
ECDSA = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY="


def _trust(text: str) -> Trust:
    return parse_trust(text.encode(), source="reporters")


def _principals(text: str, at: datetime = NOW) -> tuple[str, ...]:
    return _trust(text).judge(KEY, "recorded", at).principals


def test_a_line_of_allowed_signers_names_its_principals() -> None:
    assert _principals(f"alice@example.org,*@example.com {KEY.line} a comment") == (
        "alice@example.org,*@example.com",
    )


def test_github_keys_are_one_principal_and_other_types_are_counted() -> None:
    trust = parse_trust(f"{RSA}\n{ECDSA}\n{KEY.line}\n".encode(), source="octocat.keys")
    assert trust.judge(KEY, "recorded", NOW).principals == ("octocat",)
    assert dict(trust.skipped) == {"ssh-rsa": 1, "ecdsa-sha2-nistp256": 1}


def test_the_reader_names_the_principal_of_bare_keys() -> None:
    trust = parse_trust(KEY.line.encode(), source="x.keys", principal="github:octocat")
    assert trust.judge(KEY, "recorded", NOW).principals == ("github:octocat",)


def test_white_space_between_the_parts_may_be_a_tab() -> None:
    kind, blob = KEY.line.split(" ")
    assert _principals(f"a@b\t{kind}\t{blob}\tcomment") == ("a@b",)


def test_comments_and_blank_lines_are_skipped() -> None:
    assert _principals(f"# who\n\n  a@b {KEY.line}\r\n") == ("a@b",)


def test_a_pem_public_key_is_read(tmp_path: Path) -> None:
    public = ed25519.Ed25519PublicKey.from_public_bytes(KEY.raw)
    form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    path = tmp_path / "reporter.pem"
    path.write_bytes(public.public_bytes(*form))
    assert read_trust(path).judge(KEY, "recorded", NOW).principals == ("reporter",)
    path.write_bytes(ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(*form))
    with pytest.raises(TrustError, match="Ed25519"):
        read_trust(path)


@pytest.mark.parametrize(
    ("options", "trusted"),
    [
        ('valid-after="20261130"', True),
        ('valid-after="20261201Z"', False),
        ('valid-after="202611300159Z"', True),
        ('valid-after="20261130020001Z"', False),
        ('valid-before="20261130020000Z"', False),
        ('valid-before="20261130020001Z"', True),
        ('valid-after="20260101Z",valid-before="20270101Z"', True),
        ('namespaces="agentproof-recorded"', True),
        ('namespaces="git,agentproof-*"', True),
        ('namespaces="git"', False),
        ('namespaces="agentproof-endorsed"', False),
        ('namespaces="*,!agentproof-recorded"', False),
        ('NAMESPACES="agentproof-recorded",valid-before="2027010100Z"', None),
    ],
)
def test_options_bound_a_key_by_time_and_role(
    options: str, trusted: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"a@b {options} {KEY.line}"
    if trusted is None:
        with pytest.raises(TrustError, match="is no time"):
            _trust(line)
        return
    judged = _trust(line).judge(KEY, "recorded", NOW)
    assert bool(judged.principals) == trusted
    if not trusted:
        assert judged.reason.startswith("reporters ")


def test_the_time_of_checking_may_be_given() -> None:
    line = f'a@b valid-before="20260101Z" {KEY.line}'
    assert not _principals(line)
    assert _principals(line, datetime(2025, 6, 1, tzinfo=UTC)) == ("a@b",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no ssh-ed25519 key"),
        (f"!a@b {KEY.line}", "reporters:1: '!a@b' says who it is not"),
        (f"a@b,!c@d {KEY.line}", "says who it is not"),
        (f"{RSA}\n", "1 ssh-rsa"),
        ("hello world\n", "neither a key line"),
        ("a@b\n", "neither a key line"),
        (f"a@b cert-authority {KEY.line}", "cert-authority"),
        (f'a@b unknown="x" {KEY.line}', "unknown"),
        (f"a@b namespaces {KEY.line}", "wrong form"),
        (f'a@b cert-authority="x" {KEY.line}', "wrong form"),
        (f'a@b namespaces="x",namespaces="y" {KEY.line}', "twice"),
        (f'a@b namespaces="x {KEY.line}', "neither a key line"),
        (f'a@b valid-after="tomorrow" {KEY.line}', "is no time"),
        (f'a@b valid-after="20261332Z" {KEY.line}', "is no time"),
        ("ssh-ed25519 AAAA", "not a well-formed"),
        ("ssh-ed25519", "not a well-formed"),
        ("ssh-ed25519 \x80", r"holds the character U\+0080"),
        ("ssh-ed25519 \xe4", "not a well-formed"),
        (KEY.line[:-4], "not a well-formed"),
        (f"{KEY.line}AAAA", "not a well-formed"),
        (f"reporters:1: x\n{KEY.line}\n", "neither a key line"),
    ],
)
def test_a_line_that_cannot_be_understood_is_an_error_with_its_place(text: str, message: str) -> None:
    with pytest.raises(TrustError, match=message):
        _trust(text)


def test_a_trust_file_that_is_a_private_key_or_no_text_is_refused() -> None:
    with pytest.raises(TrustError, match="private key"):
        parse_trust(forge.REPORTER.to_openssh(), source="key")
    with pytest.raises(TrustError, match="UTF-8"):
        parse_trust(b"\xff\xfe", source="key")
    with pytest.raises(UsageError, match="no such file"):
        read_trust(Path("/nonexistent/trust"))


@pytest.mark.parametrize("form", ["line", "fingerprint"])
def test_a_revoked_key_is_trusted_by_nothing(tmp_path: Path, form: str) -> None:
    path = tmp_path / "revoked"
    path.write_text(f"# gone\n{getattr(KEY, form)} stolen laptop\n{RSA}\n")
    trust = forge.trust_in(forge.REPORTER, forge.STRANGER) | read_revoked(path)
    assert trust.judge(KEY, "recorded", NOW) == trust.judge(KEY, "endorsed", NOW)
    assert trust.judge(KEY, "recorded", NOW).reason == "revoked"
    assert trust.judge(forge.STRANGER.public, "recorded", NOW).principals


def test_a_file_of_revoked_keys_with_anything_else_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "revoked").write_text("SHA256:short\n")
    with pytest.raises(TrustError, match="neither"):
        read_revoked(tmp_path / "revoked")


def test_trust_adds_up_and_stays_in_order() -> None:
    both = forge.trust_in(forge.REPORTER) | forge.trust_in(forge.STRANGER)
    assert [line.key for line in both.keys] == [forge.REPORTER.public, forge.STRANGER.public]
    assert both.given
    assert not (Trust() | Trust()).given


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e", "\r", "\u202e"])
def test_a_comment_hides_no_key_behind_what_people_do_not_see_as_the_end_of_a_line(end: str) -> None:
    with pytest.raises(TrustError, match=f"reporters:2: holds the character U\\+{ord(end):04X}"):
        _trust(f"a@b {KEY.line}\n# a note{end}mallory@b {forge.STRANGER.public.line}\n")


def test_windows_ends_of_lines_and_a_mark_at_the_start_are_taken() -> None:
    assert _principals(f"\ufeff# people\r\na@b {KEY.line}\r\n") == ("a@b",)


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland", "America/Los_Angeles"])
@pytest.mark.parametrize("moment", ["99991231235959", "00010101"])
def test_a_time_at_the_ends_of_the_calendar_is_read_in_every_zone(
    zone: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        (key,) = _trust(f'a@b valid-before="{moment}" {KEY.line}').keys
    finally:
        monkeypatch.undo()
        time.tzset()
    assert key.valid_before is not None
    assert key.valid_before.tzinfo is UTC
    assert (key.valid_before > NOW) == moment.startswith("9999")
