"""Locks and listings that others made."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentproof.environment import interpreters
from agentproof.environment import pins as _pins
from agentproof.errors import AgentproofError, CannotDoError, UsageError

PYTHON = interpreters.find()
HASH = "a" * 64
OTHER = "b" * 64


def _pylock(path: Path, *packages: str, head: str = "") -> Path:
    file = path / "pylock.toml"
    text = f'lock-version = "1.0"\ncreated-by = "tests"\n{head}\n' + "\n".join(packages)
    file.write_text(text, "utf-8")
    return file


def _package(name: str, *wheels: str, version: str = "1.0", marker: str = "") -> str:
    lines = [f'[[packages]]\nname = "{name}"\nversion = "{version}"']
    if marker:
        lines.append(f"marker = {json.dumps(marker)}")
    lines.append(f"wheels = [{', '.join(wheels)}]")
    return "\n".join(lines)


def _wheel(filename: str, digest: str = HASH) -> str:
    return f'{{ name = "{filename}", path = "wheels/{filename}", hashes = {{ sha256 = "{digest}" }} }}'


def test_a_pylock_gives_the_one_wheel_that_fits(tmp_path: Path) -> None:
    tag = PYTHON.tags[0]
    lock = _pylock(
        tmp_path,
        _package("demo", _wheel("demo-1.0-py3-none-any.whl"), _wheel(f"demo-1.0-{tag}.whl", OTHER)),
    )
    (pin,) = _pins.read_lock(lock, PYTHON)
    assert (pin.name, pin.version, pin.filename, pin.sha256) == (
        "demo",
        "1.0",
        f"demo-1.0-{tag}.whl",
        frozenset((OTHER,)),
    )
    assert pin.path == tmp_path / "wheels" / f"demo-1.0-{tag}.whl"


def test_a_pylocks_markers_are_evaluated_for_the_interpreter(tmp_path: Path) -> None:
    lock = _pylock(
        tmp_path,
        _package("demo", _wheel("demo-1.0-py3-none-any.whl")),
        _package("never", _wheel("never-1.0-py3-none-any.whl"), marker="python_version < '3'"),
    )
    assert [pin.name for pin in _pins.read_lock(lock, PYTHON)] == ["demo"]


PYLOCK_FAULTS: Mapping[str, tuple[type[AgentproofError], str, str]] = {
    "lock-version = ": (UsageError, "not TOML", ""),
    'lock-version = "9.0"\ncreated-by = "x"\npackages = []': (UsageError, "not a pylock.toml", ""),
    'lock-version = "1.0"\ncreated-by = "x"\nrequires-python = "<3"\npackages = []': (
        UsageError,
        "does not cover Python",
        "--python",
    ),
}


@pytest.mark.parametrize("text", PYLOCK_FAULTS)
def test_a_file_that_is_no_pylock_for_this_python_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "pylock.toml").write_text(text)
    error, words, hint = PYLOCK_FAULTS[text]
    with pytest.raises(error, match=words) as raised:
        _pins.read_lock(tmp_path / "pylock.toml", PYTHON)
    assert hint in (raised.value.hint or "")


def test_a_source_archive_in_a_pylock_is_refused_by_name(tmp_path: Path) -> None:
    sdist = '[[packages]]\nname = "demo"\nversion = "1.0"\n'
    sdist += 'sdist = { path = "demo-1.0.tar.gz", hashes = { sha256 = "x" } }'
    with pytest.raises(CannotDoError, match="demo has no wheel"):
        _pins.read_lock(_pylock(tmp_path, sdist), PYTHON)


def test_requirements_with_hashes_are_a_lock(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text(f"other==2.0 --hash=sha256:{OTHER}  # why\n")
    (tmp_path / "lock.txt").write_text(
        f"--index-url https://user:secret@index.invalid/\n# comment\n"
        f"Demo[x]==1.0 \\\n    --hash=sha256:{HASH} \\\n"
        f"    --hash=sha256:{OTHER}\nnever==1.0 ; python_version < '3' --hash=sha256:{HASH}\n-r more.txt\n"
    )
    pins = _pins.read_lock(tmp_path / "lock.txt", PYTHON)
    assert [(pin.name, pin.version, pin.sha256) for pin in pins] == [
        ("demo", "1.0", frozenset((HASH, OTHER))),
        ("other", "2.0", frozenset((OTHER,))),
    ]


@pytest.mark.parametrize("line", ["demo==1.0", f"demo>=1.0 --hash=sha256:{HASH}", "demo==1.0 --hash=md5:abc"])
def test_requirements_that_leave_a_choice_are_no_lock(tmp_path: Path, line: str) -> None:
    (tmp_path / "lock.txt").write_text(line)
    with pytest.raises(UsageError, match="demo is not pinned"):
        _pins.read_lock(tmp_path / "lock.txt", PYTHON)


def test_requirements_that_include_themselves_are_refused(tmp_path: Path) -> None:
    (tmp_path / "lock.txt").write_text("-r lock.txt\n")
    with pytest.raises(UsageError, match="too deeply"):
        _pins.read_lock(tmp_path / "lock.txt", PYTHON)


def test_a_uv_lock_is_a_listing_and_no_lock(tmp_path: Path) -> None:
    lock = tmp_path / "uv.lock"
    lock.write_text(
        'version = 1\n[[package]]\nname = "mine"\nversion = "0.1"\nsource = { editable = "." }\n'
        '[[package]]\nname = "demo"\nversion = "1.0"\nsource = { registry = "https://index.invalid" }\n'
        '[[package]]\nname = "demo"\nversion = "2.0"\nsource = { registry = "https://index.invalid" }\n'
        "resolution-markers = [\"python_full_version >= '3.12'\", \"sys_platform == 'win32'\"]\n"
    )
    assert _pins.read_listing(str(lock)) == (
        "demo==1.0",
        "demo==2.0 ; (python_full_version >= '3.12') or (sys_platform == 'win32')",
    )
    with pytest.raises(UsageError, match="more than one environment") as raised:
        _pins.read_lock(lock, PYTHON)
    assert "--like" in (raised.value.hint or "")


def test_a_pylock_can_be_a_listing_too(tmp_path: Path) -> None:
    lock = _pylock(
        tmp_path, _package("demo", _wheel("demo-1.0-py3-none-any.whl"), marker="os_name == 'posix'")
    )
    assert _pins.read_listing(str(lock)) == ("demo==1.0 ; os_name == 'posix'",)


def test_requirements_without_hashes_are_a_listing(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("demo>=1,<2\nunbound\n-e .\nother @ https://x.invalid/o.whl\n")
    assert _pins.read_listing(str(tmp_path / "requirements.txt")) == ("demo<2,>=1",)


def test_what_is_installed_beside_an_interpreter_is_a_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    for name, direct in (("demo", None), ("mine", {"url": "file:///x", "dir_info": {"editable": True}})):
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        if direct is not None:
            (info / "direct_url.json").write_text(json.dumps(direct))
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\nshift 3\n"
        f'exec {sys.executable} -I -S -c "import sys; sys.path.append(\'{site}\'); exec(sys.argv[1])" "$@"\n'
    )
    python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert _pins.read_listing(str(python)) == _pins.read_listing("python") == ("demo==1.0",)
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    python.rename(tmp_path / "venv" / "bin" / "python")
    assert _pins.read_listing(str(tmp_path / "venv")) == ("demo==1.0",)


@pytest.mark.parametrize(
    ("says", "words"),
    [("pyenv: python: command not found", "a shim of pyenv"), ("what?", r"does not list .*: what\?")],
)
def test_a_program_that_lists_nothing_is_refused_with_a_next_step(
    tmp_path: Path, says: str, words: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    python.chmod(0o755)
    with pytest.raises(CannotDoError, match=words) as raised:
        _pins.read_listing(str(python))
    assert raised.value.hint


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing", None, "no such file"),
        ("uv.lock", "version = 1\n", "lists no release"),
        ("uv.lock", "version = ", "not TOML"),
        ("uv.lock", "package = 3\n", "no lock file"),
        ("requirements.txt", "demo ===\n", "--like .*is no requirement"),
        ("script.py", "print(1)\n", "neither a list of versions nor an interpreter"),
    ],
)
def test_what_lists_nothing_is_refused(tmp_path: Path, name: str, content: str | None, words: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=words):
        _pins.read_listing(str(tmp_path / name))


@pytest.mark.parametrize(
    ("inside", "hint"),
    [(None, "give an environment or its python"), ("uv.lock", "uv.lock"), ("pylock.toml", "pylock.toml")],
)
def test_a_directory_that_is_no_environment_is_pointed_into(
    tmp_path: Path, inside: str | None, hint: str
) -> None:
    if inside is not None:
        (tmp_path / inside).write_bytes(b"")
    with pytest.raises(UsageError, match="a directory that is no environment") as raised:
        _pins.read_listing(str(tmp_path))
    assert hint in (raised.value.hint or "")


@pytest.mark.parametrize("name", ["requirements.txt", "uv.lock", "pylock.toml", "python"])
def test_a_listing_that_is_not_there_is_called_by_its_option(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=rf"--like .*{name}: no such file"):
        _pins.read_listing(str(tmp_path / name))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_go_on_behind_a_backslash_wherever_they_were_written(tmp_path: Path, end: str) -> None:
    lines = ["# of tests", "demo==1.0 \\", f"    --hash=sha256:{HASH} \\", f"    --hash=sha256:{OTHER}", ""]
    file = tmp_path / "requirements.txt"
    file.write_bytes(end.join(lines).encode())
    (pin,) = _pins.read_lock(file, PYTHON)
    assert (pin.name, pin.version, pin.sha256) == ("demo", "1.0", frozenset({HASH, OTHER}))
