"""Runs that take seconds: limits, a second process, an interruption."""

import os
from pathlib import Path

import pytest

from agentproof.isolation import control, runner
from tests.sandboxed import Environment, make_environment, run_script, said

pytestmark = pytest.mark.real

if os.name != "posix":
    pytest.skip("these tests run scripts under a POSIX launcher", allow_module_level=True)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return make_environment(tmp_path_factory.mktemp("environment"))


def test_what_could_not_be_forked_gets_a_process_of_its_own(environment: Environment, tmp_path: Path) -> None:
    run = run_script("# standin: unforked\nprint(1)", environment, tmp_path, modes=("as-written", "streamed"))
    (repeat,) = run.repeats
    assert {mode: each.outcome for mode, each in repeat.items()} == {
        "as-written": "ended",
        "streamed": "ended",
    }
    assert repeat["as-written"].unforked == "the script had started a thread"


def test_a_run_that_never_ends_is_an_outcome(environment: Environment, tmp_path: Path) -> None:
    source = (
        "# standin: fork\nimport os, time\nprint('begun', flush=True)\n"
        "if 'as-w' in os.getcwd(): time.sleep(600)"
    )
    run = run_script(
        source, environment, tmp_path, modes=("as-written", "streamed"), limits=runner.Limits(seconds=1.5)
    )
    outcomes = {mode: each.outcome for mode, each in run.repeats[0].items()}
    assert outcomes == {"as-written": "timed_out", "streamed": "ended"}
    assert said(run) == "begun\n"


def test_a_mode_that_prints_without_end_is_ended_and_the_other_one_goes_on(
    environment: Environment, tmp_path: Path
) -> None:
    source = (
        "# standin: fork\nimport os, time\n"
        "while 'as-w' in os.getcwd(): print('x' * 4095)\n"
        "time.sleep(0.5)\nprint('done')"
    )
    limits = runner.Limits(seconds=30, output_bytes=2**20, output_kept=100)
    run = run_script(source, environment, tmp_path, modes=("as-written", "streamed"), limits=limits)
    (repeat,) = run.repeats
    assert repeat["as-written"].outcome == "too_much_output"
    assert repeat["as-written"].stdout.truncated
    assert repeat["as-written"].stdout.data == b"x" * 100
    assert repeat["as-written"].stdout.size == 2**20
    assert repeat["streamed"].outcome == "ended"


def test_an_error_here_leaves_no_directory_and_no_process(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "_places", lambda: (tmp_path,))
    for each in (tmp_path, *tmp_path.parents):
        if each.name.startswith("pytest-"):
            each.chmod(0o755)

    def interrupt(_: str) -> None:
        assert list(tmp_path.glob("agentproof-tmp-run-*"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_script("import time\ntime.sleep(600)", environment, tmp_path / "case", progress=interrupt)
    assert not list(tmp_path.glob("agentproof-tmp-run-*"))
