"""Secrets are named by place and rule, never by their text."""

import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from agentproof.errors import UsageError
from agentproof.live.providers import placeholder
from agentproof.record.secrets import Redactor, SecretPatterns, find_secrets, host_secrets, patterns

# Put together at run time, so that no scanner of this repository takes them for real ones.
SHAPED = [
    "sk-" + "proj-" + "a1B2" * 8,
    "gh" + "p_" + "a1B2" * 9,
    "AK" + "IA" + "A1B2" * 4,
    "xox" + "b-" + "123456789012",
    "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
    "Bearer " + "a1B2" * 8,
]


@pytest.mark.parametrize("secret", SHAPED)
def test_the_shape_of_a_token_is_found_with_its_place(secret: str) -> None:
    (seen,) = find_secrets([("a.json", b"{\n" + secret.encode() + b"\n}")], wanted=SecretPatterns({}))
    assert (seen.path, seen.line) == ("a.json", 2)
    assert secret not in repr(seen)


@pytest.mark.parametrize(
    "text",
    [
        "sk-short",
        "task-" + "a1B2" * 8,
        "fc_call_1",
        "trace_" + "0" * 32,
        "e3b0c44298fc1c149afbf4c8996fb924",
        f"Authorization: Bearer {placeholder('OPENAI_API_KEY')}",
    ],
)
def test_ordinary_text_is_no_secret(text: str) -> None:
    assert list(find_secrets([("a", text.encode())], wanted=SecretPatterns({}))) == []


def test_the_hosts_own_key_like_variables_are_looked_for_by_value() -> None:
    environment = {
        "SERVICE_TOKEN": 'correct "horse" battery staple',
        "PATH": "/usr/bin:/usr/local/bin",
        "SSH_AUTH_SOCK": "/run/user/1000/agent.socket",
        "API_KEY": "short",
    }
    secrets = host_secrets(environment)
    assert set(secrets) == {"SERVICE_TOKEN"}
    as_text = b'a correct "horse" battery staple b'
    as_json = b'"a correct \\"horse\\" battery staple b"'
    for data in (as_text, as_json):
        (seen,) = find_secrets([("s.json", data)], wanted=SecretPatterns(secrets))
        assert seen.rule == "the value of $SERVICE_TOKEN"


@pytest.mark.parametrize(
    ("name", "value", "is_one"),
    [
        ("AWS_SECRET_ACCESS_KEY", "/wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEK3Y", True),
        ("SIGNING_KEY", "/home/somebody/signing/key", False),
        ("HTTP_AUTHORIZATION", "Digest 0123456789abcdef", True),
        ("GIT_AUTHOR_EMAIL", "somebody.with.a.name@example", False),
        ("KEYBOARD_LAYOUT", "a very long layout of keys", False),
        ("NPM_AUTH", "0123456789abcdef", True),
    ],
)
def test_a_variable_is_told_from_an_innocent_one_with_such_a_name(
    name: str, value: str, is_one: bool
) -> None:
    assert (name in host_secrets({name: value})) is is_one


def test_the_name_of_a_file_that_is_there_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "0123456789").touch()
    assert host_secrets({"API_KEY_FILE": str(tmp_path / "0123456789")}) == {}


SPELLED = 'a "quoted" secrét/with + all'


@pytest.mark.parametrize(
    "data",
    [
        SPELLED.encode(),
        json.dumps({"a": SPELLED}).encode(),
        json.dumps({"a": SPELLED}, ensure_ascii=False).encode(),
        json.dumps({"body": json.dumps({"arguments": json.dumps({"key": SPELLED})})}).encode(),
        f"https://host.invalid/?token={quote(SPELLED, safe='')}".encode(),
        f"token={quote_plus(SPELLED)}".encode(),
        json.dumps({"$bytes": (b"\xff" + SPELLED.encode() + b"\0").hex()}, indent=2).encode(),
        json.dumps({"$str": [0xD800, *map(ord, SPELLED)]}, indent=2).encode(),
    ],
    ids=["plain", "ascii", "json", "nested", "url", "form", "bytes", "broken text"],
)
def test_a_value_is_found_however_it_is_spelled(data: bytes) -> None:
    wanted = SecretPatterns({"SERVICE_TOKEN": SPELLED})
    assert [seen.rule for seen in find_secrets([("a", data)], wanted=wanted)] == [
        "the value of $SERVICE_TOKEN"
    ]
    if b"$" not in data:
        redacted = Redactor(wanted)(data.decode()).encode()
        assert b"<redacted-1>" in redacted
        assert list(find_secrets([("a", redacted)], wanted=wanted)) == []


def test_spellings_of_one_secret_are_redacted_alike() -> None:
    redact = Redactor(SecretPatterns({"SERVICE_TOKEN": SPELLED}))
    assert redact(f"{SPELLED} {json.dumps(SPELLED)} {quote(SPELLED, safe='')}") == (
        '<redacted-1> "<redacted-1>" <redacted-1>'
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"$bytes": (b"\xff" + SPELLED.encode()).hex()}, {"$bytes": b"\xff<redacted-1>".hex()}),
        ({"$str": [0xD800, *map(ord, SPELLED)]}, {"$str": [0xD800, *map(ord, "<redacted-1>")]}),
        ({"$float": "0.7"}, {"$float": "0.7"}),
    ],
)
def test_redaction_keeps_the_form_of_a_value(value: dict[str, object], expected: object) -> None:
    assert Redactor(SecretPatterns({"SERVICE_TOKEN": SPELLED})).in_value(value) == expected


def test_a_text_that_is_valid_without_its_secret_is_written_as_one() -> None:
    redact = Redactor(SecretPatterns({}, patterns([r"\ud800secret"])))
    assert redact.in_value({"$str": list(map(ord, "a \ud800secret"))}) == "a <redacted-1>"


def test_redaction_keeps_equality_visible_and_counts() -> None:
    redact = Redactor(SecretPatterns({"SERVICE_TOKEN": "correct horse battery"}, patterns([r"user-\d+"])))
    assert redact(f"a correct horse battery, user-17, {SHAPED[0]} and user-17") == (
        "a <redacted-1>, <redacted-3>, <redacted-2> and <redacted-3>"
    )
    assert redact("user-18 user-17") == "<redacted-4> <redacted-3>"
    assert redact.count == 6


def test_redaction_takes_out_a_whole_private_key() -> None:
    redact = Redactor(SecretPatterns({}))
    key = SHAPED[4] + "\nAAAA\n-----END OPENSSH " + "PRIVATE KEY-----"
    assert redact(f"before\n{key}\nafter") == "before\n<redacted-1>\nafter"


def test_the_users_own_pattern_is_looked_for() -> None:
    (seen,) = find_secrets([("a", b"x\nuser-17")], wanted=SecretPatterns({}, patterns([r"user-\d+"])))
    assert (seen.line, seen.rule) == (2, "a --redact-pattern")


@pytest.mark.parametrize("expression", ["(", "x*"])
def test_a_pattern_that_makes_no_sense_is_refused(expression: str) -> None:
    with pytest.raises(UsageError, match="--redact-pattern"):
        patterns([expression])
