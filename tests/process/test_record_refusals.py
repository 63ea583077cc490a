"""`record` with options that make no sense: a sentence, exit code 2, a next step; nothing is made before."""

import io
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agentproof.cli import cli
from agentproof.environment import uv
from agentproof.limits import MAX_BUNDLE_BYTES, MAX_WHEEL_BYTES, MAX_WHEEL_FILES, MAX_WHEEL_UNPACKED
from agentproof.record.conditions import Conditions
from agentproof.record.recording import check_request
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import select
from agentproof.record.target import Target
from tests.wheels import make_wheel

HEADER = '# /// script\n# dependencies = ["openai-agents==0.20.0"]\n# ///\n'


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text(HEADER)
    (tmp_path / "plain.py").write_text("print(1)\n")
    (tmp_path / "empty").mkdir()
    name, data = make_wheel("demo", "1.0")
    (tmp_path / name).write_bytes(data)
    (tmp_path / "openai_agents-0.20.0-py3-none-any.whl").write_bytes(data[:100])

    def never(*_: object, **__: object) -> uv.UvResult:
        raise AssertionError("uv was asked")

    monkeypatch.setattr(uv, "run_uv", never)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["record", *arguments], prog_name="agentproof")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plain.py"], "does not say which release"),
        (["x.py", "--dirty"], "--dirty is about the changes of a checkout"),
        (["x.py", "--source", "empty", "--sdk", "0.20.0"], "--sdk and --source both name the target"),
        (["x.py", "--source", "nowhere"], "--source nowhere: no such directory"),
        (["x.py", "--source", "empty@main", "--dirty"], "a commit has no changes"),
        (["x.py", "--redact-pattern", "("], r"--redact-pattern \("),
        (["x.py", "--redact-pattern", "a*"], "matches the empty text"),
        (["x.py", "--as-of", "2026-13-01"], "not a day"),
        (["x.py", "--as-of", "9999-01-01"], "in the future"),
        (["x.py", "--lock", "nowhere"], "--lock nowhere: no such file"),
        (["x.py", "--lock", "x.py", "--like", "x.py"], "--lock and --like both say"),
        (["x.py", "--as-of", "2026-09-01", "--like", "x.py"], "--as-of and --like both say"),
        (["x.py", "--sdk", "latest", "--lock", "x.py"], "--sdk latest and --lock both say"),
        (["x.py", "--sdk", "requests==2.0"], "does not know requests"),
        (["x.py", "--sdk", "0.20.0", "--wheel", "demo-1.0-py3-none-any.whl"], "both name the target"),
        (["x.py", "--wheel", "demo-1.0-py3-none-any.whl"], "is a wheel of demo"),
        (["x.py", "--wheel", "openai_agents-0.20.0-py3-none-any.whl"], "no whole zip"),
        (["x.py", "--sha256", "zz"], "no SHA-256"),
        (["x.py", "--with", "0.21.0"], "--with 0.21.0: what is recorded is named by --sdk"),
        (["x.py", "--with", "openai-agents==0.21.0"], "is named by --sdk\n  next: --sdk 0.21.0,"),
        (["x.py", "--with", "./a-directory"], "--with ./a-directory: no wheel and no directory is there"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_makes_no_sense_is_said_before_a_key_is_made_or_anything_asked(
    arguments: list[str], words: str, tmp_path: Path
) -> None:
    said = run(*arguments)
    assert said.exit_code == 2, said.output
    assert re.search(words, said.stderr), said.stderr
    assert "\n  next: " in said.stderr
    assert not (tmp_path / "config").exists()


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ("3.9", "needs 3.10 or newer"),
        ("", "--python '': neither a version nor an interpreter"),
        ("empty", "--python empty: a directory that is no environment"),
        ("./nowhere", "no such file"),
        ("snake", "neither a version nor an interpreter"),
    ],
)
def test_a_python_that_cannot_be_meant_is_said_before_uv_is_asked(request_: str, words: str) -> None:
    said = run("x.py", "--python", request_)
    assert said.exit_code == 2, said.output
    assert words in said.stderr
    assert "\n  next: " in said.stderr


def test_an_option_that_is_the_scripts_own_is_told_where_it_goes() -> None:
    said = run("x.py", "--verbosity=3", "more")
    assert said.exit_code == 2
    assert "come after `--`, as in `… -- --verbosity=3 more`" in said.stderr
    assert "come after" not in run("--verbosity=3", "x.py").stderr


