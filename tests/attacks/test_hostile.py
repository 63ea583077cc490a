"""Hostile bundles are refused by a report, in bounded memory, with no process, socket or write.

One child process checks all of them under an audit hook; its peak memory is that of the worst.
"""

import io
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agentproof.bundle.store import Bundle, files_of
from agentproof.bundle.zip import stored_zip
from agentproof.check.bundle import Reader, check_path
from agentproof.limits import MAX_BUNDLE_BYTES, MAX_MANIFEST_BYTES, MAX_WHEEL_UNPACKED
from agentproof.models.wire import encode
from tests import forge

BUNDLE = forge.draft().seal()


def _zipped(bundle: Bundle) -> bytes:
    """As `zip_bytes`, which writes nothing that a reader refuses."""
    return stored_zip(files_of(bundle))


ZIP = _zipped(BUNDLE)
MEMORY = 64 * 2**20
INFO = "openai_agents-0.20.0.dist-info"
MANY = 180_000
TRACE = b'{\n  "events": %s,\n  "format": "agentproof/trace",\n  "mode": "as-written",\n  "version": 0\n}\n'

CHILD = """
import json, os, sys, time
from pathlib import Path
FORBIDDEN = ("subprocess.Popen", "os.fork", "os.exec", "os.posix_spawn", "os.system", "socket.", "os.mkdir",
             "os.rename", "os.remove", "os.symlink", "os.link", "ctypes.", "shutil.")
def refuse(event, arguments):
    if event.startswith(FORBIDDEN):
        raise SystemExit(f"{event} {arguments}")
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        raise SystemExit(f"write {arguments}")
from agentproof.check.bundle import Reader, check_path
warm = [check_path(Path(path), reader=Reader()).status for path in sys.argv[1:2]]
def check(path):
    sys.addaudithook(refuse)
    begun = time.process_time()
    report = check_path(Path(path), reader=Reader()).report
    failed = next((each for each in report.checks if each.status == "failed"), None)
    # Not ru_maxrss, which starts from what the parent had before the child's own program began.
    held = next((line for line in open("/proc/self/status") if line.startswith("VmHWM")), "VmHWM: 0 kB")
    peak = int(held.split()[1]) * 1024
    spent = time.process_time() - begun
    print(json.dumps([report.status, failed.reason if failed else None, peak, spent]), flush=True)
    unwanted = {"agents", "openai", "click", "rich", "requests"}
    bad = [name for name in sys.modules if name.partition(".")[0] in unwanted]
    assert not bad, bad
for path in sys.argv[1:]:  # none has what the one before left in memory
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
    else:
        check(path)
        os._exit(0)
"""


def _manifest(raw: bytes) -> bytes:
    return stored_zip([("manifest.json", raw), *BUNDLE.members.items()])


def _trace(raw: bytes) -> bytes:
    draft = forge.draft()
    members = {**draft.members(), "traces/as-written.json": raw}
    return _zipped(draft.seal(members=members))


def _state(raw: bytes) -> bytes:
    draft = forge.draft()
    draft.states[forge.sha256(raw)] = raw
    return _zipped(draft.seal())


def _states(before: bytes, after: bytes, *, often: int) -> bytes:
    """Two states instead of the draft's, and the change between them observed again and again."""
    draft = forge.draft()
    new = {forge.sha256(data): data for data in (before, after)}
    for old, digest in zip(draft.states, new, strict=True):
        draft.traces = json.loads(json.dumps(draft.traces).replace(old, digest))
    draft.states = new
    first, second = new
    seen = {"kind": "state.observed", "state": "S2", "moment": "exit", "before": first, "snapshot": second}
    events = draft.traces["as-written"]["events"]
    events += [{"seq": len(events) + 1 + number, **seen} for number in range(often)]
    return _zipped(draft.seal())


def _long_keys() -> tuple[bytes, bytes]:
    sides = ({"k" * 500_000: {str(n): side for n in range(10_000)}} for side in (0, 1))
    first, second = map(encode, sides)
    return first, second


def _large_states() -> tuple[bytes, bytes]:
    first, second = (encode({"text": letter * 1_000_000}) for letter in "ab")
    return first, second


def _script(source: bytes) -> bytes:
    draft = forge.draft()
    draft.files["reproduction.py"] = source
    return _zipped(draft.judged().seal())


def _lines(item: bytes, count: int = MANY) -> bytes:
    return b"[\n" + b",\n".join([item] * count) + b"\n]"


def _wheel(data: bytes) -> bytes:
    draft = forge.draft()
    draft.wheel = data
    for place in (draft.manifest["target"], draft.manifest["environment"]["packages"][1]):
        place.update(sha256=forge.sha256(data), size=len(data))
    return _zipped(draft.seal())


def _stated_bomb() -> bytes:
    """A wheel whose first file is said to inflate to more than the cap."""
    raw = bytearray(forge.WHEEL)
    struct.pack_into("<I", raw, raw.index(b"PK\x01\x02") + 24, MAX_WHEEL_UNPACKED + 1)
    return bytes(raw)


