"""Secrets that a script has in every place that a recording looks at: none of them reaches the disk."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from agentproof.bundle.store import Bundle, read_bundle
from agentproof.models.manifest import Manifest
from agentproof.record.secrets import SecretPatterns, find_secrets

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "tests" / "scripts" / "secrets"
PLACES = (
    *("answer", "argument", "broken_text", "in_a_list", "input", "instructions", "label", "mapping_key"),
    *("observed", "request_header", "session", "state", "stderr", "stdout", "tool_exception", "tool_output"),
    "uncaught",
)
DIGITS = "0123456789" * 2
SECRETS = {f"PLANTED_{place.upper()}_TOKEN": f'a "planted" {place} {DIGITS}' for place in PLACES}
BY_NAME = f"planted-by-name-{DIGITS}"
# Put together here, so that no scanner of this repository takes it for a real one.
SHAPED = "sk-" + "proj-" + DIGITS
SIGNS = (DIGITS.encode(), DIGITS.encode().hex().encode(), b"$str")
"""One of them is in every file that holds a secret: the digits as they are, in bytes, or broken text."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The script's directory, apart from everything that a recording writes."""
    shutil.copytree(SCRIPTS, tmp_path / "given")
    (tmp_path / "written" / "tmp").mkdir(parents=True)
    return tmp_path


def record(
    place: Path, *arguments: str, host: Mapping[str, str], script: str = "planted.py"
) -> "subprocess.CompletedProcess[str]":
    """`agentproof record` on a machine with these variables."""
    written = place / "written"
    options, script_arguments = list(arguments), []
    if "--" in options:
        at = options.index("--")
        options, script_arguments = options[:at], options[at:]
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "agentproof", "record", str(place / "given" / script)),
            *("--output", str(written / "out.zip"), *options, *script_arguments),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=written,
        env={**os.environ, **host, "TMPDIR": str(written / "tmp"), "PYTHONPATH": str(ROOT)},
    ) as running:
        stdout, stderr = running.communicate(timeout=600)
    # In memory: others may be recording the same script at this moment.
    assert list(Path("/dev/shm").glob(f"agentproof-tmp-*-{running.pid}-*")) == []
    return subprocess.CompletedProcess(running.args, running.returncode, stdout, stderr)


def found_on_disk(place: Path, secrets: Iterable[str]) -> list[str]:
    """Where any of them is: below the output, cache, configuration and temporary files."""
    spelled = {each for secret in secrets for each in spellings(secret)}
    tops = [place / "written", *(Path(os.environ[f"AGENTPROOF_{each}_DIR"]) for each in ("CACHE", "CONFIG"))]
    found = []
    # What was there before this test's place is not of its recordings.
    begun = place.lstat().st_ctime - 1
    for path in (path for top in tops for path in files_below(top)):
        data = os.fsencode(path.name) + b"\0"
        with contextlib.suppress(OSError):  # another test's, which has just ended
            if path.lstat().st_ctime >= begun:
                data += path.read_bytes()
        if any(sign in data for sign in SIGNS):
            packed = b"".join(data.split())
            found += [str(path) for each in spelled if each in data or b"".join(each.split()) in packed]
    return found


def files_below(top: Path) -> Iterator[Path]:
    for directory, _, names in os.walk(top):
        yield from (Path(directory, name) for name in names)


def spellings(secret: str) -> set[bytes]:
    """A secret as this project may write it."""
    once = json.dumps(secret)[1:-1]
    texts = {secret, once, json.dumps(once)[1:-1], quote(secret, safe="")}
    points = ",".join(str(ord(letter)) for letter in secret)
    return {text.encode() for text in texts} | {secret.encode().hex().encode(), points.encode()}


def parts(bundle: Bundle) -> list[tuple[str, bytes]]:
    """What a secret may be in: all but the wheels."""
    members = [(path, data) for path, data in bundle.members.items() if not path.startswith("wheels/")]
    return [("manifest.json", bundle.manifest), *members]


@pytest.mark.slow  # that none is left: the two below
def test_every_place_holds_what_is_planted_and_every_one_is_found(place: Path) -> None:
    done = record(place, host={})
    assert done.returncode in (0, 1), done.stderr
    bundle = read_bundle(place / "written" / "out.zip")
    for name, secret in SECRETS.items():
        seen = list(find_secrets(parts(bundle), wanted=SecretPatterns({name: secret})))
        assert {each.rule for each in seen} == {f"the value of ${name}"}, name
    assert found_on_disk(place, SECRETS.values())


def test_a_recording_that_would_hold_them_stops_and_leaves_none(place: Path) -> None:
    done = record(place, host=SECRETS)
    assert done.returncode == 4, done.stderr
    assert "looks like the value of $PLANTED_" in done.stderr
    assert not (place / "written" / "out.zip").exists()
    assert [secret for secret in SECRETS.values() if secret in done.stdout + done.stderr] == []
    assert found_on_disk(place, SECRETS.values()) == []


def test_redaction_takes_out_every_one(place: Path) -> None:
    done = record(place, "--redact", host=SECRETS)
    assert done.returncode in (0, 1), done.stderr
    assert [secret for secret in SECRETS.values() if secret in done.stdout + done.stderr] == []
    assert found_on_disk(place, SECRETS.values()) == []
    bundle = read_bundle(place / "written" / "out.zip")
    assert any(b"<redacted-1>" in data for _, data in parts(bundle))
    redactions = Manifest.from_bytes(bundle.manifest).redactions
    assert redactions is not None
    assert redactions >= len(PLACES)


@pytest.mark.slow  # tests/unit/test_secrets.py
def test_what_is_in_the_scripts_own_files_stops_it_redaction_or_not(place: Path) -> None:
    (place / "given" / f"{BY_NAME}.txt").write_text("nothing")
    done = record(place, "--redact", "--", "file", host={"PLANTED_NAME_TOKEN": BY_NAME})
    assert done.returncode == 4, done.stderr
    assert "the value of $PLANTED_NAME_TOKEN" in done.stderr
    assert BY_NAME not in done.stdout + done.stderr
    assert found_on_disk(place, [BY_NAME]) == []
    with (place / "given" / "planted.py").open("a") as script:
        script.write(f"KEY = {SHAPED!r}\n")
    done = record(place, "--redact", host={})
    assert done.returncode == 4, done.stderr
    assert "an OpenAI key" in done.stderr
    assert SHAPED not in done.stdout + done.stderr
    assert found_on_disk(place, [SHAPED]) == []


FAILING = """
import agents

def planted(place):
    return 'a "planted" {} {}'.format(place, "0123456789" * 2)

def test_it():
    print(planted("stdout"))
    assert planted("answer") == planted("input")
"""


@pytest.mark.slow
@pytest.mark.parametrize("redact", [True, False])
def test_what_pytest_says_of_a_failure_is_looked_through_too(place: Path, redact: bool) -> None:
    (place / "given" / "test_it.py").write_text(FAILING)
    asked = ("--sdk", "openai-agents==0.20.0", "--with", "pytest", *(["--redact"] if redact else []))
    done = record(place, *asked, host={}, script="test_it.py::test_it")
    assert done.returncode in (0, 1), done.stderr
    assert found_on_disk(place, SECRETS.values())
    (place / "written" / "out.zip").unlink()
    done = record(place, *asked, host=SECRETS, script="test_it.py::test_it")
    assert done.returncode in ((0, 1) if redact else (4,)), done.stderr
    assert [secret for secret in SECRETS.values() if secret in done.stdout + done.stderr] == []
    assert found_on_disk(place, SECRETS.values()) == []