def test_a_script_that_is_edited_after_it_was_looked_at_is_recorded_as_it_was() -> None:
    reproduction = read_reproduction(select("x.py"))
    check_request(reproduction, None, Conditions(), output=Path("x.zip"))
    Path("x.py").write_text("print(2)\n")
    assert reproduction.files["x.py"] == HEADER.encode()


def _rewritten(change: Callable[[zipfile.ZipFile, zipfile.ZipFile], None]) -> bytes:
    """A sound wheel of the SDK, copied by `change`."""
    out = io.BytesIO()
    _, data = make_wheel("openai-agents", "0.20.0", files={"agents/__init__.py": b"1\n"})
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
        change(old, new)
    return out.getvalue()


def _commented(_: zipfile.ZipFile, new: zipfile.ZipFile) -> None:
    new.comment = b"signed"


def _many(_: zipfile.ZipFile, new: zipfile.ZipFile) -> None:
    for number in range(MAX_WHEEL_FILES):
        new.writestr(f"agents/{number}.txt", b"")


def _bomb(_: zipfile.ZipFile, new: zipfile.ZipFile) -> None:
    new.writestr("agents/zeros", bytes(MAX_WHEEL_UNPACKED), zipfile.ZIP_DEFLATED, 1)


def _packed(method: int) -> Callable[[zipfile.ZipFile, zipfile.ZipFile], None]:
    return lambda _, new: new.writestr("agents/more.py", b"2\n", method)


ODD_WHEELS: dict[str, tuple[Callable[[zipfile.ZipFile, zipfile.ZipFile], None], str]] = {
    "comment": (_commented, "has a comment"),
    "LZMA": (_packed(zipfile.ZIP_LZMA), "in another way than deflate"),
    "bzip2": (_packed(zipfile.ZIP_BZIP2), "in another way than deflate"),
    "not in RECORD": (_packed(zipfile.ZIP_STORED), "does not list agents/more.py"),
    "many files": (_many, "are over the limit of 20000"),
    "a bomb": (_bomb, "bytes unpacked are over the limit"),
    "leaves": (lambda _, new: new.writestr("../evil.py", b""), r"does not list \.\./evil\.py"),
    "two projects": (
        lambda _, new: new.writestr("other-1.dist-info/METADATA", b""),
        "2 .dist-info directories",
    ),
    "a control character": (lambda _, new: new.writestr("agents/\x1b.py", b""), "no name that every reader"),
}


@pytest.mark.parametrize("kind", ODD_WHEELS)
def test_a_wheel_that_a_check_would_refuse_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    change, said = ODD_WHEELS[kind]
    (tmp_path / "openai_agents-0.20.0-py3-none-any.whl").write_bytes(_rewritten(change))
    refused = run("plain.py", "--wheel", "openai_agents-0.20.0-py3-none-any.whl")
    assert refused.exit_code == 2, refused.stderr
    assert re.search(rf"--wheel openai_agents-0\.20\.0-py3-none-any\.whl: .*{said}", refused.stderr)
    assert "next: " in refused.stderr
    assert not (tmp_path / "config").exists()
    assert not (tmp_path / "cache").exists()


def test_a_wheel_over_the_limit_is_refused_at_once(tmp_path: Path) -> None:
    with (tmp_path / "openai_agents-0.20.0-py3-none-any.whl").open("wb") as wheel:
        wheel.truncate(MAX_WHEEL_BYTES + 1)
    refused = run("plain.py", "--wheel", "openai_agents-0.20.0-py3-none-any.whl")
    assert refused.exit_code == 2
    assert f"more than {MAX_WHEEL_BYTES} bytes" in refused.stderr


def test_a_wheel_that_fills_a_bundle_alone_is_refused_at_once_but_with_thin(tmp_path: Path) -> None:
    name, data = make_wheel("openai-agents", "0.20.0", files={"agents/data": os.urandom(MAX_BUNDLE_BYTES)})
    (tmp_path / name).write_bytes(data)
    refused = run("plain.py", "--wheel", name)
    assert refused.exit_code == 2
    assert re.search(rf"--wheel {name}: \d+ bytes, and a bundle holds {MAX_BUNDLE_BYTES}", refused.stderr)
    assert "--thin" in refused.stderr
    target = Target(name, wheel=Path(name))
    check_request(read_reproduction(select("plain.py")), target, Conditions(), output=None, thin=True)
