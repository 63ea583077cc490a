"""Which commands go through the recorder: rules of `agentproof._recorder.processes`."""

import pytest

from agentproof._recorder.processes import _parse


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "argv"),
    [
        (["script.py", "-x"], [], "script", ["script.py", "-x"]),
        (["-u", "-X", "utf8", "-Wignore", "script.py"], ["-u", "-X", "utf8", "-Wignore"], "script", None),
        (["-Bc", "print(1)"], None, None, None),
        (["-c", "print(1)", "a"], [], "code", ["-c", "a"]),
        (["-I", "-m", "pytest", "-q"], ["-I"], "module", ["-m", "-q"]),
        (["-"], None, None, None),
        (["-", "script.py"], None, None, None),
        (["-u", "-", "-x"], None, None, None),
        (["--version"], None, None, None),
        (["-V"], None, None, None),
        ([], None, None, None),
        (["-X"], None, None, None),
    ],
)
def test_what_an_interpreter_is_asked_to_run_is_read_or_left_alone(
    arguments: list[str], options: list[str] | None, kind: str | None, argv: list[str] | None
) -> None:
    parsed = _parse(arguments)
    if kind is None:
        assert parsed is None
        return
    assert parsed is not None
    assert (parsed[0], parsed[1]["kind"]) == (options, kind)
    if argv is not None:
        assert parsed[1]["argv"] == argv
