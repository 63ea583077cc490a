"""Finding interpreters, with uv's answers made up."""

import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.tags import sys_tags

from agentproof.environment import interpreters
from agentproof.environment import uv as _uv
from agentproof.errors import AgentproofError, CannotDoError, UsageError


class _Uv:
    """uv, answering `python find` from a table."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: dict[str, Path]) -> None:
        self.answers = answers
        self.environments: list[dict[str, str]] = []
        monkeypatch.setattr(_uv, "run_uv", self)

    def __call__(
        self, arguments: Sequence[str], *, environment: dict[str, str], cache: Path, seconds: float
    ) -> _uv.UvResult:
        self.environments.append(environment)
        found = self.answers.get(arguments[-1])
        return _uv.UvResult(0 if found else 2, f"{found}\n" if found else "", "")


@pytest.fixture
def no_pyenv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "none"))


def test_without_a_request_it_is_the_one_that_runs_agentproof() -> None:
    found = interpreters.find()
    assert found.version == platform.python_version()
    assert found.path.resolve() == Path(sys.executable).resolve()
    assert found.tags[0] == str(next(sys_tags()))
    assert found.library.joinpath("os.py").is_file()


def test_the_own_version_needs_no_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    uv = _Uv(monkeypatch, {})
    assert (
        interpreters.find(".".join(platform.python_version_tuple()[:2])).version == platform.python_version()
    )
    assert uv.environments == []


def test_a_version_is_understood_however_it_is_spelled(monkeypatch: pytest.MonkeyPatch) -> None:
    uv = _Uv(monkeypatch, {})
    minor = ".".join(platform.python_version_tuple()[:2])
    for spelled in (f"python{minor}", f"cpython{minor}", f"cpython-{minor}"):
        assert interpreters.find(spelled).version == platform.python_version()
    assert uv.environments == []


def test_an_environment_and_a_name_of_the_search_path_are_interpreters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    _program(tmp_path / "venv" / "bin" / "python", f'exec {sys.executable} "$@"')
    (tmp_path / "my-python").symlink_to(tmp_path / "venv" / "bin" / "python")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for request in (str(tmp_path / "venv"), "my-python"):
        assert interpreters.find(request) == interpreters.find()


def test_another_one_is_asked_what_it_is(monkeypatch: pytest.MonkeyPatch, no_pyenv: None) -> None:
    # The interpreter at hand plays the other one: it is probed as a stranger all the same.
    own = interpreters.find()
    _Uv(monkeypatch, {">=3.11": Path(sys.executable)})
    monkeypatch.setattr(interpreters, "_satisfies", lambda version, requires: False)
    assert interpreters.find(requires=SpecifierSet(">=3.11")) == own


def test_pyenvs_versions_are_offered_to_uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("3.10.13", "3.13.0", "2.7.18", "my-venv"):
        (tmp_path / "versions" / name).mkdir(parents=True)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.delenv("PYENV_VERSION", raising=False)
    uv = _Uv(monkeypatch, {})
    with pytest.raises(CannotDoError) as raised:
        interpreters.find("3.99")
    assert uv.environments[0]["PYENV_VERSION"] == "3.13.0:3.10.13"
    assert "PYENV_VERSION=" in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        ("3.9", UsageError, "needs 3.10 or newer"),
        ("snake", UsageError, "neither a version nor an interpreter"),
        ("", UsageError, "neither a version nor an interpreter"),
        ("/no/such/python", UsageError, "no such file"),
        ("/", UsageError, "a directory that is no environment"),
        ("3.98", CannotDoError, "no such Python on this machine"),
    ],
)
def test_what_cannot_be_found_is_named(
    monkeypatch: pytest.MonkeyPatch,
    no_pyenv: None,
    request_: str,
    error: type[AgentproofError],
    words: str,
) -> None:
    _Uv(monkeypatch, {})
    with pytest.raises(error, match=words) as raised:
        interpreters.find(request_)
    assert raised.value.hint


def _program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_shim_of_pyenv_that_is_not_selected_is_told_from_a_broken_python(tmp_path: Path) -> None:
    shim = _program(tmp_path / "python3.10", "echo 'pyenv: python3.10: command not found' >&2; exit 127")
    with pytest.raises(CannotDoError, match="shim of pyenv") as raised:
        interpreters.find(str(shim))
    assert "PYENV_VERSION=" in (raised.value.hint or "")


def test_a_file_that_is_no_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotDoError, match=r"no Python 3\.10 or newer: what\?"):
        interpreters.find(str(_program(tmp_path / "snake", "echo 'what?' >&2")))


def test_a_contradiction_to_requires_python_is_refused() -> None:
    with pytest.raises(UsageError, match="requires-python is <3"):
        interpreters.find(".".join(platform.python_version_tuple()[:2]), requires=SpecifierSet("<3"))


@pytest.mark.parametrize(("implementation", "threaded"), [("pypy", False), ("cpython", True)])
def test_only_cpython_with_the_gil_is_recorded_on(implementation: str, threaded: bool) -> None:
    facts = {"version": "3.13.0", "implementation": implementation, "threaded": threaded}
    with pytest.raises(CannotDoError, match="recordings are made on CPython with the GIL"):
        interpreters._made(Path("python"), facts)
