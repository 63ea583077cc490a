"""The reader's own configuration: a key made on first use, and the keys they chose to trust."""

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentproof.errors import TrustError
from agentproof.trust import keyring
from agentproof.trust.allowed_signers import parse_trust
from agentproof.trust.signing import config_dir
from tests import forge

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))


def test_the_own_key_is_made_once_for_its_owner_only() -> None:
    key, path, made = keyring.default_key()
    again, _, made_again = keyring.default_key()
    assert (made, made_again) == (True, False)
    assert again.public == key.public
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_own_key_is_trusted_as_you_but_names_nobody_else() -> None:
    key, _, _ = keyring.default_key()
    trust = keyring.own_trust()
    assert trust.judge(key.public, "recorded", NOW).principals == ("you",)
    assert not trust.given


def test_nothing_is_made_by_asking_for_trust() -> None:
    assert keyring.own_trust().keys == ()
    assert not config_dir().exists()


def test_keys_are_added_listed_and_removed() -> None:
    keys = parse_trust(f"{forge.REPORTER.public.line}\n{forge.STRANGER.public.line}\n".encode(), source="x")
    assert len(keyring.add(keys, principal="github:octocat")) == 2
    assert keyring.add(keys, principal="github:octocat") == []
    assert keyring.add(parse_trust(forge.MAINTAINER.public.line.encode(), source="m"), principal="m@example")
    assert [line.principal for line in keyring.listed()] == ["github:octocat", "github:octocat", "m@example"]
    assert keyring.own_trust().given
    assert len(keyring.remove("github:octocat")) == 2
    assert [line.key for line in keyring.listed()] == [forge.MAINTAINER.public]
    assert len(keyring.remove(forge.MAINTAINER.public.fingerprint)) == 1
    assert keyring.listed() == ()
    assert not keyring.own_trust().given


def test_removing_keeps_the_users_own_lines_and_comments() -> None:
    config_dir().mkdir()
    path = config_dir() / "allowed_signers"
    path.write_text(
        f'# my team\nm@example namespaces="agentproof-*" {forge.MAINTAINER.public.line}\n'
        f"ssh-rsa AAAA\ngithub:x {forge.STRANGER.public.line}"
    )
    keyring.add(parse_trust(forge.REPORTER.public.line.encode(), source="x"), principal="r@example")
    keyring.remove("github:x")
    assert path.read_text().splitlines() == [
        "# my team",
        f'm@example namespaces="agentproof-*" {forge.MAINTAINER.public.line}',
        "ssh-rsa AAAA",
        f"r@example {forge.REPORTER.public.line}",
    ]


TEAM = (
    f"first@example.org {forge.REPORTER.public.line}\n"
    f'second@example.org namespaces="agentproof-endorsed",valid-before="20200101Z" '
    f"{forge.STRANGER.public.line}\n"
)


def test_two_people_do_not_become_one_name() -> None:
    with pytest.raises(TrustError, match=r"several people \(first@example.org, second@example.org\)"):
        keyring.add(parse_trust(TEAM.encode(), source="team"), principal="team")
    assert keyring.listed() == ()


def test_what_is_kept_has_the_names_and_limits_of_its_lines() -> None:
    given = parse_trust(TEAM.encode(), source="team")
    keyring.add(given)
    trust = keyring.own_trust()
    for key in (forge.REPORTER.public, forge.STRANGER.public):
        for role in ("recorded", "replayed", "endorsed"):
            for at in (NOW, datetime(2019, 6, 1, tzinfo=UTC)):
                assert trust.judge(key, role, at).principals == given.judge(key, role, at).principals
    assert trust.judge(forge.STRANGER.public, "endorsed", NOW).principals == ()


def test_one_person_may_get_another_name_and_keeps_the_limits() -> None:
    line = f'a@x,b@x valid-after="20260101Z" {forge.REPORTER.public.line}\nb@x {forge.STRANGER.public.line}\n'
    keyring.add(parse_trust(line.encode(), source="x"), principal="ann")
    assert [(each.principal, each.limits) for each in keyring.listed()] == [
        ("ann", 'valid-after="20260101000000Z"'),
        ("ann", ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"{forge.REPORTER.public.line}\n",
        f"a@x {forge.REPORTER.public.line}\n{forge.STRANGER.public.line}\n",
    ],
)
def test_a_key_without_a_name_is_given_one_by_the_reader(text: str) -> None:
    with pytest.raises(TrustError, match="names nobody"):
        keyring.add(parse_trust(text.encode(), source="x"))
    if text.startswith("a@x"):
        with pytest.raises(TrustError, match="keys without a name"):
            keyring.add(parse_trust(text.encode(), source="x"), principal="ann")


def test_limits_of_a_key_that_is_kept_are_never_widened_or_narrowed_in_passing() -> None:
    narrow = f'a@x namespaces="agentproof-endorsed" {forge.REPORTER.public.line}\n'
    keyring.add(parse_trust(narrow.encode(), source="x"))
    assert keyring.add(parse_trust(narrow.encode(), source="x")) == []
    with pytest.raises(TrustError, match=r"allowed_signers:1 trusts .* already, within namespaces"):
        keyring.add(parse_trust(f"a@x {forge.REPORTER.public.line}\n".encode(), source="x"))


def test_nobody_in_a_file_is_called_you() -> None:
    with pytest.raises(TrustError, match="cannot be a principal"):
        keyring.add(parse_trust(f"a@x,you {forge.REPORTER.public.line}\n".encode(), source="x"))


@pytest.mark.parametrize("principal", ["you", "two words", "", "a#b", 'a"b', "!a", "a,!b", "a,you"])
def test_a_principal_that_the_file_cannot_hold_is_refused(principal: str) -> None:
    with pytest.raises(TrustError, match="cannot be a principal"):
        keyring.add(forge.trust_in(forge.REPORTER), principal=principal)


def test_removing_what_is_not_there_says_so() -> None:
    with pytest.raises(TrustError, match="no key of nobody"):
        keyring.remove("nobody")


def test_a_revoked_key_in_the_configuration_counts() -> None:
    keyring.add(forge.trust_in(forge.REPORTER), principal="r@example")
    (config_dir() / "revoked_keys").write_text(forge.REPORTER.public.fingerprint + "\n")
    assert keyring.own_trust().judge(forge.REPORTER.public, "recorded", NOW).reason == "revoked"


def test_without_the_variable_the_systems_place_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTPROOF_CONFIG_DIR")
    assert config_dir().name == "agentproof-bundles"
