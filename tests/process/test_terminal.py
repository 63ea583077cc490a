"""The command in a real terminal and in a real shell: colours, completion, mistyped words."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agentproof.bundle.store import Bundle, read_bundle, zip_bytes
from agentproof.cli import cli
from tests.forge import REPORTER, draft, name_of

ROOT = Path(__file__).parents[2]
BASH = shutil.which("bash") or "bash"


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.agentproof.zip").write_bytes(zip_bytes(draft().seal()))


def in_a_terminal(*arguments: str, **environment: str) -> str:
    """What is shown of a command whose output is a terminal."""
    here, there = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "agentproof", *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=there,
        stderr=there,
        close_fds=True,
    ):
        os.close(there)
        shown = b""
        while True:
            try:
                part = os.read(here, 65536)
            except OSError:  # Linux says so when the other side is closed
                break
            shown += part
    os.close(here)
    return shown.decode()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="agentproof")


def test_a_file_name_cannot_move_the_cursor_or_end_a_line(tmp_path: Path) -> None:
    for name in ("a\x1b[31mb\u202ec", "d\u2028e\u0085f", "g\nh", "i\x9b2Jj"):
        (tmp_path / f"{name}.agentproof.zip").write_bytes(zip_bytes(draft().seal()))
    shown = in_a_terminal("check-current-bundle", str(tmp_path), NO_COLOR="1")
    assert not {letter for letter in shown if not letter.isprintable()} - {"\r", "\n"}
    assert "g\\u000ah" in shown
    lines = run("check-current-bundle", str(tmp_path), "--json").stdout.split("\n")
    assert all(line.isascii() for line in lines)
    assert len({json.loads(line)["bundle"] for line in lines if line}) == 5


# Colours


def test_a_terminal_is_given_colours() -> None:
    assert "\x1b[31m" in in_a_terminal("show", "x.agentproof.zip")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("arguments", [("show", "x.agentproof.zip"), ("show", "missing.zip")])
def test_who_wants_no_colours_is_given_none(environment: dict[str, str], arguments: tuple[str, ...]) -> None:
    assert "\x1b" not in in_a_terminal(*arguments, **environment)


def test_an_empty_no_color_says_nothing() -> None:
    assert "\x1b[31m" in in_a_terminal("show", "x.agentproof.zip", NO_COLOR="")


def test_a_pipe_is_given_no_colours() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agentproof", "show", "x.agentproof.zip"], capture_output=True, check=True
    )
    assert b"\x1b" not in done.stdout + done.stderr


# More and less


def test_quiet_says_the_word_and_verbose_says_what_rests_on_the_recorder() -> None:
    (Path("reporters")).write_text(f"{name_of(REPORTER)} {REPORTER.public.line}\n")
    check = ("check-current-bundle", "x.agentproof.zip", "--trust", "reporters", "--allow-intact")
    word = " ".join(run(*check, "-q").stdout.split())
    assert word.startswith("INTACT: nothing failed, but source could not be checked; it shows 2 violations")
    verbose = run(*check, "-v").stdout
    assert "    stated      " in verbose
    assert "    stated      " not in run(*check).stdout


def test_report_can_be_quiet() -> None:
    done = run("report", "x.agentproof.zip", "--output", "issue.md", "-q")
    assert (done.exit_code, done.output) == (0, "")
    assert Path("issue.md").read_text().startswith("### Describe the bug")


def test_a_thin_zip_is_the_same_bundle_without_its_wheel() -> None:
    assert run("pack", "x.agentproof.zip", "--thin", "--output", "thin.zip").exit_code == 0
    thin: Bundle = read_bundle(Path("thin.zip"))
    assert thin.manifest == read_bundle(Path("x.agentproof.zip")).manifest
    assert not [path for path in thin.members if path.startswith("wheels/")]


# Mistyped words


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("recrod", "x.py"), "there is no command 'recrod'. Did you mean `record`?"),
        (("chek",), "there is no command 'chek'. Did you mean `check`?"),
        (("xyzzy",), "there is no command 'xyzzy'. `agentproof --help` lists them."),
        (("trust", "ad", "x"), "there is no command 'ad'. Did you mean `add`?"),
        (("cache", "pruen"), "there is no command 'pruen'. Did you mean `prune`?"),
        (("show", "x.agentproof.zip", "--dif"), "--diff"),
        (("report", "x.agentproof.zip", "--fromat", "html"), "--format"),
        (("report", "x.agentproof.zip", "--format", "htm"), "'markdown', 'html', 'summary'"),
    ],
)
def test_a_mistyped_word_is_answered_with_what_was_meant(arguments: tuple[str, ...], hint: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert hint in done.stderr


# Completion


def completed(*words: str) -> list[str]:
    """What bash offers for the last word, by the function that `completion` gives it."""
    script = f"""
    eval "$({sys.executable} -m agentproof completion bash)"
    COMP_WORDS=({" ".join(map(repr, words))}) COMP_CWORD={len(words) - 1}
    _agentproof_completion agentproof
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    Path("bin").mkdir()
    command = Path("bin", "agentproof")
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m agentproof "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", script],
        env={**os.environ, "PATH": f"{Path('bin').absolute()}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("agentproof", "che"), ["check-current-bundle"]),
        (("agentproof", "re"), ["record", "replay", "report"]),
        (("agentproof", "report", "--la"), ["--latest"]),
        (("agentproof", "report", "--format", "h"), ["html"]),
        (("agentproof", "trust", "r"), ["remove"]),
    ],
)
def test_bash_completes_commands_options_and_values(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_is_given_its_script(shell: str) -> None:
    done = run("completion", shell)
    assert done.exit_code == 0
    assert f"_AGENTPROOF_COMPLETE={shell}_complete" in done.stdout
    program = shutil.which(shell)
    if program is not None:
        checked = subprocess.run(
            [program, "-n"], input=done.stdout, text=True, capture_output=True, check=False
        )
        assert checked.returncode == 0, checked.stderr
