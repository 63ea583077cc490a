"""Failing tests as bundles: which ones, and under what names; real recordings are in `tests/real`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentproof.errors import CannotDoError
from agentproof.pytest_plugin import failures
from agentproof.pytest_plugin.failures import Outcome, needed
from tests.process.test_pytest_plugin import LOADED

pytest_plugins = ["pytester"]

ASK = (*LOADED, "-p", "no:cacheprovider", "--agentproof-record-failures", "out")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tests that a recording was asked for."""
    found: list[str] = []

    def record_failures(tests: list[str], *, root: Path, directory: Path, **_: object) -> Iterator[Outcome]:
        for test in tests:
            assert (root / test.partition("::")[0]).is_file()
            found.append(test)
            yield Outcome(test, directory / "x.zip", ("violated on openai-agents 0.20.0",))

    monkeypatch.setattr(failures, "record_failures", record_failures)
    return found


def test_without_a_mark_every_test_that_fails_is_recorded(
    pytester: pytest.Pytester, asked: list[str]
) -> None:
    pytester.makepyfile(
        test_a="""
        import pytest
        def test_passes(): pass
        def test_fails(): assert False
        @pytest.mark.parametrize("n", [1, 2])
        def test_one_of_two(n): assert n == 1
        def test_skipped(): pytest.skip("no")
        @pytest.mark.xfail
        def test_may_fail(): assert False
        """
    )
    done = pytester.runpytest_inprocess(*ASK)
    done.assert_outcomes(passed=2, failed=2, skipped=1, xfailed=1)
    assert asked == ["test_a.py::test_fails", "test_a.py::test_one_of_two[2]"]
    done.stdout.fnmatch_lines(
        [
            "*agentproof: recording what failed*",
            "test_a.py::test_fails",
            "  violated on *",
            "  wrote out/x.zip",
        ]
    )


def test_where_tests_are_marked_or_use_the_fixture_only_those_are(
    pytester: pytest.Pytester, asked: list[str]
) -> None:
    pytester.makepyfile(
        test_a="""
        import pytest
        def test_other(): assert False
        @pytest.mark.agentproof
        def test_marked(): assert False
        def test_asking(agentproof):
            assert agentproof.check.bundle("it is so", 1 == 1)
            assert agentproof.observe("n", 3) == 4
        """
    )
    done = pytester.runpytest_inprocess(*ASK, "--strict-markers")
    done.assert_outcomes(failed=3)
    assert asked == ["test_a.py::test_marked", "test_a.py::test_asking"]


def test_a_worker_s_failures_are_recorded_once_by_the_process_that_started_it(
    pytester: pytest.Pytester, asked: list[str]
) -> None:
    pytester.makepyfile(
        test_a="""
        import pytest
        @pytest.mark.agentproof
        def test_marked(): assert False
        def test_other(): assert False
        """
    )
    done = pytester.runpytest_inprocess(*ASK, "-n", "2")
    done.assert_outcomes(failed=2)
    assert asked == ["test_a.py::test_marked"]


def test_what_cannot_be_recorded_is_said_and_changes_no_outcome(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise CannotDoError("no such release", hint="name another")

    monkeypatch.setattr(failures, "_record", fail)
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(pytester.path / "config"))
    pytester.makepyfile(test_a="def test_fails(): assert False")
    done = pytester.runpytest_inprocess(*ASK)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["  could not be recorded: no such release", "  next: name another"])
    assert not (pytester.path / "out").exists()


def test_without_failures_nothing_is_said(pytester: pytest.Pytester, asked: list[str]) -> None:
    pytester.makepyfile(test_a="def test_passes(): pass")
    done = pytester.runpytest_inprocess(*ASK)
    done.assert_outcomes(passed=1)
    assert asked == []
    done.stdout.no_fnmatch_line("*agentproof: recording*")


def test_no_more_than_ten_are_recorded_and_the_others_are_named(
    pytester: pytest.Pytester, asked: list[str]
) -> None:
    pytester.makepyfile(
        test_a="""
        import pytest
        @pytest.mark.parametrize("n", range(12))
        def test_fails(n): assert False
        """
    )
    done = pytester.runpytest_inprocess(*ASK)
    assert len(asked) == 10
    done.stdout.fnmatch_lines(["test_a.py::test_fails?11?", "  not recorded: only 10 are, the rest by name"])


def test_names_of_files_are_plain_and_each_is_used_once() -> None:
    used: set[str] = set()
    names = [
        failures._file_name(test, used)
        for test in ("tests/test_a.py::test_b[a/b c]", "tests/test_a.py::test_b[a-b-c]", "x.py::" + "y" * 300)
    ]
    assert names[:2] == [
        "tests-test_a-test_b-a-b-c.agentproof.zip",
        "tests-test_a-test_b-a-b-c-2.agentproof.zip",
    ]
    assert len(names[2]) < 130


def test_a_test_needs_what_its_files_import_from_distributions(tmp_path: Path) -> None:
    files = {
        "tests/test_a.py": "import json, click.testing\nfrom helpers import a\nfrom .near import b\n",
        "tests/near.py": "import hypothesis\n",
        "tests/conftest.py": "import jinja2\nimport agentproof\n",
        "tests/helpers.py": "import pydantic\nimport agents\n",
        "tests/unrelated.py": "import distributed\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {name.lower() for name in needed(tmp_path / "tests" / "test_a.py", tmp_path)}
    assert {"pytest", "pytest-xdist", "click", "hypothesis", "jinja2", "pydantic"} <= found
    assert not {"openai-agents", "agentproof-bundles", "distributed", "json"} & found
