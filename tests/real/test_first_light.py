"""The main job, end to end, on real wheels: record, check, and what users get wrong."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import uv

from agentproof.bundle.store import read_bundle
from agentproof.environment import wheel_store
from agentproof.record.conditions import Conditions
from agentproof.record.progress import Silent
from agentproof.record.recording import record
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import Selection
from agentproof.trust.signing import generate_key
from tests.command import agentproof, has_python

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bundles" / "sibling-approval" / "reproduction.py"
WHEEL_0_20_0 = "aaff662b802fa90762ad539e131b9ea387e12e3664b87bc75157ad1b3fc88850"

pytestmark = pytest.mark.real


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The bundle of the sibling-approval bug on 0.20.0, and what `record --json` said."""
    archive = tmp_path_factory.mktemp("first") / "sibling.agentproof.zip"
    done = agentproof("record", SCRIPT, "--output", archive, "--json")
    assert done.returncode == 0, done.stderr
    return archive, json.loads(done.stdout)


def test_the_bug_is_found_in_both_modes_without_any_claim_in_the_script(
    recorded: tuple[Path, dict[str, Any]],
) -> None:
    _, report = recorded
    assert report["status"] == "CURRENT"
    assert report["target"]["sha256"] == WHEEL_0_20_0
    violated = {
        (claim["id"], claim["mode"]) for claim in report["verdict"]["claims"] if claim["status"] == "violated"
    }
    assert violated == {
        ("approval-respected", "as-written"),
        ("approval-respected", "streamed"),
        ("state-integrity", "as-written"),
        ("state-integrity", "streamed"),
    }


