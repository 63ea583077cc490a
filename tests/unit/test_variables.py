"""Environment variables that a script is given: named, masked, and refused where they steer."""

from pathlib import Path

import pytest

from agentproof.errors import UsageError
from agentproof.record.secrets import Redactor, SecretPatterns
from agentproof.record.variables import Variables, check_given, check_unwritten, parse_variables

MINE = {"MY_SETTING": "abracadabra", "SHORT": "on"}


def parsed(*options: str, public: bool = False, files: tuple[Path, ...] = ()) -> Variables:
    return parse_variables(options, files=files, public=public, environment=MINE)


def test_a_variable_is_ones_own_or_has_a_value() -> None:
    found = parsed("MY_SETTING", "OTHER=something else")
    assert found.values == {"MY_SETTING": "abracadabra", "OTHER": "something else"}
    assert found.names == ("MY_SETTING", "OTHER")
    assert "abracadabra" not in repr(found)


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ("NOT_MINE", "does not have it"),
        ("SHORT", "under 8 characters"),
        ("X=short", "under 8 characters"),
        ("1X=whatever else", "no name of a variable"),
        *(
            (f"{name}=whatever else", "steers")
            for name in (
                "PYTHONPATH", "pythonpath", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PATH", "HOME", "TMPDIR",
                "SSL_CERT_FILE", "AGENTPROOF_CACHE_DIR", "GCONV_PATH",
            )
        ),
        *(
            (f"{name}=whatever else", "provider's key")
            for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_APIKEY", "AWS_SECRET_ACCESS_KEY")
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_passed_is_refused_by_its_name_and_not_its_value(option: str, named: str) -> None:
    with pytest.raises(UsageError) as refused:
        parsed(option)
    assert named in refused.value.message
    assert "whatever else" not in refused.value.message


def test_what_is_public_is_recorded_as_it_is() -> None:
    found = parsed("SHORT", public=True)
    assert found.values == {"SHORT": "on"}
    assert not found.masked


def test_a_file_of_variables_is_read_as_dotenv_writes_it(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("# mine\n\nexport A=one two three\nB = 'four five'\nMY_SETTING=of the file\n")
    found = parsed("MY_SETTING", files=(file,))
    assert found.values == {"A": "one two three", "B": "four five", "MY_SETTING": "abracadabra"}
    file.write_text("A\n")
    with pytest.raises(UsageError, match="1: not a line"):
        parsed(files=(file,))
    file.write_text("PYTHONPATH=x\n")
    with pytest.raises(UsageError, match="steers"):
        parsed(files=(file,))


def test_a_value_is_masked_in_each_spelling() -> None:
    mask = Redactor(SecretPatterns({}), variables={"TOKEN": 'a "b" c/d'}, shapes=False)
    assert mask('x a "b" c/d y') == "x <env:TOKEN> y"
    assert mask(r"{\"k\": \"a \\\"b\\\" c/d\"}") == r"{\"k\": \"<env:TOKEN>\"}"
    assert mask("a%20%22b%22%20c%2Fd") == "<env:TOKEN>"
    # What looks like a token is not taken out unless asked for: it stops the recording.
    key = "ghp_" + "a1" * 18
    assert mask(key) == key


def test_a_value_that_the_script_holds_is_refused() -> None:
    found = parsed("MY_SETTING")
    check_unwritten(found, {"repro.py": b"print(1)"}, ())
    with pytest.raises(UsageError, match=r"stands in repro\.py"):
        check_unwritten(found, {"repro.py": b"x = 'abracadabra'"}, ())
    with pytest.raises(UsageError, match="stands in the arguments"):
        check_unwritten(found, {}, ("--x=abracadabra",))


def test_whoever_replays_is_told_what_is_missing() -> None:
    check_given(parsed("MY_SETTING"), ("MY_SETTING",))
    with pytest.raises(UsageError) as refused:
        check_given(Variables(), ("A", "B"))
    assert refused.value.hint == "--env A --env B gives yours, or --env NAME=VALUE"