def _deflated(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", data)
    return out.getvalue()


HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "spaces": ("too_large", lambda: _manifest(b" " * (MAX_MANIFEST_BYTES + 1))),
    "spaces under the cap": ("not_canonical", lambda: _manifest(b" " * MAX_MANIFEST_BYTES)),
    "line feeds": ("too_large", lambda: _manifest(b"\n" * MAX_MANIFEST_BYTES)),
    "deep lists": ("not_canonical", lambda: _manifest(b"[" * 200_000)),
    "deep lists, a line each": ("malformed", lambda: _manifest(b"[\n" * 199_000)),
    "deep objects": ("not_canonical", lambda: _manifest(b'{"a":' * 200_000)),
    "a long number": ("not_canonical", lambda: _manifest(b"9" * 3_000_000 + b"\n")),
    "a number of 5,000 digits": ("not_canonical", lambda: _manifest(b"9" * 5000 + b"\n")),
    "not a number": ("malformed", lambda: _manifest(b"NaN\n")),
    "an infinite number": ("not_encodable", lambda: _manifest(b"1e999\n")),
    "UTF-16": ("not_canonical", lambda: _manifest(BUNDLE.manifest.decode().encode("utf-16"))),
    "a byte order mark": ("not_canonical", lambda: _manifest(b"\xef\xbb\xbf" + BUNDLE.manifest)),
    "a lone surrogate": ("malformed", lambda: _manifest(b'"\\ud800"\n')),
    "numbers on one line": ("not_canonical", lambda: _manifest(b"[" + b"0," * 1_500_000 + b"0]\n")),
    "many numbers": ("malformed", lambda: _trace(TRACE % _lines(b"    0").replace(b"\n]", b"\n  ]"))),
    "many objects": ("malformed", lambda: _trace(TRACE % _lines(b"    {}").replace(b"\n]", b"\n  ]"))),
    "many keys": (
        "too_large",
        lambda: _manifest(b"{\n" + b",\n".join(b'  "k%06d": 0' % n for n in range(100_000)) + b"\n}\n"),
    ),
    "a state of many lists": ("unlisted", lambda: _state(_lines(b"  []") + b"\n")),
    "a long text": ("unlisted", lambda: _state(encode("a" * 4_000_000))),
    "a deflated bomb": ("zipped_again", lambda: _deflated(bytes(100 * 2**20))),
    "a zip of zeros": ("not_a_zip", lambda: bytes(MAX_BUNDLE_BYTES)),
    "a zip in a zip": ("no_manifest", lambda: stored_zip([("inner.agentproof.zip", ZIP)])),
    "a wheel that is a bomb": ("bad_wheel", lambda: _wheel(_stated_bomb())),
    "a wheel that inflates to 40 MB": (
        "bad_record",
        lambda: _wheel(
            forge.wheel(
                {
                    f"{INFO}/METADATA": b"Name: openai-agents\nVersion: 0.20.0\n",
                    "agents/zeros.bin": bytes(40 * 2**20),
                    f"{INFO}/RECORD": b"agents/zeros.bin,sha256=0000,41943040\n",
                },
                record=False,
            )
        ),
    ),
    "many changes below a long key": ("too_large", lambda: _states(*_long_keys(), often=1)),
    "states that are referred to without end": ("too_large", lambda: _states(*_large_states(), often=3000)),
    "a script of headers": ("other_header", lambda: _script(b"# /// script\n" * 150_000)),
    "many files": (
        "too_large",
        lambda: stored_zip([(f"f{number:05}", b"") for number in range(5000)]),
    ),
    "many attestations": (
        "too_many",
        lambda: _zipped(replace(BUNDLE, attestations={f"{n}.json": b"" for n in range(1000)})),
    ),
}


GREEDY = ("many objects", "many keys", "a state of many lists", "a long text")
"""What is parsed before it is refused."""
OTHERS = tuple(name for name in HOSTILE if name not in GREEDY)

Said = tuple[str, str | None, int, float]
SECONDS = 20
"""Of processor time, on a machine that does other things too."""


def _children(root: Path, names: Sequence[str]) -> dict[str, Said]:
    paths = [root / f"{list(HOSTILE).index(name)}.zip" for name in names]
    for name, path in zip(names, paths, strict=True):
        path.write_bytes(HOSTILE[name][1]())
    before = sorted(path.name for path in root.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in root.iterdir()) == before
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: (line[0], line[1], line[2], line[3]) for name, line in zip(names, lines, strict=True)}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Said]:
    """What is said about each of them."""
    return _children(tmp_path_factory.mktemp("hostile"), OTHERS)


@pytest.mark.parametrize("name", OTHERS)
def test_a_hostile_bundle_is_invalid_with_a_reason_in_64_mb(name: str, judged: dict[str, Said]) -> None:
    status, reason, peak, spent = judged[name]
    assert (status, reason) == ("INVALID", HOSTILE[name][0])
    assert peak <= MEMORY
    assert spent < SECONDS


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", GREEDY)
def test_a_greedy_bundle_is_invalid_with_a_reason_in_64_mb(name: str, tmp_path: Path) -> None:
    status, reason, peak, spent = _children(tmp_path, [name])[name]
    assert (status, reason) == ("INVALID", HOSTILE[name][0])
    assert peak <= MEMORY
    assert spent < SECONDS


def test_a_file_of_300_mb_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "huge.zip").open("wb") as stream:
        stream.truncate(300 * 2**20)
    report = check_path(tmp_path / "huge.zip", reader=Reader()).report
    assert report.checks[0].reason == "too_large"