@pytest.mark.slow  # `.ci/run` requires the evidence of the committed bundle of 0.21.0, which holds
def test_the_fixed_release_holds(tmp_path: Path) -> None:
    done = agentproof(
        "record",
        SCRIPT,
        "--sdk",
        "openai-agents==0.21.0",
        "--expect",
        "holds",
        "--output",
        tmp_path / "b.zip",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "VIOLATED" not in done.stdout


@pytest.mark.slow  # that the evidence is that of the committed bundle: .ci/run
def test_another_directory_and_another_cache_give_the_same_bundle(
    recorded: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, report = recorded
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(tmp_path / "cache"))
    copied = tmp_path / "elsewhere" / "deep" / "reproduction.py"
    copied.parent.mkdir(parents=True)
    shutil.copy(SCRIPT, copied)
    again = tmp_path / "again.zip"
    done = agentproof("record", copied, "--output", again, "--json", place=tmp_path)
    assert json.loads(done.stdout)["bundle_id"] == report["bundle_id"], done.stderr
    assert again.read_bytes() == archive.read_bytes()


@pytest.mark.slow  # that they are run so: tests/process/test_runner.py
def test_repeats_one_after_the_other_give_the_same_bundle(recorded: tuple[Path, dict[str, Any]]) -> None:
    archive, _ = recorded
    conditions = Conditions(side_by_side=False)
    reproduction = read_reproduction(Selection(SCRIPT))
    again = record(reproduction, None, conditions, key=generate_key(), progress=Silent())
    before = read_bundle(archive)
    assert again.manifest == before.manifest
    assert again.members == before.members


def test_every_supported_python_here_gives_the_same_evidence(
    recorded: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    _, report = recorded
    mine = f"{sys.version_info.major}.{sys.version_info.minor}"
    other = next(
        (version for version in ("3.12", "3.11", "3.13") if version != mine and has_python(version)), None
    )
    if other is None:
        pytest.skip("this machine has one supported Python")
    done = agentproof("record", SCRIPT, "--python", other, "--output", tmp_path / "b.zip", "--json")
    assert json.loads(done.stdout)["evidence_id"] == report["evidence_id"], done.stderr


def test_the_check_passes_without_any_network_interface(recorded: tuple[Path, dict[str, Any]]) -> None:
    archive, _ = recorded
    command = ["unshare", "-rn", sys.executable, "-m", "agentproof", "check-current-bundle", str(archive)]
    if shutil.which("unshare") is None or subprocess.run([*command[:2], "true"], check=False).returncode:
        pytest.skip("no network namespace can be made here")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CURRENT" in done.stdout


_REFUSING = """
import sys
def refuse(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system")):
        raise RuntimeError("refused: " + event)
sys.addaudithook(refuse)
sys.argv[0] = "agentproof"
from agentproof.cli import main
try:
    main()
finally:
    assert "agents" not in sys.modules
"""


def test_the_check_passes_with_processes_and_sockets_refused(recorded: tuple[Path, dict[str, Any]]) -> None:
    archive, _ = recorded
    command = [sys.executable, "-c", _REFUSING, "check-current-bundle", str(archive)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_key_of_the_readers_choice_is_what_makes_a_signer_trusted(
    recorded: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, report = recorded
    line = report["signers"][0]["key"]
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "a reader's"))
    unknown = agentproof("check-current-bundle", archive)
    assert unknown.returncode == 6, unknown.stdout
    # The wheel store's own word counts for the user who filled it: another reader brings the wheel.
    wheel = tmp_path / report["target"]["wheel"]
    wheel.write_bytes(wheel_store.default_store().read(WHEEL_0_20_0) or b"")
    check = ("check-current-bundle", archive, "--wheel", wheel, "--trust")
    trust = tmp_path / "reporters"
    trust.write_text(f"reporter@example.org {line}\n", encoding="utf-8")
    assert agentproof(*check, trust).returncode == 0
    other = agentproof("keygen", "--output", tmp_path / "other")
    trust.write_text(f"somebody@example.org {other.stdout}", encoding="utf-8")
    assert agentproof(*check, trust).returncode == 5


def _script(tmp_path: Path, body: str, *, header: bool = True) -> Path:
    path = tmp_path / "script.py"
    text = '# /// script\n# dependencies = ["openai-agents==0.20.0"]\n# ///\n' if header else ""
    path.write_text(text + body, encoding="utf-8")
    return path


def _record(tmp_path: Path, script: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Record into a directory that must stay empty when recording fails."""
    output = tmp_path / "output"
    output.mkdir(exist_ok=True)
    done = agentproof("record", script, "--output", output / "b.zip", *arguments)
    assert "Traceback" not in done.stderr
    if done.returncode not in (0, 1):
        assert list(output.iterdir()) == []
    return done


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--sdk", "openai-agents==99.0.0"], 2, ["99.0.0", "0.2"]),
        (["--sha256", "0" * 64], 4, ["aaff662b"]),
        (["--sdk", "requests==2.32.0"], 2, ["requests", "openai-agents"]),
        (["--sdk", "not a requirement!"], 2, ["not a requirement!"]),
        (["--wheel", "no-such-file.whl"], 2, ["no-such-file.whl"]),
        (["--python", "3.9"], 2, ["3.9", "3.10"]),
        (["--as-of", "yesterday"], 2, ["yesterday"]),
    ],
    ids=lambda item: "-".join(item) if isinstance(item, list) else "",
)
def test_a_target_that_makes_no_sense_is_named(
    tmp_path: Path, arguments: list[str], code: int, words: list[str]
) -> None:
    done = _record(tmp_path, SCRIPT, *arguments)
    assert done.returncode == code, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_a_wheel_of_another_project_and_an_sdist_are_refused(tmp_path: Path) -> None:
    store = wheel_store.default_store()
    other = next(entry for entry in store.entries() if entry.path.name.startswith("annotated_types"))
    copied = tmp_path / other.path.name
    copied.write_bytes(store.read(other.sha256) or b"")
    assert "annotated-types" in _record(tmp_path, SCRIPT, "--wheel", copied).stderr
    sdist = tmp_path / "openai_agents-0.20.0.tar.gz"
    sdist.write_bytes(b"\x1f\x8b")
    done = _record(tmp_path, SCRIPT, "--wheel", sdist)
    assert done.returncode == 2
    assert "wheel" in done.stderr


def test_no_index_in_reach_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    done = _record(tmp_path, SCRIPT)
    assert done.returncode == 4
    assert "index" in done.stderr


def test_a_script_with_a_syntax_error_is_not_run(tmp_path: Path) -> None:
    done = _record(tmp_path, _script(tmp_path, "def broken(:\n"))
    assert done.returncode == 2
    assert "script.py:4" in done.stderr


def test_a_script_without_a_target_is_told_how_to_name_one(tmp_path: Path) -> None:
    done = _record(tmp_path, _script(tmp_path, "print(1)\n", header=False))
    assert done.returncode == 2
    assert "--sdk VERSION" in done.stderr


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import agents\nraise KeyError('late')\n", "INCONCLUSIVE"),
        ("print(1)\n", "never"),
    ],
    ids=["raises late", "no SDK"],
)
def test_a_script_that_shows_nothing_is_inconclusive(tmp_path: Path, body: str, words: str) -> None:
    done = _record(tmp_path, _script(tmp_path, body))
    assert done.returncode == 1, done.stderr
    assert words in done.stdout, done.stdout


def test_a_script_without_a_run_is_judged_by_its_end(tmp_path: Path) -> None:
    done = _record(tmp_path, _script(tmp_path, "import agents\nprint('x' * 1_000_000)\n"))
    assert done.returncode == 0, done.stderr
    assert "HOLDS: no rule is violated" in done.stdout


def test_a_script_that_never_ends_is_stopped_and_recorded(tmp_path: Path) -> None:
    done = _record(tmp_path, _script(tmp_path, "import agents\nwhile True: pass\n"), "--timeout", "12")
    assert done.returncode == 1, done.stderr
    assert "INCONCLUSIVE" in done.stdout


def test_an_output_directory_that_cannot_be_written_is_named_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    done = agentproof("record", SCRIPT, "--output", tmp_path / "file" / "b.zip")
    assert done.returncode == 4
    assert str(tmp_path / "file") in done.stderr
    assert "--output" in done.stderr


def test_another_bundle_in_the_way_is_kept(recorded: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    archive, _ = recorded
    there = tmp_path / "b.zip"
    shutil.copy(archive, there)
    script = _script(tmp_path, "import agents\n")
    done = agentproof("record", script, "--output", there)
    assert done.returncode == 4
    assert "--replace" in done.stderr
    assert there.read_bytes() == archive.read_bytes()
    assert agentproof("record", script, "--output", there, "--replace").returncode == 0
    assert there.read_bytes() != archive.read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("passphrase", None, "passphrase"),
        ("rsa", None, "RSA"),
        ("garbage", b"not a key\n", "garbage"),
        ("missing", b"", "no such file"),
    ],
)
def test_a_key_that_cannot_sign_is_named(tmp_path: Path, name: str, content: bytes | None, word: str) -> None:
    path = tmp_path / name
    if content:
        path.write_bytes(content)
    elif name != "missing":
        kind = ["-t", "rsa", "-b", "2048", "-N", ""] if name == "rsa" else ["-t", "ed25519", "-N", "secret"]
        subprocess.run([shutil.which("ssh-keygen") or "ssh-keygen", "-q", *kind, "-f", str(path)], check=True)
    done = agentproof(
        "record", SCRIPT, "--key", path, "--output", tmp_path / "b.zip", stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2, done.stderr
    assert word in " ".join(done.stderr.split())
    assert not (tmp_path / "b.zip").exists()


@pytest.mark.parametrize("kind", ["missing", "no manifest", "damaged", "zipped again", "newer schema"])
def test_a_bundle_that_is_none_is_refused_with_the_reason(
    recorded: tuple[Path, dict[str, Any]], tmp_path: Path, kind: str
) -> None:
    archive, _ = recorded
    path = tmp_path / "b.zip"
    match kind:
        case "no manifest":
            path = tmp_path / "empty"
            path.mkdir()
        case "damaged":
            path.write_bytes(archive.read_bytes()[:-100])
        case "zipped again":
            shutil.unpack_archive(archive, tmp_path / "unpacked", "zip")
            shutil.make_archive(str(path.with_suffix("")), "zip", tmp_path / "unpacked")
        case "newer schema":
            shutil.unpack_archive(archive, tmp_path / "newer", "zip")
            path = tmp_path / "newer"
            manifest = path / "manifest.json"
            manifest.write_bytes(manifest.read_bytes().replace(b'"version": 0\n}', b'"version": 7\n}'))
    done = agentproof("check-current-bundle", path)
    assert done.returncode in (2, 5), done.stdout
    assert "Traceback" not in done.stderr
    assert (done.stdout + done.stderr).strip()
    if kind == "newer schema":
        assert "newer" in done.stdout


def test_uv_installs_from_the_lock_given_the_wheels(
    recorded: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    archive, _ = recorded
    shutil.unpack_archive(archive, tmp_path / "bundle", "zip")
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_bytes())
    wheels = tmp_path / "bundle" / "wheels"
    for package in manifest["environment"]["packages"]:
        (wheels / package["wheel"]).write_bytes(wheel_store.default_store().read(package["sha256"]) or b"")
    venv = tmp_path / "venv"
    environment = {**os.environ, "UV_OFFLINE": "1"}
    for arguments in (
        ["venv", "--quiet", "--python", sys.executable, str(venv)],
        ["pip", "install", "--quiet", "--python", str(venv), "-r", str(tmp_path / "bundle" / "pylock.toml")],
    ):
        subprocess.run([uv.find_uv_bin(), *arguments], check=True, env=environment)
    ran = subprocess.run(
        [venv / "bin" / "python", SCRIPT], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "PAID 100" in ran.stdout
